#include "analyze/device/timeline/typical_step.h"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

RankTimeline steps_of(const std::vector<double>& times_ms) {
  RankTimeline timeline;
  int64_t at = 0;
  for (std::size_t i = 0; i < times_ms.size(); ++i) {
    const auto ns = static_cast<int64_t>(times_ms[i] * 1e6);
    DeviceStep step;
    step.step = static_cast<int32_t>(i);
    step.start_ns = at;
    step.end_ns = at += ns;
    timeline.steps.push_back(step);
  }
  return timeline;
}

TEST(TypicalStep, CountsAreWholeButForRounding) {
  EXPECT_EQ(whole_count(49.00000000000007), 49);
  EXPECT_EQ(whole_count(0.5), 0.5);
  EXPECT_EQ(whole_count(1e-3), 1e-3);
}

// What a part of the step comes to, of its times by window.
double sum_of(const TypicalStep& typical, const std::vector<double>& parts_ms) {
  double total = 0;
  for (std::size_t i = 0; i < parts_ms.size(); ++i) total += typical.part_ms(i, parts_ms[i] * 1e6);
  return total;
}

TEST(TypicalStep, IsAsLongAsTheMedianAndLeavesAsItIsWhatTakesAsLongInEveryStep) {
  const std::vector<double> times = {34, 15, 27};
  const TypicalStep typical = typical_step(steps_of(times), {});
  EXPECT_DOUBLE_EQ(typical.ms, 27);
  EXPECT_NEAR(sum_of(typical, times), 27, 1e-9);
  EXPECT_NEAR(sum_of(typical, {4, 4, 4}), 4, 1e-9);      // the device's work
  EXPECT_NEAR(sum_of(typical, {30, 11, 23}), 23, 1e-9);  // what differs: waiting for input
  EXPECT_NEAR(typical.scale, 1, 1e-12);
  EXPECT_LT(typical.weight[1], typical.weight[2]);
}

TEST(TypicalStep, WeighsEqualStepsEqually) {
  const TypicalStep typical = typical_step(steps_of({5, 5, 5}), {});
  for (const double weight : typical.weight) EXPECT_DOUBLE_EQ(weight, 1.0 / 3);
}

TEST(TypicalStep, LeavesOutTheHalfThatIsFarFromTheMedian) {
  const TypicalStep typical = typical_step(steps_of({90, 10, 11, 12, 2, 11, 70, 10}), {});
  EXPECT_DOUBLE_EQ(typical.ms, 11);
  EXPECT_FALSE(typical.counts(0));
  EXPECT_FALSE(typical.counts(4));
  EXPECT_FALSE(typical.counts(6));
  EXPECT_TRUE(typical.counts(2));
}

TEST(TypicalStep, IsOfTheStepsThatAllRanksHave) {
  const std::vector<double> times = {10, 10, 20, 22};
  const TypicalStep typical = typical_step(steps_of(times), {2, 3});
  EXPECT_FALSE(typical.counts(0));
  EXPECT_FALSE(typical.counts(1));
  EXPECT_NEAR(sum_of(typical, times), typical.ms, 1e-9);
}

TEST(TypicalStep, HasNoNegativeWeights) {
  const std::vector<double> times = {10, 10.1, 10.2, 2, 3, 40};
  const TypicalStep typical = typical_step(steps_of(times), {});
  double total = 0;
  for (const double weight : typical.weight) {
    EXPECT_GE(weight, 0);
    total += weight;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_NEAR(sum_of(typical, times), typical.ms, 1e-9);
}

}  // namespace
}  // namespace hone::analyze::device
