#include "analyze/device/pipeline.h"

#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

TEST(Pipelining, OfEqualStagesLeavesThePartOfOneMicroBatch) {
  const std::vector<Stage> stages = {{.device_ms = 12}, {.device_ms = 12}, {.device_ms = 12}};
  const Pipelining best = best_pipelining(stages, 1, 4, 36);
  EXPECT_EQ(best.micro_batches, 4);
  EXPECT_NEAR(best.ms, 12 * (4 + 3 - 1) / 4.0, 1e-9);
}

TEST(Pipelining, TakesAtLeastAsLongAsTheLongestStage) {
  const std::vector<Stage> stages = {{.device_ms = 24}, {.device_ms = 12}};
  EXPECT_NEAR(best_pipelining(stages, 1, 4, 36).ms, 24 + 12 / 4.0, 1e-9);
  EXPECT_EQ(longest_stage(stages, 4), &stages.front());
}

// 2 ms of each stage do not shrink: 14 + 14 / 2 with two micro-batches, 16 + 16 / 3 with three.
TEST(Pipelining, StopsWhereKernelsThatDoNotFillTheDeviceCostMoreThanWaiting) {
  const std::vector<Stage> stages = {{.device_ms = 12, .fixed_ms = 2}, {.device_ms = 12, .fixed_ms = 2}};
  const Pipelining best = best_pipelining(stages, 1, 4, 24);
  EXPECT_EQ(best.micro_batches, 2);
  EXPECT_NEAR(best.ms, 14 + 7, 1e-9);
}

TEST(Pipelining, StopsWhereTheHostCannotKeepUp) {
  const std::vector<Stage> stages = {{.device_ms = 24, .host_ms = 8, .host_again_ms = 8},
                                     {.device_ms = 12, .host_ms = 3, .host_again_ms = 3}};
  const Pipelining best = best_pipelining(stages, 1, 8, 36);
  EXPECT_EQ(best.micro_batches, 3);
  EXPECT_NEAR(best.ms, 24 + 12 / 3.0, 1e-9);
}

TEST(Pipelining, RunsTheOptimizerOnce) {
  const std::vector<Stage> stages = {{.device_ms = 12, .host_ms = 6, .host_again_ms = 2}, {.device_ms = 12}};
  const Pipelining best = best_pipelining(stages, 1, 4, 24);
  EXPECT_EQ(best.micro_batches, 4);
  EXPECT_NEAR(best.ms, 12 + 12 / 4.0, 1e-9);
}

TEST(Pipelining, OfWorkThatDoesNotShrinkWinsNothing) {
  const std::vector<Stage> stages = {{.device_ms = 12, .fixed_ms = 12}, {.device_ms = 12, .fixed_ms = 12}};
  EXPECT_EQ(best_pipelining(stages, 1, 4, 24).micro_batches, 1);
  EXPECT_NEAR(best_pipelining(stages, 1, 4, 24).ms, 24, 1e-9);
}

// Four rounds: what the other has when the step begins, and when it ends, is half of one round.
TEST(Pipelining, FillsOnceForAllTurns) {
  const std::vector<Stage> stages = {{.device_ms = 12, .host_ms = 5, .host_again_ms = 5}, {.device_ms = 12}};
  const Pipelining best = best_pipelining(stages, 4, 2, 24);
  EXPECT_EQ(best.micro_batches, 2);
  EXPECT_NEAR(best.ms, 12 + 12 / 8.0, 1e-9);
}

TEST(Pipelining, LeavesWhatIsAsShortAsItCanBe) {
  const std::vector<Stage> stages = {{.device_ms = 12}, {.device_ms = 12}};
  EXPECT_EQ(best_pipelining(stages, 1, 4, 14).micro_batches, 1);
}

TEST(Pipelining, OfNothingIsNothing) {
  EXPECT_EQ(best_pipelining({}, 1, 4, 7).ms, 7);
  EXPECT_EQ(longest_stage({}, 4), nullptr);
}

}  // namespace
}  // namespace hone::analyze::device
