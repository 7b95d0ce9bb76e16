#include "observe/session/schedule.h"

#include <gtest/gtest.h>

namespace hone::observe {
namespace {

using trace::segments::Mode;

double recorded_steps(const Schedule& schedule) {
  double steps = 0;
  for (const PlannedBlock& block : schedule.blocks) steps += block.mode == Mode::kTimeline ? block.steps : 0;
  return steps;
}

TEST(BlockSchedule, RecordsAtLeastAsManyStepsAsAskedFor) {
  for (const int steps : {1, 6, 20, 100})
    EXPECT_GE(recorded_steps(make_schedule({.steps = steps, .devices = true})), steps);
}

TEST(BlockSchedule, OrdersPairsAtRandomAndTheSameForASeed) {
  int recorded_first = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = make_schedule({.devices = true, .seed = seed});
    const Schedule again = make_schedule({.devices = true, .seed = seed});
    for (std::size_t i = 0; i < schedule.blocks.size(); ++i)
      EXPECT_EQ(schedule.blocks[i].mode, again.blocks[i].mode);
    recorded_first += schedule.blocks[0].mode == Mode::kTimeline ? 1 : 0;
  }
  EXPECT_GT(recorded_first, 60);
  EXPECT_LT(recorded_first, 140);
}

TEST(BlockSchedule, LeavesFewerOfLongStepsAlone) {
  const auto alone = [](double step_s) {
    double steps = 0;
    for (const PlannedBlock& block : make_schedule({.marks = true, .step_s = step_s}).untouched)
      steps += block.steps;
    return steps;
  };
  EXPECT_EQ(alone(0.01), 24);
  EXPECT_EQ(alone(0.4), 18);
  EXPECT_EQ(alone(2), 6);
  EXPECT_GE(recorded_steps(make_schedule({.steps = 20, .devices = true, .step_s = 2})), 20);
}

TEST(BlockSchedule, LeavesCostlyBlocksForTheEnd) {
  const Schedule schedule = make_schedule({.devices = true, .stacks = true});
  EXPECT_EQ(schedule.blocks[schedule.blocks.size() - 2].mode, Mode::kOperators);
  EXPECT_EQ(schedule.blocks.back().mode, Mode::kStacks);
}

}  // namespace
}  // namespace hone::observe
