// Learning rates over time as nodes of the training step: a function of the number of updates made before, so that
// a step that is replayed as it was recorded has the rate of its place, and a resumed run goes on with it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/builder.h"

namespace hone::graph {

enum class ScheduleKind : uint8_t {
  kConstant,
  kLinear,    // falls to `final` along a line
  kCosine,    // along half a cosine (Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts)
  kOneCycle,  // rises for `peak_at` of the steps, then falls, both along cosines (Smith and Topin 2017)
  kWarmupStableDecay,  // stays, and falls along a line in the last `decay` of the steps (Hu et al. 2024)
};
std::span<const std::string_view> schedule_names();  // in the order of the enumeration

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  int64_t steps = 0;  // of the whole run: where the rate has arrived; 1 or more but for kConstant
  int64_t warmup_steps =
      0;                 // in which the rate rises along a line, step t (from 0) to (t + 1) / warmup_steps
  double final = 0;      // what is left of the peak at the end
  double decay = 0.2;    // kWarmupStableDecay
  double peak_at = 0.3;  // kOneCycle
  double start = 0.04;   // kOneCycle: what it begins with, of the peak
};

// The rate of the update that has `updates` (i64[]) before it: f32[]. `peak` is the recipe's learning rate. Past the
// last step the rate stays what it was there.
ValueId emit_rate(GraphBuilder& builder, const Schedule& schedule, double peak, ValueId updates);

}  // namespace hone::graph
