#include "analyze/device/busy/compiling.h"

namespace hone::analyze::device {

void mark_compiling(const RankTimeline& timeline, const HostActivity& activity, BusySplit& split) {
  for (std::size_t i = 0; i < timeline.works.size(); ++i) {
    // A collective is other ranks' too: nobody measures kernels with it.
    if (timeline.works[i].kind == WorkKind::kCollective) continue;
    const HostCall* call = timeline.launch_of(timeline.works[i]);
    if (call == nullptr || activity.at(call->start_ns) != Activity::kCompile) continue;
    give_to(split.works[i], Cause::kCompile, Reason::kNone, kGone);
  }
}

}  // namespace hone::analyze::device
