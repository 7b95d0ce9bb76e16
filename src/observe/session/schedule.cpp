#include "observe/session/schedule.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace hone::observe {
namespace {

using trace::segments::Mode;

constexpr int kPairs = 6;
constexpr double kCostlySteps = 3;  // with operators, with stacks

// Of stacks sampled a thousand times a second: shares of a few percent are told apart.
constexpr double kStacks_s = 1;

}  // namespace

Schedule make_schedule(const ScheduleOptions& options) {
  Schedule schedule;
  schedule.seed = options.seed;
  std::mt19937_64 random(options.seed);
  const double each = std::max(1.0, std::ceil(static_cast<double>(options.steps) / kPairs));
  if (options.marks) schedule.untouched.assign(kPairs, {Mode::kLeftAlone, each});
  const Mode recorded = options.devices ? Mode::kTimeline : Mode::kOperators;
  for (int pair = 0; pair < kPairs; ++pair) {
    std::pair<Mode, Mode> modes = {recorded, Mode::kLeftAlone};
    if (random() % 2 == 0) std::swap(modes.first, modes.second);
    schedule.blocks.push_back({modes.first, each});
    schedule.blocks.push_back({modes.second, each});
  }
  if (options.devices) schedule.blocks.push_back({Mode::kOperators, std::min(each, kCostlySteps)});
  if (options.stacks) schedule.blocks.push_back({Mode::kStacks, std::min(each, kCostlySteps), kStacks_s});
  return schedule;
}

}  // namespace hone::observe
