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

// A block that is left alone need not be longer for its mean to be sure; programs with long steps may end before enough is
// recorded.
constexpr double kAlone_s = 1;

}  // namespace

Schedule make_schedule(const ScheduleOptions& options) {
  Schedule schedule;
  schedule.seed = options.seed;
  std::mt19937_64 random(options.seed);
  const double each = std::max(1.0, std::ceil(static_cast<double>(options.steps) / kPairs));
  const double enough = options.step_s > 0 ? std::max(1.0, std::ceil(kAlone_s / options.step_s)) : each;
  const double alone = std::min(each, enough);
  if (options.marks) schedule.untouched.assign(kPairs, {Mode::kLeftAlone, alone});
  const Mode recorded = options.devices ? Mode::kTimeline : Mode::kOperators;
  for (int pair = 0; pair < kPairs; ++pair) {
    std::pair<PlannedBlock, PlannedBlock> blocks = {{recorded, each}, {Mode::kLeftAlone, alone}};
    if (random() % 2 == 0) std::swap(blocks.first, blocks.second);
    schedule.blocks.push_back(blocks.first);
    schedule.blocks.push_back(blocks.second);
  }
  if (options.devices) schedule.blocks.push_back({Mode::kOperators, std::min(each, kCostlySteps)});
  if (options.stacks) schedule.blocks.push_back({Mode::kStacks, std::min(each, kCostlySteps), kStacks_s});
  return schedule;
}

}  // namespace hone::observe
