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
  std::set<std::string> scattering = {}, drawing = {};  // whose losses go up and down; which say so
  bool can_be_switched = true;
  double drift = 0;        // of a block, as a share: the machine gets slower and faster
  int most_blocks = 1000;  // of a run: then it ends by itself
  std::mt19937 random{1};
  int runs = 0;

  double wobble() { return std::exp(noise * std::normal_distribution<double>()(random)); }

  double step_with(const std::vector<std::string>& changes) const {
    double ms = step_ms;
    for (const std::string& change : changes)
      if (factors.contains(change)) ms *= factors.at(change);
    return ms;
  }

  void say(const std::vector<std::string>& changes, Trial& trial) const {
    for (const std::string& change : changes) {
      const auto status =
          refused.contains(change) ? AppliedChange::Status::kRefused : AppliedChange::Status::kApplied;
      trial.changes.push_back(
          {change, status, "said by " + change, std::nullopt, 0, drawing.contains(change)});
    }
  }

  // Pairs of blocks as they are ordered, of a run in which something crashes where it is switched on.
  void switch_as_ordered(const TrialRequest& request, Trial& trial) {
    const double phase = std::uniform_real_distribution<double>(0, 6.28)(random);
    trial.carries_out_orders = can_be_switched;
    say(request.switched, trial);
    for (int pair = 0; pair < most_blocks; ++pair) {
      const auto order = request.direct(trial, trial.seconds);
      if (!order) return;
      trial.seconds += 0.6;
      if (order->number == 0) continue;
      if (crashing.contains(order->tried)) {
        trial.exit_status = 1;
        return;
      }
      std::vector<std::string> in_force = request.changes;
      for (const std::string& each : order->in_force)
        if (std::find(in_force.begin(), in_force.end(), each) == in_force.end()) in_force.push_back(each);
      const double without = step_with(in_force), with = step_with({order->tried}) / step_ms * without;
      SwitchedBlocks& blocks = trial.blocks[order->number];
      const bool with_first = random() % 2 == 0;
      for (int i = 0; i < 2; ++i) {
        const double now = std::exp(drift * std::sin(phase + 0.3 * (2 * pair + i))) * wobble();
        if ((i == 0) == with_first)
          blocks.with_ms.push_back(with * now);
        else
          blocks.without_ms.push_back(without * now);
      }
    }
    trial.exit_status = 0;
  }

  RunTrial runner() {
    return [this](const TrialRequest& request) -> Result<Trial> {
      ++runs;
      Trial trial;
      say(request.changes, trial);
      double loss = 0;
      bool scatter = false;
      for (const std::string& change : request.changes) {
        if (losses.contains(change)) loss += losses.at(change);
        scatter = scatter || scattering.contains(change);
        if (!crashing.contains(change)) continue;
        trial.why_none = "it ended before it had marked two steps with exit status 1";
        trial.exit_status = 1;
        return trial;
      }
      if (request.switched.empty())
        trial.step_ms = step_with(request.changes) * wobble();
      else
        switch_as_ordered(request, trial);
      for (int i = 0; i < 10; ++i)
        trial.computed.losses.push_back(2.0 - 0.1 * i + loss + (scatter ? (i % 2 == 0 ? 0.2 : -0.2) : 0));
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
  ProgramExperimentOptions options;
  options.unasked = false;
  auto result = run_program_experiment(of(names), program.runner(), options);
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
  EXPECT_EQ(result.changes[0].outcome, Outcome::kRefused);
  EXPECT_EQ(result.changes[0].why, "said by channels_last");
  EXPECT_EQ(result.changes[1].outcome, Outcome::kCrashed);
  EXPECT_THAT(result.changes[1].why, HasSubstr("exit status 1"));
  EXPECT_TRUE(result.together.before_ms.empty());
}

TEST(ProgramLoop, TriesNothingOnAProgramThatCannotBeMeasured) {
  const RunTrial run = [](const TrialRequest&) -> Result<Trial> {
    Trial trial;
    trial.why_none = "it ended after 3 steps with exit status 0";
    return trial;
  };
  const auto result = run_program_experiment(of({"compile"}), run, {});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->why_nothing, HasSubstr("it ended after 3 steps"));
  EXPECT_TRUE(result->changes.empty());
}

TEST(ProgramLoop, SaysThatItWasInterruptedInTheRunOfTheUnchangedProgram) {
  bool interrupted = false;
  const RunTrial run = [&](const TrialRequest&) -> Result<Trial> {
    interrupted = true;
    Trial trial;
    trial.why_none = "interrupted";
    return trial;
  };
  ProgramExperimentOptions options;
  options.progress = [&](double, const std::string&) { return !interrupted; };
  const auto result = run_program_experiment(of({"compile"}), run, options);
  EXPECT_TRUE(result->interrupted);
}

TEST(ProgramLoop, DoesNotRunTheProgramWhereNothingIsAdvised) {
  MadeUpProgram program;
  EXPECT_TRUE(run(program, {}).changes.empty());
  EXPECT_EQ(program.runs, 0);
}

TEST(ProgramLoop, OffersALargerBatchByItsSamplesWithoutKeepingIt) {
  MadeUpProgram program;
  program.factors = {{"larger_batch", 1.4}};  // of twice the samples
  program.losses = {{"larger_batch", 0.5}};
  const ProgramExperiment result = run(program, {"larger_batch"});
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kOffered);
  EXPECT_NEAR(result.changes[0].runs.speedup(), 2 / 1.4, 0.05);
  EXPECT_THAT(result.changes[0].why, HasSubstr("losses cannot be compared"));
  EXPECT_TRUE(result.together.before_ms.empty());
  program.factors = {{"larger_batch", 2.1}};
  EXPECT_EQ(run(program, {"larger_batch"}).changes[0].outcome, Outcome::kNoGain);
}

TEST(ProgramLoop, TakesNoMoreTimeThanItIsGiven) {
  MadeUpProgram program;
  const RunTrial made_up = program.runner();
  const RunTrial slow = [&](const TrialRequest& request) {
    auto trial = made_up(request);
    trial->seconds = 100;
    return trial;
  };
  ProgramExperimentOptions options;
  options.budget_s = 150;
  const auto result = run_program_experiment(of({"compile"}), slow, options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->changes.size(), 1u);
  EXPECT_EQ(result->changes[0].outcome, Outcome::kNotTried);
  EXPECT_EQ(result->changes[0].why,
            "150 s of the budget were left for it, and it needs about 300 s (--budget)");
}

// A loader that waits: the verdict's own fix is not to wait until all that is cheap has had its turn.
TEST(ProgramLoop, TriesFirstWhatIsPredictedToWinMostForItsTime) {
  MadeUpProgram program;
  const RunTrial made_up = program.runner();
  const RunTrial slow = [&](const TrialRequest& request) {
    auto trial = made_up(request);
    trial->seconds += 8;
    return trial;
  };
  ProgramExperimentOptions options;
  options.unasked = false;
  std::vector<Candidate> found = of({"workers", "channels_last", "compile"});
  found[0].predicted_gain_ms = 86;
  found[1].predicted_gain_ms = 4;
  found[2].predicted_gain_ms = 0;
  const auto first = [&] {
    return run_program_experiment(found, slow, options)->changes[0].candidate.change->name;
  };
  EXPECT_EQ(first(), "workers");
  found[0].predicted_gain_ms = 3;
  EXPECT_EQ(first(), "channels_last") << "which needs no runs of its own";
  found[0].predicted_gain_ms = 4.5;
  found[1].predicted_gain_ms = found[2].predicted_gain_ms = 4;
  found.pop_back();
  EXPECT_EQ(first(), "channels_last") << "which wins more in a second";
}

TEST(ProgramLoop, GivesNoRunMoreTimeThanIsLeft) {
  MadeUpProgram program;
  const RunTrial made_up = program.runner();
  std::vector<TrialRequest> requests;
  const RunTrial slow = [&](const TrialRequest& request) {
    requests.push_back(request);
    auto trial = made_up(request);
    trial->first_step_s = 4;
    return trial;
  };
  ProgramExperimentOptions options;
  options.budget_s = 150;
  options.baseline_s = 10;
  ASSERT_TRUE(run_program_experiment(of({"workers"}), slow, options).ok());
  ASSERT_GE(requests.size(), 3u);
  for (const TrialRequest& each : requests) EXPECT_LE(each.patience_s, 150);
  EXPECT_EQ(requests[0].marks_within_s, 30) << "its baseline had shown its steps in ten";
  EXPECT_EQ(requests[1].marks_within_s, 28);
  EXPECT_EQ(requests[2].marks_within_s, 118) << "what is changed may start more slowly";
}

// Of a run that switches and one that compares: the change that is worth most is decided in them.
TEST(ProgramLoop, SwitchesWhereTheBudgetHoldsHardlyMore) {
  MadeUpProgram program;
  program.factors = {{"autocast_bf16", 0.4}, {"set_to_none", 0.5}};
  const RunTrial made_up = program.runner();
  const RunTrial slow = [&](const TrialRequest& request) {
    auto trial = made_up(request);
    trial->seconds = 20;
    return trial;
  };
  ProgramExperimentOptions options;
  options.unasked = false;
  options.budget_s = 42;
  const auto result = run_program_experiment(of({"autocast_bf16", "set_to_none"}), slow, options);
  ASSERT_EQ(result->changes.size(), 2u);
  EXPECT_EQ(result->changes[0].outcome, Outcome::kKept);
  EXPECT_EQ(result->changes[0].numbers.steps, 10);
  EXPECT_EQ(result->changes[1].outcome, Outcome::kNotTried);
  EXPECT_TRUE(result->together.speedup() > 2);
}

TEST(ProgramLoop, CallsUndecidedWhatThereWasNoTimeToDecide) {
  MadeUpProgram program;
  program.factors = {{"workers", 0.95}};
  const RunTrial made_up = program.runner();
  const RunTrial slow = [&](const TrialRequest& request) {
    auto trial = made_up(request);
    trial->seconds = program.runs <= 2 ? 1 : 1e6;
    return trial;
  };
  const auto result = run_program_experiment(of({"workers"}), slow, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->changes[0].outcome, Outcome::kUndecided);
  EXPECT_THAT(result->changes[0].why, HasSubstr("times as fast in 2 pairs of runs, too few to tell"));
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

// The same where changes are switched within a run, whose blocks drift together.
TEST(ProgramLoop, KeepsHardlyAnythingThatChangesNothingWhenSwitched) {
  for (const double drift : {0.0, 0.2}) {
    int kept = 0, tried = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      MadeUpProgram program;
      program.noise = 0.05;
      program.drift = drift;
      program.random.seed(seed);
      for (const TriedChange& change :
           run(program, {"autocast_bf16", "set_to_none", "threads_physical"}).changes) {
        kept += change.outcome == Outcome::kKept;
        ++tried;
        EXPECT_TRUE(change.runs.within_one_run);
      }
    }
    EXPECT_GE(tried, 300);
    EXPECT_LE(kept, tried / 20) << "of " << tried << " at a drift of " << drift;
  }
}

// A start of the program is what costs most.
TEST(ProgramLoop, TriesAllThatCanBeSwitchedInOneRun) {
  MadeUpProgram program;
  program.factors = {{"autocast_bf16", 0.7}, {"compile", 0.8}, {"channels_last", 0.9}};
  const ProgramExperiment result = run(program, {"compile", "autocast_bf16", "set_to_none", "channels_last"});
  ASSERT_EQ(result.changes.size(), 4u);
  EXPECT_EQ(result.changes.back().candidate.change->name, "compile") << "nothing is switched after it";
  EXPECT_EQ(program.runs, 2 + 1 + 1 + 3);
  EXPECT_NEAR(result.together.speedup(), 1 / (0.7 * 0.8 * 0.9), 0.1);
  for (const TriedChange& tried : result.changes) {
    EXPECT_TRUE(tried.runs.within_one_run);
    EXPECT_EQ(tried.numbers.steps, tried.outcome == Outcome::kKept ? 10 : 0);
  }
}

TEST(ProgramLoop, FindsTheOneOfAllKeptThatSpoilsTheNumbers) {
  MadeUpProgram program;
  program.factors = {{"autocast_bf16", 0.7}, {"set_to_none", 0.9}, {"channels_last", 0.9}, {"tf32", 0.8}};
  program.losses = {{"autocast_bf16", 0.3}};
  const ProgramExperiment result = run(program, {"channels_last", "autocast_bf16", "set_to_none"});
  ASSERT_EQ(result.changes.size(), 4u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kKept);
  EXPECT_EQ(result.changes[1].outcome, Outcome::kOtherNumbers);
  EXPECT_EQ(result.changes[2].outcome, Outcome::kKept);
  EXPECT_EQ(result.changes[3].candidate.change->name, "tf32");
  EXPECT_EQ(result.changes[3].outcome, Outcome::kKept);
  EXPECT_TRUE(result.numbers.same);
}

TEST(ProgramLoop, GoesOnInAnotherRunAfterAChangeThatCrashesWhenItIsSwitchedOn) {
  MadeUpProgram program;
  program.factors = {{"set_to_none", 0.8}};
  program.crashing = {"channels_last"};
  const ProgramExperiment result = run(program, {"channels_last", "set_to_none"});
  ASSERT_EQ(result.changes.size(), 2u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kCrashed);
  EXPECT_EQ(result.changes[1].outcome, Outcome::kKept);
  EXPECT_TRUE(result.changes[1].runs.within_one_run);
}

TEST(ProgramLoop, GoesOnInAnotherRunWhereTheProgramHasEndedByItself) {
  MadeUpProgram program;
  program.most_blocks = 10;
  program.factors = {{"set_to_none", 0.8}, {"channels_last", 0.8}};
  const ProgramExperiment result = run(program, {"channels_last", "set_to_none"});
  ASSERT_EQ(result.changes.size(), 2u);
  for (const TriedChange& tried : result.changes) {
    EXPECT_EQ(tried.outcome, Outcome::kKept);
    EXPECT_TRUE(tried.runs.within_one_run);
  }
}

TEST(ProgramLoop, TakesTheBaselineForOneOfTheRunsOfTheUnchangedProgram) {
  MadeUpProgram program;
  program.factors = {{"set_to_none", 0.8}};
  ProgramExperimentOptions options;
  options.unasked = false;
  for (int i = 0; i < 10; ++i) options.observed.computed.losses.push_back(2.0 - 0.1 * i);
  const auto result = run_program_experiment(of({"set_to_none"}), program.runner(), options);
  EXPECT_EQ(result->changes[0].outcome, Outcome::kKept);
  EXPECT_EQ(result->again.losses.size(), 10u);
  EXPECT_EQ(program.runs, 1 + 1 + 1 + 3);
}

TEST(ProgramLoop, LooksAtWhatNoFindingAdvisesWhereChangesAreSwitchedAnyway) {
  MadeUpProgram program;
  program.factors = {{"channels_last", 0.8}};
  program.refused = {"fused_optimizer"};
  const auto result = run_program_experiment(of({"set_to_none"}), program.runner(), {});
  ASSERT_EQ(result->changes.size(), 4u) << "set_to_none, autocast and, instead, tf32, channels_last";
  EXPECT_EQ(result->changes.back().candidate.change->name, "channels_last");
  EXPECT_EQ(result->changes.back().outcome, Outcome::kKept);
  EXPECT_EQ(result->changes.back().candidate.predicted_gain_ms, 0);
}

TEST(ProgramLoop, SwitchesInOneRunWhatCanBeSwitched) {
  MadeUpProgram program;
  program.drift = 0.1;
  program.factors = {{"autocast_bf16", 0.9}};
  const ProgramExperiment result = run(program, {"autocast_bf16"});
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].outcome, Outcome::kKept);
  EXPECT_TRUE(result.changes[0].runs.within_one_run);
  EXPECT_NEAR(result.changes[0].runs.speedup(), 1 / 0.9, 0.03) << "whatever the machine does meanwhile";
  EXPECT_EQ(program.runs, 2 + 1 + 1 + 5) << "as it is, switched, what it computes, all together";
}

TEST(ProgramLoop, TriesInRunsOfItsOwnWhatCouldNotBeSwitched) {
  MadeUpProgram program;
  program.can_be_switched = false;
  program.factors = {{"autocast_bf16", 0.6}};
  const ProgramExperiment result = run(program, {"autocast_bf16"});
  EXPECT_EQ(result.changes[0].outcome, Outcome::kKept);
  EXPECT_FALSE(result.changes[0].runs.within_one_run);
}

// What is compiled would be compiled again at each switch.
TEST(ProgramLoop, SwitchesNothingOnceTheModelIsCompiled) {
  MadeUpProgram program;
  program.factors = {{"compile", 0.6}};
  const ProgramExperiment result = run(program, {"compile", "set_to_none", "workers"});
  ASSERT_EQ(result.changes.size(), 3u);
  EXPECT_EQ(result.changes[1].candidate.change->name, "compile");
  EXPECT_EQ(result.changes[2].candidate.change->name, "workers");
  EXPECT_FALSE(result.changes[2].runs.within_one_run);
}

TEST(ProgramLoop, DropsWhatIsClearlySlowerAfterOnePair) {
  MadeUpProgram program;
  program.factors = {{"workers", 1.5}};
  const ProgramExperiment result = run(program, {"workers"});
  EXPECT_EQ(result.changes[0].outcome, Outcome::kNoGain);
  EXPECT_EQ(program.runs, 2 + 2);
}

// The machine has got ten times as slow since the program ran as it is: only pairs can tell.
TEST(ProgramLoop, BlamesNoChangeForAMachineThatGotSlower) {
  MadeUpProgram program;
  program.factors = {{"workers", 0.7}};
  const RunTrial made_up = program.runner();
  const RunTrial slower = [&](const TrialRequest& request) {
    auto trial = made_up(request);
    if (program.runs > 2) trial->step_ms *= 10;
    return trial;
  };
  const auto result = run_program_experiment(of({"workers"}), slower, {});
  EXPECT_EQ(result->changes[0].outcome, Outcome::kKept);
}

// Dropout of a compiled model: the same loss on average, step by step another.
TEST(ProgramLoop, ComparesTheMeansOfLossesWhereRandomNumbersComeInAnotherOrder) {
  MadeUpProgram program;
  program.factors = {{"compile", 0.7}};
  program.scattering = {"compile"};
  EXPECT_EQ(run(program, {"compile"}).changes[0].outcome, Outcome::kOtherNumbers);
  program.drawing = {"compile"};
  const ProgramExperiment result = run(program, {"compile"});
  EXPECT_EQ(result.changes[0].outcome, Outcome::kKept);
  EXPECT_THAT(result.changes[0].numbers.sentence, HasSubstr("means of the losses"));
}

TEST(ProgramLoop, TriesNothingOfDevicesInsteadOnTheCpu) {
  MadeUpProgram program;
  program.losses = {{"autocast_bf16", 1}};
  ProgramExperimentOptions options;
  options.on_device = options.unasked = false;
  const auto result = run_program_experiment(of({"autocast_bf16"}), program.runner(), options);
  EXPECT_EQ(result->changes.size(), 1u);
}

TEST(ProgramLoop, MeasuresAsAWholeNoSecondTimeWhatWasMeasuredAgainstTheUnchangedProgram) {
  MadeUpProgram program;
  program.factors = {{"workers", 0.6}};
  const ProgramExperiment result = run(program, {"workers"});
  EXPECT_EQ(program.runs, 2 + 3) << "two pairs, of which the second unchanged run is half of one";
  EXPECT_EQ(result.together.before_ms, result.changes[0].runs.before_ms);
  EXPECT_EQ(result.changed.losses.size(), 10u);
}

// A program of which `processes` for its loader decide what a step takes.
struct LoadingProgram {
  std::map<int, double> factor_of;
  MadeUpProgram program = {};
  std::vector<int> processes = {};

  RunTrial runner() {
    return [this](const TrialRequest& request) {
      const bool changed =
          std::find(request.changes.begin(), request.changes.end(), kWorkers) != request.changes.end();
      program.factors = {{"workers", factor_of[request.processes]}};
      if (changed) processes.push_back(request.processes);
      return program.runner()(request);
    };
  }
};

Candidate of_loader(const analyze::LoaderSetup& now, double prepare_ms) {
  analyze::Loading loading;
  loading.now = now;
  loading.cpus = 64;
  loading.times = {.prepare_ms = prepare_ms, .consume_ms = 40};
  loading.step_ms = analyze::batch_ms(now, loading.times);
  loading.wait_ms = loading.step_ms - 40;
  loading.advised = analyze::best_setup(now, loading.times, loading.cpus);
  Candidate candidate{find_change(kWorkers), loading.gain_ms(), "because"};
  candidate.loading = loading;
  return candidate;
}

TEST(ProgramLoop, TriesMoreProcessesOnceWhereBatchesAreStillWaitedFor) {
  const Candidate candidate = of_loader({1, 2, true, -1}, 100);
  ASSERT_EQ(candidate.loading->advised.workers, 3);
  LoadingProgram program{.factor_of = {{3, 0.7}, {6, 0.41}}};  // slower than foretold
  const auto result = run_program_experiment({candidate}, program.runner(), {});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->changes.size(), 2u);
  EXPECT_EQ(result->changes[0].outcome, Outcome::kKept);
  EXPECT_EQ(result->changes[1].outcome, Outcome::kKept);
  EXPECT_GT(result->changes[1].candidate.predicted_gain_ms, 10);
  EXPECT_NEAR(result->together.speedup(), 1 / 0.41, 0.1) << "what is told of all is that of six";
  EXPECT_EQ(program.processes.back(), 6);
}

TEST(ProgramLoop, TriesNoMoreProcessesWhereTheFirstOnesKeepUp) {
  LoadingProgram program{.factor_of = {{3, 0.4}, {6, 0.2}}};
  const auto result = run_program_experiment({of_loader({1, 2, true, -1}, 100)}, program.runner(), {});
  EXPECT_EQ(result->changes.size(), 1u);
}

// Eight batches an epoch, each with a process of its own: what is left is the wait for the first.
TEST(ProgramLoop, TriesNoMoreProcessesThanAnEpochHasBatches) {
  const Candidate candidate = of_loader({4, 2, true, 8}, 400);
  LoadingProgram program{.factor_of = {{candidate.loading->advised.workers, 0.8}}};
  const auto result = run_program_experiment({candidate}, program.runner(), {});
  EXPECT_EQ(result->changes.size(), 1u);
  EXPECT_EQ(candidate.loading->advised.workers, 8);
}

TEST(PairedRuns, AreComparedByTheirRatios) {
  const PairedRuns runs{{100, 110}, {50, 100}, false};
  EXPECT_NEAR(runs.speedup(), std::sqrt(2 * 1.1), 1e-9);
  EXPECT_DOUBLE_EQ(runs.least_speedup(), 1.1);
  EXPECT_DOUBLE_EQ(runs.most_speedup(), 2);
  EXPECT_DOUBLE_EQ(PairedRuns().speedup(), 1);
}

}  // namespace
}  // namespace hone::lab
