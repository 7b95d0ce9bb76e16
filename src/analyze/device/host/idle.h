// Why a rank's device had nothing to do: every gap divided by what its host did when it should have launched
// the work that ended the gap (docs/explain.md). Idle time is never reported where records are missing: a gap
// before work whose launch was not recorded is `launch` and counted as unexplained.
#pragma once

#include <vector>

#include "analyze/cause.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/timeline/occupancy.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

struct IdleInterval {
  Cause cause = Cause::kLaunch;
  uint32_t window = 0;
  int64_t start_ns = 0;  // the parts of a gap follow each other in the order in which their causes began
  double ns = 0;
  uint32_t next = kNothing;  // the work that the device waited for
  uint32_t span = kNothing;  // a host span to point at; may be nothing
  bool latency = false;      // launched in time: the device took so long to begin
  bool unexplained = false;  // the launch was not recorded
  bool others = false;       // launched in time: another device of the process was at work
};

// The parts of a gap add up to it.
std::vector<IdleInterval> idle_intervals(const RankTimeline& timeline, const Occupancy& occupancy,
                                         const HostActivity& activity);

}  // namespace hone::analyze::device
