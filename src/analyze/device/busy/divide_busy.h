// Where the time of a device that is busy goes: the whole of this folder put together.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/timeline/loops.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Asks every finder for its claims, and gives each work to the rule that goes before the others.
BusySplit divide_busy(const trace::Trace& trace, const RankTimeline& timeline, const HostActivity& activity,
                      const Loops& loops, const GpuRoofs& roofs);

}  // namespace hone::analyze::device
