// A view of works whose operators' uses are made by hand. Not part of the product.
#pragma once

#include <utility>

#include "analyze/device/busy/view.h"

namespace hone::analyze::device::fabricate {

// What `find` claims; `trace` and `timeline` need no host.
inline std::vector<WorkSplit> found_by(Claims (*find)(const View&), const trace::Trace& trace,
                                       const RankTimeline& timeline, OperatorUses uses) {
  const HostActivity activity;
  const Loops loops;
  const GpuRoofs roofs = gpu_roofs("NVIDIA H200");
  View view{trace, timeline, activity, loops, roofs, std::move(uses)};
  view.alone.resize(view.works());
  view.in_accumulate_grad.resize(view.works());
  const std::vector<Claims> claims = {find(view)};
  return resolve(view.works(), claims);
}

}  // namespace hone::analyze::device::fabricate
