// Brings the clocks of ranks together: machines' clocks are apart, files may not say what theirs counts from.
// Most collectives end on all ranks at once, whoever came late; so their ends align clocks. Done once, before
// anything is compared over ranks: all that follows sees times of one clock.
#pragma once

#include <vector>

#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// Moves the times of the timelines (RankTimeline::clock_shift_ns says by how much), those of ranks of one
// run: to the clock of the first, directly or over ranks that meet both, and so that the earliest span of all
// is at 0. So what is worked out of them does not depend on how far the clocks were apart. A rank that meets
// no other keeps its own.
void align_clocks(const trace::Trace& trace, std::vector<RankTimeline>& timelines);

}  // namespace hone::analyze::device
