#include "lab/gate/gate.h"

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

PairedResult speed(SpeedChange change, double median, double low, double high) {
  PairedResult result;
  result.change = change;
  result.ratio = {median, low, high, 0.95};
  return result;
}

NumericReport numbers(float output) {
  const ComparedOutput compared{"y", Tensor::scalar_f32(output), Tensor::scalar_f32(1)};
  return compare_outputs({&compared, 1}, Numerics::kReassociating);
}

TEST(Gate, KeepsAProvedGainWithRightNumbers) {
  const GateDecision decision = decide(speed(SpeedChange::kFaster, 1.18, 1.15, 1.21), numbers(1.0000003f));
  EXPECT_TRUE(decision.kept);
  EXPECT_EQ(decision.reason, "kept: 1.18× (1.15–1.21), rel. L2 3.6e-07");
}

TEST(Gate, DropsWhatMakesNoDifference) {
  const GateDecision decision = decide(speed(SpeedChange::kNoDifference, 1.003, 0.99, 1.02), numbers(1));
  EXPECT_FALSE(decision.kept);
  EXPECT_EQ(decision.reason, "dropped: no difference, 1.00× (0.99–1.02)");
}

TEST(Gate, DropsASlowerChange) {
  EXPECT_EQ(decide(speed(SpeedChange::kSlower, 0.5, 0.45, 0.55), numbers(1)).reason,
            "dropped: slower, 0.50× (0.45–0.55)");
}

TEST(Gate, DropsWrongNumbersHoweverFast) {
  const GateDecision decision = decide(speed(SpeedChange::kFaster, 9, 8.9, 9.5), numbers(1.5));
  EXPECT_FALSE(decision.kept);
  EXPECT_EQ(
      decision.reason,
      "dropped: output 'y': rel. L2 5.0e-01 is above the limit 1.2e-04 (reassociating change; speed 9.00× "
      "(8.90–9.50))");
}

TEST(Gate, CanAskForMoreThanAClaimedGain) {
  EXPECT_FALSE(decide(speed(SpeedChange::kFaster, 1.01, 1.005, 1.015), numbers(1), {}, {0.02}).kept);
  EXPECT_TRUE(decide(speed(SpeedChange::kFaster, 1.05, 1.04, 1.06), numbers(1), {}, {0.02}).kept);
}

TEST(Gate, KeepsWhatSavesMemoryAtNoCostOfTime) {
  const PairedResult same = speed(SpeedChange::kNoDifference, 1.001, 0.985, 1.02);
  EXPECT_EQ(decide(same, numbers(1), ArenaChange{1000, 900}).reason,
            "kept: saves 10.0 % of the arena at no cost of time, 1.00× (0.98–1.02), bitwise equal");
  EXPECT_EQ(decide(same, numbers(1), ArenaChange{1000, 995}).reason,
            "dropped: saves 0.5 % of the arena, less than the 1.0 % asked for; time 1.00× (0.98–1.02)");
  EXPECT_FALSE(decide(same, numbers(2), ArenaChange{1000, 100}).kept);
  EXPECT_FALSE(decide(same, numbers(1), ArenaChange{0, 0}).kept);
}

TEST(Gate, DoesNotPayForMemoryWithTime) {
  EXPECT_FALSE(decide(speed(SpeedChange::kSlower, 0.9, 0.89, 0.92), numbers(1), ArenaChange{1000, 100}).kept);
  EXPECT_EQ(
      decide(speed(SpeedChange::kNoDifference, 0.98, 0.9, 1.05), numbers(1), ArenaChange{1000, 900}).reason,
      "dropped: saves 10.0 % of the arena, but may cost more than 2.0 % of the time, 0.98× (0.90–1.05)");
  EXPECT_TRUE(decide(speed(SpeedChange::kFaster, 1.1, 1.05, 1.2), numbers(1), ArenaChange{1000, 1000}).kept);
}

}  // namespace
}  // namespace hone::lab
