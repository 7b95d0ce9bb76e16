// What samples of stacks say of a rank's host: at which lines it was while its device had nothing to do, and what
// stretches were for of which the timeline says nothing. Samples are taken in blocks of their own: what
// they say of a place between two launches holds for that place in every step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "analyze/host_lines.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// Divides those of the silent intervals that samples tell something of, by the samples' shares: what waited for the next
// batch is kInput, for files kIo, for the compiler kCompile. `silent`: which of the intervals (ascending) say nothing.
void name_by_samples(std::vector<ActivitySpan>& intervals, std::vector<std::size_t> silent,
                     const trace::Trace& trace, const RankTimeline& timeline);

// By cause, the lines that the rank's host was at while the device of the ledger had nothing to do.
LinesByCause lines_of_idle_host(const trace::Trace& trace, const RankTimeline& timeline,
                                const HostActivity& activity);

}  // namespace hone::analyze::device
