#include "analyze/device/busy/compiling.h"

namespace hone::analyze::device {

Claims find_compiling(const View& view) {
  Claims claims;
  for (uint32_t i = 0; i < view.works(); ++i) {
    // A collective is other ranks' too: nobody measures kernels with it.
    if (view.work(i).kind == WorkKind::kCollective) continue;
    const HostCall* call = view.timeline.launch_of(view.work(i));
    if (call != nullptr && view.activity.at(call->start_ns) == Activity::kCompile)
      claims.push_back({Rule::kCompilationWaits, {along(i)}});
  }
  return claims;
}

}  // namespace hone::analyze::device
