#include "analyze/training/compare_training.h"

#include <random>

#include <gmock/gmock.h>

#include "analyze/training/fabricate_training.h"

namespace hone::analyze {
namespace {

using fabricate::training_run;
using fabricate::TrainingOptions;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<TrainingRun> runs(const TrainingOptions& like, uint64_t first_seed, int count) {
  std::vector<TrainingRun> all;
  for (int i = 0; i < count; ++i) {
    TrainingOptions options = like;
    options.seed = first_seed + static_cast<uint64_t>(i);
    all.push_back(training_run(options));
  }
  return all;
}

TrainingComparison compared(const std::vector<TrainingRun>& a, const std::vector<TrainingRun>& b) {
  auto comparison = compare_training(a, b);
  if (!comparison.ok()) throw std::runtime_error(comparison.error().message);
  return *std::move(comparison);
}

const LearningNumber& number(const TrainingComparison& comparison, const std::string& id) {
  for (const LearningNumber& row : comparison.numbers)
    if (row.id == id) return row;
  throw std::runtime_error("no number " + id);
}

TEST(CompareTraining, EqualRunsHaveNotChanged) {
  const TrainingRun run = training_run();
  const TrainingComparison c = compared({run}, {run});
  EXPECT_TRUE(c.same_losses);
  EXPECT_EQ(c.learning, LearningChange::kSame);
  EXPECT_EQ(c.step.certainty, Certainty::kNone);
  EXPECT_EQ(c.wait.certainty, Certainty::kNone);
  EXPECT_THAT(c.learning_sentence, HasSubstr("the losses of all 200 steps are equal"));
  EXPECT_THAT(c.time_sentence, HasSubstr("No difference"));
  EXPECT_THAT(c.recipe, IsEmpty());
  for (const LearningNumber& row : c.numbers) EXPECT_EQ(row.change, LearningChange::kSame) << row.id;
}

TEST(CompareTraining, ARunThatFailedHasLearntNothingThatCouldBeTheSame) {
  TrainingRun failed = training_run();
  failed.source = "runs/failed";
  failed.log.resize(1);
  failed.evaluations.clear();
  failed.end = RunEnd::kFailed;
  failed.failure = "step 2: the loss is NaN";
  for (const TrainingComparison& c :
       {compared({training_run()}, {failed}), compared({training_run()}, {training_run(), failed})}) {
    EXPECT_NE(c.learning, LearningChange::kSame);
    EXPECT_THAT(c.learning_sentence, HasSubstr("runs/failed of the second failed behind step 1 of 200"));
    EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("step 2: the loss is NaN")));
  }
}

TEST(CompareTraining, EqualBeginningsAreNoMoreThanThat) {
  TrainingRun shorter = training_run();
  shorter.log.resize(150);
  shorter.end = RunEnd::kStopped;
  const TrainingComparison c = compared({training_run()}, {shorter});
  EXPECT_THAT(c.learning_sentence, HasSubstr("losses of the first 150 steps are equal"));
}

TEST(CompareTraining, OtherLossesAreNotPutBesideEachOther) {
  TrainingRun other = training_run();
  other.recipe.emplace_back("loss.kind", "'dice'");
  TrainingComparison c = compared({training_run()}, {other});
  EXPECT_FALSE(c.same_losses);
  EXPECT_EQ(c.numbers.front().id, "last_metric") << "the metric is the same quantity";
  for (const LearningNumber& row : c.numbers) EXPECT_THAT(row.name, ::testing::Not(HasSubstr("loss")));
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("loss.kind differ")));
  other.metric = "iou";
  c = compared({training_run()}, {other});
  EXPECT_THAT(c.numbers, IsEmpty());
  EXPECT_THAT(c.learning_sentence, HasSubstr("different kinds"));
}

TEST(CompareTraining, ASlowerStepIsSureAndChangesNothingOfLearning) {
  TrainingRun slower = training_run();
  for (TrainingStep& step : slower.log) {
    step.step_ms += 3;
    step.input_wait_ms += 3;
  }
  const TrainingComparison c = compared({training_run()}, {slower});
  EXPECT_EQ(c.learning, LearningChange::kSame);
  EXPECT_EQ(c.step.certainty, Certainty::kSure);
  EXPECT_NEAR(c.step.b_ms - c.step.a_ms, 3, 0.05);
  EXPECT_LE(c.step.difference.change_ms.low, 3);
  EXPECT_GE(c.step.difference.change_ms.high, 3);
  EXPECT_EQ(c.wait.certainty, Certainty::kSure);
  EXPECT_NEAR(c.wait.difference.change_ms.median, 3, 1e-9);
  EXPECT_THAT(c.time_sentence, HasSubstr("13."));
  EXPECT_THAT(c.time_sentence, HasSubstr("(sure; the change is between +"));
  const LearningNumber& seconds = number(c, "seconds_to_target");
  EXPECT_NEAR(seconds.b.at(0) - seconds.a.at(0), 3e-3 * number(c, "steps_to_target").a.at(0), 1e-6);
}

TEST(CompareTraining, TwoRunsOfOneSeedEachProveNothing) {
  const TrainingComparison c =
      compared({training_run({.seed = 1})}, {training_run({.seed = 2, .best = 0.7})});
  EXPECT_EQ(c.learning, LearningChange::kUnknown);
  EXPECT_THAT(c.learning_sentence, HasSubstr("nothing says how much seeds alone"));
  for (const LearningNumber& row : c.numbers) EXPECT_FALSE(row.test.has_value()) << row.id;
  ASSERT_EQ(c.recipe.size(), 1U);
  EXPECT_EQ(c.recipe[0].key, "train.seed");
}

TEST(CompareTraining, SeveralSeedsShowThatARunLearnsWorse) {
  const TrainingComparison c = compared(runs({}, 1, 4), runs({.rate = 0.7, .best = 0.9}, 11, 4));
  EXPECT_EQ(c.learning, LearningChange::kWorse);
  EXPECT_THAT(c.learning_sentence, HasSubstr("learned worse"));
  EXPECT_EQ(number(c, "mean_loss").change, LearningChange::kWorse);
  EXPECT_EQ(number(c, "loss_at_step").change, LearningChange::kWorse);
  const LearningNumber& last = number(c, "last_metric");
  ASSERT_TRUE(last.test.has_value());
  EXPECT_LT(last.test->p, 0.01);
  EXPECT_LT(last.test->high, 0);
  EXPECT_THAT(c.recipe, IsEmpty()) << "seeds are what varies";
  EXPECT_EQ(compared(runs({.best = 0.9}, 11, 4), runs({}, 1, 4)).learning, LearningChange::kBetter);
}

// What a seed does is larger than what was changed, and the same on both sides.
std::vector<TrainingRun> runs_of_seeds(std::vector<uint64_t> seeds, double better, uint64_t noise) {
  std::mt19937_64 random(noise);
  std::normal_distribution<double> normal;
  std::vector<TrainingRun> all;
  for (const uint64_t seed : seeds) {
    TrainingRun run = training_run({.seed = seed, .best = 0.8, .seed_noise = 0.05});
    *run.evaluations.back().metric += better + 0.001 * normal(random);
    run.log.back().loss += 1e-6 * normal(random);
    all.push_back(run);
  }
  return all;
}

TEST(CompareTraining, SeedsThatBothSidesHaveArePaired) {
  const auto a = runs_of_seeds({1, 2, 3, 4}, 0, 1), b = runs_of_seeds({3, 1, 4, 2}, 0.01, 2);
  const TrainingComparison c = compared(a, b);
  EXPECT_TRUE(c.paired);
  EXPECT_EQ(c.b, (std::vector<std::string>{"runs/seed1", "runs/seed2", "runs/seed3", "runs/seed4"}));
  EXPECT_EQ(c.learning, LearningChange::kBetter) << c.learning_sentence;
  EXPECT_THAT(c.learning_sentence, HasSubstr("paired t over 4 seeds that both have"));
  ASSERT_TRUE(number(c, "last_metric").test);
  EXPECT_TRUE(number(c, "last_metric").test->paired);
  EXPECT_NEAR(number(c, "last_metric").test->difference, 0.01, 0.003);
  ASSERT_TRUE(c.step.test);
  EXPECT_FALSE(c.step.test->paired) << "a seed does nothing to time";
  // One seed that only one side has: nothing is paired, and the change drowns in what seeds do.
  const TrainingComparison apart = compared(a, runs_of_seeds({3, 1, 4, 5}, 0.01, 2));
  EXPECT_FALSE(apart.paired);
  EXPECT_EQ(apart.learning, LearningChange::kNoDifference);
  EXPECT_THAT(apart.learning_sentence, HasSubstr("Welch's t over seeds, 4 and 4 runs"));
}

TEST(CompareTraining, PairedSeedsDifferNoMoreOftenThanTheLevelSays) {
  int claimed = 0;
  constexpr int kTrials = 200;
  for (uint64_t i = 0; i < kTrials; ++i)
    claimed +=
        compared(runs_of_seeds({1, 2, 3}, 0, 10 * i), runs_of_seeds({1, 2, 3}, 0, 10 * i + 1)).learning ==
                LearningChange::kNoDifference
            ? 0
            : 1;
  EXPECT_LT(claimed, kTrials / 10);
}

TEST(CompareTraining, SeedsOfOneRecipeDifferNoMoreOftenThanTheLevelSays) {
  int claimed = 0;
  constexpr int kTrials = 200;
  for (uint64_t i = 0; i < kTrials; ++i) {
    const TrainingComparison c =
        compared(runs({.steps = 60}, 10 * i + 1, 3), runs({.steps = 60}, 10 * i + 6, 3));
    claimed += c.learning == LearningChange::kNoDifference ? 0 : 1;
  }
  EXPECT_LT(claimed, kTrials / 10);
}

TEST(CompareTraining, NoDifferenceSaysWhatItLeavesOpen) {
  const TrainingComparison c = compared(runs({}, 1, 3), runs({}, 21, 3));
  ASSERT_EQ(c.learning, LearningChange::kNoDifference) << c.learning_sentence;
  EXPECT_THAT(c.learning_sentence, HasSubstr("would have been found four times in five"));
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("normally distributed")));
}

TEST(CompareTraining, ComparesWhatBothHaveSeen) {
  TrainingRun larger = training_run({.steps = 100});
  larger.batch = 64;
  larger.recipe[1].second = "64";
  const TrainingComparison c = compared({training_run()}, {larger});
  EXPECT_EQ(c.compared_steps, 100);
  EXPECT_FALSE(c.same_losses);
  // Along the same curve by share of the run: at the same samples the losses are the same but for noise.
  const LearningNumber& at_samples = number(c, "loss_at_samples");
  EXPECT_NEAR(at_samples.a.at(0), at_samples.b.at(0), 0.1);
  const LearningNumber& at_step = number(c, "loss_at_step");
  EXPECT_GT(at_step.a.at(0), at_step.b.at(0) + 0.1);
  ASSERT_EQ(c.recipe.size(), 1U);
  EXPECT_EQ(c.recipe[0].a, "32");
  EXPECT_EQ(c.recipe[0].b, "64");
}

TEST(CompareTraining, TheMeanLossIsTheAreaUnderTheCurve) {
  TrainingRun flat = training_run(), half = training_run();
  for (TrainingStep& step : flat.log) step.loss = 3;
  for (TrainingStep& step : half.log) step.loss = step.step <= 100 ? 2 : 1;
  const LearningNumber row = number(compared({flat}, {half}), "mean_loss");
  EXPECT_NEAR(row.a.at(0), 3, 1e-9);
  EXPECT_NEAR(row.b.at(0), 1.5, 0.02);
  EXPECT_EQ(number(compared({flat}, {half}), "loss_at_step").b.at(0), 1);
}

TEST(CompareTraining, RunsThatNeverReachedTheTargetAreNotAveraged) {
  std::vector<TrainingRun> good = runs({}, 1, 3), mixed = runs({}, 11, 3);
  for (std::vector<TrainingRun>* side : {&good, &mixed})
    for (TrainingRun& run : *side) run.target = 0.9;
  for (TrainingEvaluation& each : mixed[1].evaluations) *each.metric *= 0.5;
  const LearningNumber row = number(compared(good, mixed), "steps_to_target");
  EXPECT_EQ(row.a.size(), 3U);
  EXPECT_EQ(row.b.size(), 2U);
  EXPECT_FALSE(row.test.has_value());
  EXPECT_EQ(row.change, LearningChange::kUnknown);
}

TEST(CompareTraining, OneRunTwiceIsNotTwoSeeds) {
  const TrainingRun run = training_run();
  std::vector<TrainingRun> other = runs({}, 1, 2);
  other[1].recipe[1].second = "64";
  const TrainingComparison c = compared({run, run}, other);
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("one run twice")));
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("differ in more than their seeds")));
}

TEST(CompareTraining, SaysWhichRunsEndedEarlyAndWhatElseDiffers) {
  TrainingRun stopped = training_run({.steps = 50});
  stopped.end = RunEnd::kStopped;
  stopped.steps = 200;
  stopped.environment.threads = 8;
  const TrainingComparison c = compared({training_run()}, {stopped});
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("ended at step 50 of 200")));
  EXPECT_THAT(c.caveats, ::testing::Contains(HasSubstr("threads differ: 2 and 8")));
}

TEST(CompareTraining, ARunWithoutStepsOrFiniteLossesIsNoCrash) {
  TrainingRun empty = training_run(), lost = training_run({.steps = 3});
  empty.log.clear();
  EXPECT_THAT(compare_training({{empty}}, {{empty}}).error().message, HasSubstr("no step"));
  for (TrainingStep& step : lost.log) step.loss = NAN;
  lost.evaluations.clear();
  const TrainingComparison c = compared({lost}, {lost});
  EXPECT_THAT(c.learning_sentence, HasSubstr("nothing to compare"));
}

}  // namespace
}  // namespace hone::analyze
