#include "lab/program/describe.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/program/run_noise.h"

namespace hone::lab {
namespace {

TriedChange tried(const char* name, PairedRuns runs, Outcome outcome) {
  TriedChange change;
  change.candidate.change = find_change(name);
  change.runs = std::move(runs);
  change.outcome = outcome;
  return change;
}

analyze::ProgramReport described(const ProgramExperiment& experiment) {
  auto report = describe(experiment, {}, {"train"});
  EXPECT_TRUE(report.ok());
  return std::move(*report);
}

// While the blocks ran the machine was busy, and steps took six times as long.
TEST(DescribedExperiment, TellsAllGainsOfTheStepOfTheHeadline) {
  ProgramExperiment experiment;
  experiment.unchanged_ms = {70};
  const std::vector<double> without(6, 420), with(6, 210);
  experiment.changes = {tried("channels_last", {without, with, true}, Outcome::kKept),
                        tried("fused_optimizer", {without, with, true}, Outcome::kNoGain)};
  const analyze::ProgramReport report = described(experiment);
  EXPECT_NEAR(report.changes[0].measured_gain_ms->median, 35, 1e-9);
  EXPECT_NEAR(report.changes[1].measured_gain_ms->median, 17.5, 1e-9) << "of what was kept before";
}

TEST(DescribedExperiment, HasNoSpreadAndNoIntervalOfOnePair) {
  ProgramExperiment experiment;
  experiment.unchanged_ms = {100};
  experiment.noise = 0.005;
  experiment.changes = {tried("workers", {{100}, {80}, false}, Outcome::kNotTried)};
  analyze::ProgramReport report = described(experiment);
  EXPECT_FALSE(report.noise.has_value());
  EXPECT_FALSE(report.changes[0].steps.has_interval);
  EXPECT_EQ(report.changes[0].measured_gain_ms->low, report.changes[0].measured_gain_ms->high);
  experiment.changes[0].runs = {{100, 100}, {80, 80}, false};
  report = described(experiment);
  EXPECT_TRUE(report.changes[0].steps.has_interval);
  EXPECT_LT(report.changes[0].measured_gain_ms->low, 20);
  EXPECT_GT(report.changes[0].measured_gain_ms->high, 20);
}

TEST(RunNoise, IsMeasuredOnlyWhereTheSameRanTwice) {
  RunNoise noise;
  noise.add({}, 100);
  noise.add({"workers"}, 50);
  EXPECT_FALSE(noise.measured().has_value());
  EXPECT_GT(noise.value(), 0);
  noise.add({}, 101);
  EXPECT_NEAR(*noise.measured(), 0.007, 0.001);
}

}  // namespace
}  // namespace hone::lab
