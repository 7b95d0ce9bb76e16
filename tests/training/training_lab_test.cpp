// hone lab on a recipe: what its judge catches and forgives, and the experiment from end to end.
#include "lab/training/training_lab.h"

#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/testing/source_folder.h"
#include "lab/training/curve_judge.h"
#include "lab/training/fit_run.h"
#include "lab/training/input_trials.h"
#include "lab/training/setting_trials.h"
#include "lab/training/setup.h"
#include "runtime/make_provider.h"
#include "runtime/testing/half_provider.h"

namespace hone::training {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The step of a recipe as a plan, with what a judge needs of it.
struct Step {
  explicit Step(const model::Recipe& recipe, std::unique_ptr<const runtime::Provider> of = nullptr)
      : provider(of ? std::move(of) : *runtime::make_provider("cpu", {.threads = 1})) {
    auto opened = lab::open_training(recipe);
    if (!opened.ok()) throw std::runtime_error(opened.error().message);
    setup = *std::move(opened);
    for (int i = 0; i < 4; ++i) batches.push_back(*setup.batches->next());
    fields = setup.program.options.fields;
    const graph::Graph& graph = setup.program.step;
    for (const graph::ValueId id : graph.inputs()) {
      const std::string& name = graph.value(id).name;
      for (std::size_t f = 0; f < fields.size(); ++f)
        if (name == graph::kDataPrefix + fields[f].name) inputs.push_back(batches[0].tensors[f]);
      if (!name.starts_with(graph::kDataPrefix)) inputs.push_back(setup.program.initial.at(name));
    }
    plan = *runtime::Plan::compile(graph, *provider, {.autotune = false});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!plan->write(i, inputs[i]).ok()) throw std::runtime_error("inputs do not fit");
  }

  lab::TrainingSetup setup;
  std::vector<data::Batch> batches;
  std::vector<graph::BatchField> fields;
  std::vector<Tensor> inputs;
  std::unique_ptr<const runtime::Provider> provider;
  std::unique_ptr<runtime::Plan> plan;
};

lab::CurveJudge judge_of(const Step& step) {
  lab::CurveJudgeOptions options;
  options.seconds = 0.05;
  options.most_steps = 12;
  lab::CurveJudge judge(step.batches, step.fields, options);
  EXPECT_TRUE(judge.prepare(step.setup.program.step, step.inputs).ok());
  return judge;
}

TEST(CurveJudge, PassesTheSameStepAndLeavesThePlanAsItWas) {
  const Step step(tiny_digits());
  lab::CurveJudge judge = judge_of(step);
  ASSERT_TRUE(judge.see_unchanged(*step.plan).ok());
  const auto report = judge.check(*step.plan, 0);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed) << report->detail;
  EXPECT_EQ(report->max_rel_err, 0) << "the same kernels on the same numbers";
  const auto curves = judge.curves();
  ASSERT_GE(curves[0].changed.size(), 3U);
  EXPECT_EQ(curves[0].changed, curves[0].unchanged);
  // What that moves may be less than a loss's last place, not than all of the norm's.
  EXPECT_TRUE(curves[0].disturbed != curves[0].unchanged || curves[1].disturbed != curves[1].unchanged)
      << "weights in their last place move something";
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    EXPECT_TRUE(same_tensor(*step.plan->read_input(i), step.inputs[i])) << i;
}

// What a wrong gradient rule, or a moment that is not kept, looks like.
TEST(CurveJudge, CatchesAStepThatLearnsOtherwise) {
  const Step step(tiny_digits());
  lab::CurveJudge judge = judge_of(step);
  ASSERT_TRUE(judge.see_unchanged(*step.plan).ok());
  for (const char* change : {"optimizer.rate=1.05e-2", "optimizer.beta2=0.99", "loss.smoothing=0.01"}) {
    const Step changed(tiny_digits({change}));
    const auto report = judge.check(*changed.plan, 0);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_FALSE(report->passed) << change << ": " << report->detail;
  }
}

TEST(CurveJudge, SaysThatALossThatIsNotFiniteJudgesNothing) {
  const Step step(
      tiny_digits({"optimizer.kind=sgd", "optimizer.rate=1e30", "train.clip=0", "schedule.warmup=0"}));
  lab::CurveJudge judge = judge_of(step);
  const Status seen = judge.see_unchanged(*step.plan);
  ASSERT_FALSE(seen.ok());
  EXPECT_THAT(seen.error().message, HasSubstr("does not stay finite"));
}

lab::TrainingLab lab_of(const model::Recipe& recipe, double budget_s) {
  const auto provider = *runtime::make_provider("cpu", {.threads = 1});
  const Rate flops{5e10, 5e10, 5e10}, bytes{1e10, 1e10, 1e10};
  Roofs roofs;
  roofs.threads = 1;
  roofs.compute = {{DType::kF32, "fma", 1, flops}, {DType::kF32, "gemm", 1, flops}};
  roofs.memory = {{"L2", "copy", 1, 2e6, bytes}, {"DRAM", "copy", 1, 0, bytes}};
  lab::ExperimentOptions options;
  options.budget_s = budget_s;
  options.model_path = recipe.file;
  auto result = lab::run_training_lab(recipe, *provider, lab::describe_machine(), roofs, options);
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

TEST(TrainingLab, MeasuresExplainsChangesAndProvesAStep) {
  const lab::TrainingLab done = lab_of(tiny_digits(), 4);
  const analyze::LabReport& report = done.experiment.report;
  EXPECT_TRUE(report.result.passed);
  double ledger = 0;
  for (const analyze::LedgerRow& row : report.baseline.ledger) ledger += row.ms;
  EXPECT_NEAR(ledger, report.baseline.step.ms.median, 0.005 * report.baseline.step.ms.median);
  EXPECT_EQ(report.baseline.top.size(), 5U);
  // Whether steps waited for data depends on what else the machine does.
  EXPECT_THAT(report.settings,
              Contains(Field(&analyze::PassRow::name, AnyOf("input", StartsWith("workers = ")))));
  EXPECT_THAT(report.settings, Contains(Field(&analyze::PassRow::name, "deterministic = false")));
  for (const analyze::PassRow& row : report.passes) EXPECT_FALSE(row.undecided) << row.name;
  ASSERT_EQ(report.curves.size(), 2U);
  EXPECT_LE(report.result.max_rel_err, std::max(report.curves[0].allowed, report.curves[1].allowed));
  EXPECT_GT(report.model.parameters, 100);
  EXPECT_LT(report.model.inputs.size(), 4U) << "data, not every weight";
}

TEST(TrainingLab, GivesARecipeThatTrainsWithWhatWasKept) {
  const lab::TrainingLab done = lab_of(tiny_digits(), 3);
  const auto again = model::parse_recipe(done.recipe.resolved, "tuned.toml");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->train.deterministic, done.recipe.train.deterministic);
  EXPECT_EQ(again->train.without_passes, done.recipe.train.without_passes);
}

// The rows of the experiment are what was seen among other kernels: no row alone puts anything into the recipe.
struct Tried {
  explicit Tried(model::Recipe of, const std::vector<analyze::PassRow>& experiment,
                 std::unique_ptr<const runtime::Provider> on = nullptr)
      : recipe(std::move(of)), step(recipe, std::move(on)), judge(judge_of(step)) {
    if (!judge.see_unchanged(*step.plan).ok()) throw std::runtime_error("no curve");
    lab::SettingTrialOptions options;
    options.seconds = 1;
    auto tried = lab::try_settings(recipe, step.setup, *step.provider, cache, experiment, judge, options);
    if (!tried.ok()) throw std::runtime_error(tried.error().message);
    trials = *std::move(tried);
  }
  model::Recipe recipe;
  Step step;
  lab::CurveJudge judge;
  runtime::TimingCache cache;
  lab::SettingTrials trials;
};

analyze::PassRow seen(const std::string& group, double gain_ms, bool kept) {
  analyze::PassRow row;
  row.name = group;
  row.changed = true;
  row.kept = kept;
  row.measured_gain_ms = analyze::Estimate{gain_ms, gain_ms - 0.01, gain_ms + 0.01};
  return row;
}

const analyze::PassRow* row_named(const lab::SettingTrials& trials, const std::string& name) {
  for (const analyze::PassRow& row : trials.rows)
    if (row.name == name) return &row;
  return nullptr;
}

TEST(SettingTrials, MeasureWhatTheExperimentAdvisesOnTheStepThatTrains) {
  const Tried tried(tiny_digits(), {seen("fuse", -0.1, false), seen("layout", 0.2, true)});
  ASSERT_GE(tried.trials.rows.size(), 2U);
  EXPECT_GT(tried.trials.step_ms.median, 0);
  EXPECT_EQ(tried.trials.first != nullptr, tried.trials.speedup.has_value());
  const analyze::PassRow& without = tried.trials.rows[0];
  EXPECT_EQ(without.name, "without fuse");
  EXPECT_NEAR(without.predicted_gain_ms, 0.1, 1e-9);
  ASSERT_TRUE(without.measured_gain_ms);
  EXPECT_EQ(without.kept, tried.trials.train.without_passes == std::vector<std::string>{"fuse"})
      << "a pass is left out because that was faster here, and only then";
  EXPECT_EQ(without.kept, without.measured_gain_ms->low > 0) << without.reason;
  const analyze::PassRow& chosen = tried.trials.rows[1];
  EXPECT_EQ(chosen.name, "deterministic = false");
  EXPECT_FALSE(chosen.is_predicted);
  const bool all_stays =
      row_named(tried.trials, "= the recipe as written") == nullptr || tried.trials.speedup;
  if (all_stays) {
    EXPECT_EQ(chosen.kept, !tried.trials.train.deterministic);
  }
}

// Two states more than the recipe's own step has, put beside its course all the same.
TEST(SettingTrials, TryFp16WithAScaledLossWhereItWasAskedFor) {
  const Tried tried(tiny_digits(), {seen("fp16", -0.1, false)},
                    std::make_unique<runtime::testing::HalfProvider>());
  const analyze::PassRow* row = row_named(tried.trials, "precision = fp16");
  ASSERT_NE(row, nullptr);
  ASSERT_TRUE(row->measured_gain_ms) << row->reason;
  EXPECT_EQ(row->numerics, "lossy");
  EXPECT_THAT(row->reason, HasSubstr("products in fp16, the loss scaled by "));
  EXPECT_GT(row->max_rel_err, 0) << "fp16 rounds otherwise than f32";
  EXPECT_LT(row->max_rel_err, 0.05) << "and learns the same: " << row->reason;
  EXPECT_EQ(row->kept, tried.trials.train.precision == "fp16" || !tried.trials.speedup) << row->reason;
  for (const char* name : {"accumulate = 2", "deterministic = false"}) {
    const analyze::PassRow* next = row_named(tried.trials, name);
    ASSERT_NE(next, nullptr) << name;
    EXPECT_THAT(next->reason, ::testing::Not(HasSubstr("other states"))) << name;
  }
}

TEST(SettingTrials, TakeTheScaleBackWithFp16) {
  analyze::PassRow row = seen("fp16", -0.1, false);
  const Tried tried(tiny_digits({"train.precision=\"fp16\""}), {row},
                    std::make_unique<runtime::testing::HalfProvider>());
  const analyze::PassRow* back = row_named(tried.trials, "precision = f32");
  ASSERT_NE(back, nullptr);
  EXPECT_TRUE(back->measured_gain_ms) << back->reason;
}

TEST(CurveJudge, BeginsWithTheScaleThatTheGradientsBear) {
  const model::Recipe recipe = tiny_digits({"train.precision=\"fp16\""});
  Step step(recipe, std::make_unique<runtime::testing::HalfProvider>());
  constexpr float kTooLarge = 1 << 26;  // for f16, whose largest number is 65504
  step.inputs[lab::input_named(step.setup.program.step, graph::kLossScaleState)] =
      Tensor::scalar_f32(kTooLarge);
  lab::CurveJudge judge = judge_of(step);
  ASSERT_TRUE(judge.see_unchanged(*step.plan).ok());
  const lab::SessionOptions session = lab::session_options_of(recipe.train, nullptr);
  auto narrow = lab::step_that_trains(recipe, step.setup, step.setup.program, *step.provider, session);
  ASSERT_TRUE(narrow.ok()) << narrow.error().message;
  const auto plan = *runtime::Plan::compile(*std::move(narrow), *step.provider, {.autotune = false});
  const auto scale = judge.settle_loss_scale(*plan);
  ASSERT_TRUE(scale.ok()) << scale.error().message;
  EXPECT_LT(*scale, kTooLarge);
  const auto report = judge.check(*plan, 0.1);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->passed) << report->detail;
}

TEST(SettingTrials, CutTheSameBatchIntoMicroBatches) {
  const Tried tried(tiny_digits({"train.accumulate=2"}), {});
  for (const char* name : {"accumulate = 1", "accumulate = 4", "accumulate = 8"}) {
    const analyze::PassRow* row = row_named(tried.trials, name);
    ASSERT_NE(row, nullptr) << name;
    if (row->undecided) continue;  // there was no time on a busy machine
    EXPECT_TRUE(row->measured_gain_ms) << name;
    EXPECT_THAT(row->reason, HasSubstr("the batch of 8 in ")) << name;
    EXPECT_THAT(row->reason, HasSubstr("in an arena of ")) << name;
    EXPECT_THAT(row->reason, ::testing::Not(HasSubstr("relative"))) << "the same course: " << row->reason;
    if (row->kept) {
      EXPECT_GT(row->measured_gain_ms->low, 0) << "without a bound on memory only time counts";
    }
  }
  EXPECT_EQ(row_named(tried.trials, "accumulate = 2"), nullptr) << "which the recipe has";
  EXPECT_EQ(tried.trials.train.batch, 8);
}

TEST(SettingTrials, PredictOtherMicroBatchesByWhatTheirOperatorsTakeAtLeast) {
  const Rate flops{5e10, 5e10, 5e10}, bytes{1e10, 1e10, 1e10};
  Roofs roofs;
  roofs.threads = 1;
  roofs.compute = {{DType::kF32, "gemm", 1, flops}};
  roofs.memory = {{"DRAM", "copy", 1, 0, bytes}};
  Tried tried(tiny_digits({"train.deterministic=false"}), {});
  lab::SettingTrialOptions options;
  options.seconds = 2;
  options.roofs = &roofs;
  const auto again = lab::try_settings(tried.recipe, tried.step.setup, *tried.step.provider, tried.cache, {},
                                       tried.judge, options);
  ASSERT_TRUE(again.ok()) << again.error().message;
  const analyze::PassRow* row = row_named(*again, "accumulate = 2");
  ASSERT_NE(row, nullptr);
  if (!row->undecided) {
    EXPECT_TRUE(row->is_predicted);
    EXPECT_LT(row->predicted_gain_ms, 0) << "weights are read twice, and nothing lies nearer";
  }
}

TEST(SettingTrials, LeaveMicroBatchesOfBatchNormalisationsAlone) {
  const model::Recipe recipe = *model::read_recipe(
      source_folder() / "recipes/cells_unet.toml",
      {"model.sizes={size=16, channels=1, base=2, levels=1, classes=1}", "train={steps=4, batch=4}",
       "data.sizes={samples=16, channels=1, height=16, width=16}"});
  const Tried tried(recipe, {});
  const analyze::PassRow* row = row_named(tried.trials, "accumulate");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->reason, HasSubstr("batch normalisations take their statistics from each micro-batch"));
  EXPECT_FALSE(row->changed);
  EXPECT_EQ(row_named(tried.trials, "accumulate = 2"), nullptr);
}

TEST(SettingTrials, TakeUpAgainWhatTheRecipeLeavesOut) {
  const Tried tried(tiny_digits({"train.without_passes=[\"layout\"]", "train.deterministic=false"}),
                    {seen("layout", 0.2, true)});
  ASSERT_GE(tried.trials.rows.size(), 1U);
  EXPECT_EQ(tried.trials.rows[0].name, "with layout");
  if (row_named(tried.trials, "= the recipe as written") == nullptr) {
    EXPECT_EQ(tried.trials.rows[0].kept, tried.trials.train.without_passes.empty());
  }
  if (tried.trials.speedup) {
    EXPECT_GT(tried.trials.speedup->low, 1);
  }
}

TEST(SettingTrials, RunTheStepThatFitsIntoTheRecipesMemory) {
  const testing_support::TemporaryFolder folder;
  std::ofstream(folder / "text.txt") << std::string(4000, 'h') << "one";
  const auto recipe_in = [&](const std::string& memory) {
    std::vector<std::string> overrides = {"model.sizes.layers=4"};
    if (!memory.empty()) overrides.push_back("train.memory=\"" + memory + "\"");
    return tiny_gpt2((folder / "text.txt").string(), overrides);
  };
  const Tried whole(recipe_in(""), {});
  const std::size_t arena = whole.trials.plan->memory().arena_bytes;
  const auto fit =
      lab::fit_run(whole.recipe, whole.step.setup, *whole.step.provider,
                   lab::session_options_of(whole.recipe.train, nullptr), {std::size_t{1} << 40, "much"});
  ASSERT_TRUE(fit.ok());
  Tried bounded(recipe_in(fmt::format("{} B", fit->memory.bounded() - arena / 10)), {});
  EXPECT_LT(bounded.trials.plan->memory().arena_bytes, arena);

  // What the bound costs is told, and stays.
  const auto tell = [&](Tried& of) {
    lab::SettingTrialOptions options;
    options.seconds = 1;
    options.limit = lab::memory_limit(of.recipe.train.memory, *of.step.provider->device());
    const lab::MemoryFit kept =
        *lab::fit_run(of.recipe, of.step.setup, *of.step.provider,
                      lab::session_options_of(of.recipe.train, nullptr), options.limit);
    options.fit = &kept;
    return *lab::try_settings(of.recipe, of.step.setup, *of.step.provider, of.cache, {}, of.judge, options);
  };
  const lab::SettingTrials told = tell(bounded);
  const analyze::PassRow* cost = row_named(told, "without recomputation");
  ASSERT_NE(cost, nullptr);
  EXPECT_THAT(cost->reason, HasSubstr("run again"));
  EXPECT_FALSE(cost->kept);
  EXPECT_EQ(told.train.memory, bounded.recipe.train.memory);
  Tried free(recipe_in(""), {});
  const lab::SettingTrials not_bound = tell(free);
  ASSERT_NE(row_named(not_bound, "memory"), nullptr);
  EXPECT_THAT(row_named(not_bound, "memory")->reason, HasSubstr("does not bind: the run takes "));
}

// Samples that are drawn by the step's own thread are waited for, and a cache of all of them ends that.
TEST(InputTrials, MeasureACacheWhereStepsWait) {
  const auto recipe_with = [](const std::string& cache, const std::string& steps) {
    return *model::read_recipe(
        source_folder() / "recipes/cells_unet.toml",
        {"model.sizes={size=32, channels=1, base=2, levels=1, classes=1}",
         "train={steps=" + steps + ", batch=4}", "data.workers=0", "data.cache_mb=" + cache,
         "data.sizes={samples=48, channels=1, height=32, width=32}"});
  };
  const auto trials_of = [](const model::Recipe& recipe) {
    Step step(recipe);
    lab::InputTrialOptions options;
    options.seconds = 4;
    options.cache_bytes = std::size_t{1} << 30;
    return *lab::try_input_settings(recipe, step.setup, *step.plan, options);
  };
  const lab::InputTrials kept = trials_of(recipe_with("0", "100"));
  const analyze::PassRow& row = kept.rows.back();
  if (row.name != "cache") {  // there was no time on a busy machine
    EXPECT_EQ(row.name, "cache_mb = 1");
    EXPECT_TRUE(row.kept) << row.reason;
    EXPECT_GT(row.predicted_gain_ms, 0);
    EXPECT_GT(row.measured_gain_ms->low, 0);
    EXPECT_EQ(kept.cache_mb, 1);
  }
  const lab::InputTrials once = trials_of(recipe_with("0", "5"));
  EXPECT_THAT(once.rows.back().reason, HasSubstr("reads no sample twice"));
  const lab::InputTrials holds = trials_of(recipe_with("1000", "100"));
  EXPECT_THAT(holds.rows.back().reason, AnyOf(HasSubstr("cache_mb = 1000 keeps them from the second of"),
                                              HasSubstr("nothing to gain")));
  EXPECT_EQ(holds.cache_mb, 1000);
}

TEST(SettingTrials, EndWhenTheyAreInterrupted) {
  const model::Recipe recipe = tiny_digits();
  const Step step(recipe);
  lab::CurveJudge judge = judge_of(step);
  ASSERT_TRUE(judge.see_unchanged(*step.plan).ok());
  runtime::TimingCache cache;
  lab::SettingTrialOptions options;
  options.seconds = 60;
  int asked = 0;
  options.keep_going = [&] { return ++asked < 200; };
  const auto tried = lab::try_settings(recipe, step.setup, *step.provider, cache, {}, judge, options);
  ASSERT_FALSE(tried.ok());
  EXPECT_EQ(tried.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace hone::training
