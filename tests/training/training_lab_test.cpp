// hone lab on a recipe: what its judge catches and forgives, and the experiment from end to end.
#include "lab/training/training_lab.h"

#include <set>

#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>

#include "lab/training/curve_judge.h"
#include "lab/training/setup.h"
#include "runtime/make_provider.h"

namespace hone::training {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

// The step of a recipe as a plan, with what a judge needs of it.
struct Step {
  explicit Step(const model::Recipe& recipe) {
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
    provider = *runtime::make_provider("cpu", {.threads = 1});
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
  EXPECT_NE(curves[0].disturbed, curves[0].unchanged) << "weights in their last place move something";
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
  EXPECT_THAT(report.settings, Contains(Field(&analyze::PassRow::name, "input")));
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
  std::set<std::string> slower;
  for (const analyze::PassRow& row : done.experiment.report.passes)
    if (row.changed && !row.kept && row.measured_gain_ms && row.measured_gain_ms->high < 0)
      slower.insert(row.name);
  EXPECT_EQ(std::set<std::string>(again->train.without_passes.begin(), again->train.without_passes.end()),
            slower);
}

}  // namespace
}  // namespace hone::training
