#include "lab/program/experiment.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::lab {
namespace {

using ::testing::HasSubstr;

// A program that exists as numbers: each change multiplies the step, and runs vary.
struct MadeUpProgram {
  double step_ms = 100, noise = 0.01;
  std::map<std::string, double> factors = {};
  std::map<std::string, double> losses = {};  // that a change adds
  std::set<std::string> refused = {}, crashing = {};
  std::mt19937 random{1};
  int runs = 0;

  RunTrial runner() {
    return [this](const std::vector<std::string>& changes) -> Result<Trial> {
      ++runs;
      Trial trial;
      double ms = step_ms * std::exp(noise * std::normal_distribution<double>()(random)), loss = 0;
      for (const std::string& change : changes) {
        if (factors.contains(change)) ms *= factors.at(change);
        if (losses.contains(change)) loss += losses.at(change);
        const auto status =
            refused.contains(change) ? AppliedChange::Status::kRefused : AppliedChange::Status::kApplied;
        trial.changes.push_back({change, status, "said by " + change, std::nullopt});
        if (!crashing.contains(change)) continue;
        trial.why_none = "it ended before it had marked two steps with exit status 1";
        trial.exit_status = 1;
        return trial;
      }
      trial.step_ms = ms;
      for (int i = 0; i < 10; ++i) trial.computed.losses.push_back(2.0 - 0.1 * i + loss);
      return trial;
    };
  }
};

std::vector<Candidate> of(const std::vector<std::string>& names) {
  std::vector<Candidate> all;
  for (const std::string& name : names) all.push_back({find_change(name), 1, "because"});
  return all;
}

ProgramExperiment run(MadeUpProgram& program, const std::vector<std::string>& names) {
  auto result = run_program_experiment(of(names), program.runner(), {});
  EXPECT_TRUE(result.ok());
  return std::move(*result);
}

TEST(ProgramLoop, KeepsWhatMakesStepsShorterAndMeasuresAllTogether) {
  MadeUpProgram program;
  program.factors = {{"autocast_bf16", 0.6}, {"channels_last", 0.9}, {"fused_optimizer", 1.1}};
  const ProgramExperiment result = run(program, {"autocast_bf16", "channels_last", "fused_optimizer"});
  ASSERT_EQ(result.changes.size(), 3u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kKept);
  EXPECT_NEAR(result.changes[0].runs.speedup(), 1 / 0.6, 0.05);
  EXPECT_EQ(result.changes[1].outcome, Outcome::kKept);
  EXPECT_NEAR(result.changes[1].gain_ms, 6, 2) << "measured on top of what was kept before";
  EXPECT_EQ(result.changes[2].outcome, Outcome::kNoGain);
  EXPECT_NEAR(result.together.speedup(), 1 / 0.54, 0.05);
  EXPECT_NEAR(median(result.unchanged_ms), 100, 3);
}

TEST(ProgramLoop, DropsWhatChangesTheLossHoweverFast) {
  MadeUpProgram program;
  program.factors = {{"autocast_bf16", 0.3}, {"tf32", 0.8}};
  program.losses = {{"autocast_bf16", 0.2}};
  const ProgramExperiment result = run(program, {"autocast_bf16"});
  ASSERT_EQ(result.changes.size(), 2u) << "what is narrower by less is tried instead";
  EXPECT_EQ(result.changes[0].outcome, Outcome::kOtherNumbers);
  EXPECT_THAT(result.changes[0].why, HasSubstr("differ by 1"));
  EXPECT_EQ(result.changes[1].candidate.change->name, "tf32");
  EXPECT_EQ(result.changes[1].outcome, Outcome::kKept);
}

TEST(ProgramLoop, GoesOnAfterCrashesAndRefusalsAndSaysWhy) {
  MadeUpProgram program;
  program.crashing = {"compile"};
  program.refused = {"channels_last"};
  const ProgramExperiment result = run(program, {"compile", "channels_last"});
  ASSERT_EQ(result.changes.size(), 2u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kCrashed);
  EXPECT_THAT(result.changes[0].why, HasSubstr("exit status 1"));
  EXPECT_EQ(result.changes[1].outcome, Outcome::kRefused);
  EXPECT_EQ(result.changes[1].why, "said by channels_last");
  EXPECT_TRUE(result.together.before_ms.empty());
}

TEST(ProgramLoop, TriesNothingOnAProgramThatCannotBeMeasured) {
  const RunTrial run = [](const std::vector<std::string>&) -> Result<Trial> {
    Trial trial;
    trial.why_none = "it ended after 3 steps with exit status 0";
    return trial;
  };
  const auto result = run_program_experiment(of({"compile"}), run, {});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->why_nothing, HasSubstr("it ended after 3 steps"));
  EXPECT_TRUE(result->changes.empty());
}

TEST(ProgramLoop, DoesNotRunTheProgramWhereNothingIsAdvised) {
  MadeUpProgram program;
  EXPECT_TRUE(run(program, {}).changes.empty());
  EXPECT_EQ(program.runs, 0);
}

TEST(ProgramLoop, TakesNoMoreTimeThanItIsGiven) {
  MadeUpProgram program;
  const RunTrial made_up = program.runner();
  const RunTrial slow = [&](const std::vector<std::string>& changes) {
    auto trial = made_up(changes);
    trial->seconds = 100;
    return trial;
  };
  ProgramExperimentOptions options;
  options.budget_s = 150;
  const auto result = run_program_experiment(of({"compile"}), slow, options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->changes.size(), 1u);
  EXPECT_EQ(result->changes[0].outcome, Outcome::kNotTried);
  EXPECT_THAT(result->changes[0].why, HasSubstr("budget"));
}

// The promise of the product: of changes that change nothing, at most 2 of 40 are kept.
TEST(ProgramLoop, KeepsHardlyAnythingThatChangesNothing) {
  for (const double noise : {0.003, 0.02, 0.1}) {
    int kept = 0, tried = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      MadeUpProgram program;
      program.noise = noise;
      program.random.seed(seed);
      for (const TriedChange& change :
           run(program, {"compile", "channels_last", "fused_optimizer", "workers"}).changes) {
        kept += change.outcome == Outcome::kKept;
        ++tried;
      }
    }
    EXPECT_EQ(tried, 400);
    EXPECT_LE(kept, 16) << "of " << tried << " at a noise of " << noise;
  }
}

TEST(PairedRuns, AreComparedByTheirRatios) {
  const PairedRuns runs{{100, 110}, {50, 100}};
  EXPECT_NEAR(runs.speedup(), std::sqrt(2 * 1.1), 1e-9);
  EXPECT_DOUBLE_EQ(runs.least_speedup(), 1.1);
  EXPECT_DOUBLE_EQ(runs.most_speedup(), 2);
  EXPECT_DOUBLE_EQ(PairedRuns().speedup(), 1);
}

}  // namespace
}  // namespace hone::lab
