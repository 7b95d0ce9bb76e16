// A compiler that measures its kernels launches them: works of the device that are compilation's.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` the works that were launched while the host compiled: they go with compilation.
void mark_compiling(const RankTimeline& timeline, const HostActivity& activity, BusySplit& split);

}  // namespace hone::analyze::device
