// The steps of a training run that are recorded: what their operators say, and that waiting for data is seen.
#include <map>
#include <set>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>

#include "analyze/fabricate.h"
#include "core/file.h"
#include "data/testing/write_images.h"
#include "lab/training/run_summary.h"
#include "lab/training/trainer.h"
#include "runtime/testing/providers.h"
#include "trace/run_folder.h"

namespace hone::training {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

Result<lab::TrainingResult> recorded_training(const model::Recipe& recipe, const fs::path& out,
                                              bool resume = false, int64_t stop_behind = -1) {
  lab::TrainerOptions options;
  options.out = out;
  options.resume = resume;
  options.threads = 1;
  options.roofs = analyze::fabricate::round_roofs();
  int64_t step = 0;
  options.on_step = [&](const lab::TrainingReport& report) { step = report.step; };
  options.should_stop = [&] { return step == stop_behind; };
  return lab::train(recipe, options);
}

trace::Trace trace_of(const fs::path& run) {
  auto read = trace::read_run_folder(run);
  if (!read.ok()) throw std::runtime_error(read.error().message);
  return std::move(read->trace);
}

const analyze::LedgerRow* ledger_row(const analyze::Analysis& analysis, analyze::Cause cause) {
  for (const analyze::LedgerRow& row : analysis.ledger)
    if (row.cause == cause) return &row;
  return nullptr;
}

TEST(RecordedSteps, OperatorsSayWhichPartOfTheStepTheyAre) {
  const TemporaryFolder folder;
  ASSERT_TRUE(recorded_training(tiny_digits(), folder / "run").ok());
  const trace::Trace trace = trace_of(folder / "run");
  std::map<std::string, std::set<trace::Phase>> phases;  // by the node of the model
  std::map<trace::Phase, double> flops;
  for (const trace::Operator& op : trace.operators) {
    EXPECT_NE(op.phase, trace::Phase::kUnknown) << op.name;
    flops[op.phase] += op.flops;
    EXPECT_FALSE(op.provenance.empty()) << op.name;
    for (const std::string& name : op.provenance) {
      EXPECT_THAT(name, ::testing::Not(HasSubstr("<"))) << "marks are no names of the model";
      phases[name].insert(op.phase);
    }
    if (op.kind == "hone.AdamW") {
      EXPECT_EQ(op.phase, trace::Phase::kOptimizer);
    }
    if (op.name == "conv1/Conv") {
      EXPECT_EQ(op.phase, trace::Phase::kForward);
      EXPECT_EQ(op.module, "conv1");
      EXPECT_GT(op.flops, 0);
      EXPECT_GT(op.bytes(), 0);
    }
  }
  EXPECT_THAT(phases["conv2/Conv"], Contains(trace::Phase::kForward));
  EXPECT_THAT(phases["conv2/Conv"], Contains(trace::Phase::kBackward));
  EXPECT_GT(flops[trace::Phase::kBackward], flops[trace::Phase::kForward]);
  for (const trace::Phase phase : {trace::Phase::kLoss, trace::Phase::kOptimizer})
    EXPECT_TRUE(flops.contains(phase)) << trace::phase_name(phase);
}

TEST(RecordedSteps, AreExplainedByPhase) {
  const TemporaryFolder folder;
  ASSERT_TRUE(recorded_training(tiny_digits({"train.accumulate=2"}), folder / "run").ok());
  const auto run = lab::read_training_run(folder / "run");
  ASSERT_TRUE(run.ok() && run->recorded);
  std::set<trace::Phase> phases;
  double sum = 0;
  for (const analyze::PhaseShare& each : run->recorded->phases) {
    phases.insert(each.phase);
    sum += each.ms;
  }
  EXPECT_EQ(phases, (std::set{trace::Phase::kForward, trace::Phase::kLoss, trace::Phase::kBackward,
                              trace::Phase::kOptimizer}));
  EXPECT_LE(sum, run->recorded->step.ms.median * 1.001);
  double rows = 0;
  for (const analyze::LedgerRow& row : run->recorded->ledger) rows += row.ms;
  EXPECT_NEAR(rows, run->recorded->step.ms.median, 0.005 * rows);
}

// Images of which a batch takes far longer to decode than to learn from, and nothing keeps them.
model::Recipe slow_pictures(const TemporaryFolder& folder) {
  for (int label = 0; label < 3; ++label) {
    const fs::path kind = folder / ("pictures/class" + std::to_string(label));
    fs::create_directories(kind);
    for (int i = 0; i < 6; ++i)
      data::testing::write_png(kind / (std::to_string(i) + ".png"),
                               data::testing::patterned_image(DType::kU8, 1, 1100, 1300, label * 6 + i));
  }
  const std::string text = R"([model]
zoo = "digits_cnn"
sizes = { size = 12, base = 4 }
[data]
source = "folders"
path = "pictures"
cache_mb = 0
validation = 0.2
[data.augment]
crop = [12, 12]
[loss]
kind = "cross-entropy"
[train]
steps = 12
batch = 4
)";
  auto recipe = model::parse_recipe(text, folder / "slow.toml");
  if (!recipe.ok()) throw std::runtime_error(recipe.error().message);
  return *std::move(recipe);
}

TEST(RecordedSteps, WaitingForDataIsARowOfTheLedgerWithTheStageThatLimits) {
  const TemporaryFolder folder;
  const auto trained = recorded_training(slow_pictures(folder), folder / "run");
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(trained->limiting_stage, "decode");
  const auto run = lab::read_training_run(folder / "run");
  ASSERT_TRUE(run.ok() && run->recorded);
  const analyze::LedgerRow* const input = ledger_row(*run->recorded, analyze::Cause::kInput);
  ASSERT_NE(input, nullptr);
  EXPECT_GT(input->share, 0.5);
  EXPECT_THAT(input->evidence, Contains(HasSubstr("input: decode")));
  if (run->recorded->verdict.given) {  // a busy machine gives no advice
    EXPECT_THAT(input->fix, HasSubstr("[data] workers"));
  }
  // What the threads that read ahead did stands beside it, and is no operator of the step.
  const trace::Trace trace = trace_of(folder / "run");
  std::set<std::string> regions;
  int steps = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.spans.category[i] == trace::Category::kStep) ++steps;
    if (trace.spans.category[i] == trace::Category::kRegion)
      regions.insert(std::string(trace.name(trace.spans.row(i))));
  }
  EXPECT_EQ(steps, 7);
  for (const char* name : {"plan", "write batch", "decode"}) EXPECT_TRUE(regions.contains(name)) << name;
  EXPECT_EQ(trace.meta.dropped, 0U);
  // The page and the log say the same.
  const std::string page = *read_file(folder / "run/report.html");
  EXPECT_THAT(page, HasSubstr("input: decode"));
  double wait = 0, whole = 0;
  for (const analyze::TrainingStep& step : run->log) {
    wait += step.input_wait_ms;
    whole += step.step_ms;
  }
  EXPECT_GT(wait, 0.5 * whole);
}

// --- waiting beside a device that is busy ---

// Of the log: what each step waited for its batch, ms. Reading batches takes most of the run all the same.
std::vector<double> waits_on_device(const model::Recipe& recipe, const fs::path& out, bool recorded) {
  lab::TrainerOptions options;
  options.out = out;
  options.provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  options.device = "cuda";
  if (recorded) options.roofs = analyze::fabricate::round_roofs();
  const auto trained = lab::train(recipe, options);
  if (!trained.ok()) throw std::runtime_error(trained.error().message);
  const auto run = lab::read_training_run(out);
  if (!run.ok()) throw std::runtime_error(run.error().message);
  std::vector<double> waits;
  double steps_ms = 0;
  for (const analyze::TrainingStep& step : run->log) {
    waits.push_back(step.input_wait_ms);
    steps_ms += step.step_ms;
  }
  EXPECT_GT(steps_ms, 100);
  return waits;
}

// The driver without a GPU computes when somebody waits for it: it has always something to do while batches are read.
TEST(RecordedSteps, WaitingIsNoneWhereTheDeviceHasSomethingToDo) {
  const TemporaryFolder folder;
  const model::Recipe recipe = slow_pictures(folder);
  const std::vector<double> waits = waits_on_device(recipe, folder / "recorded", true);
  ASSERT_EQ(waits.size(), 12U);
  for (std::size_t step = 4; step < 10; ++step) EXPECT_EQ(waits[step], 0) << step;
}

// By the device's own clock, which stands still while it has nothing to do.
TEST(RecordedSteps, WaitingOfStepsGivenAheadIsWhatTheDeviceStoodIdleFor) {
  const TemporaryFolder folder;
  const model::Recipe recipe = slow_pictures(folder);
  const cuda::testing::Faults clock("clock");
  const std::vector<double> waits = waits_on_device(recipe, folder / "ahead", false);
  ASSERT_EQ(waits.size(), 12U);
  for (std::size_t step = 1; step < waits.size(); ++step) EXPECT_LT(waits[step], 0.1) << step;
}

TEST(RecordedSteps, OfARunThatWentOnAreWarmOnesOfItsLastPart) {
  const TemporaryFolder folder;
  ASSERT_TRUE(recorded_training(tiny_digits(), folder / "run", false, 12).ok());
  const auto first = lab::read_training_run(folder / "run");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->end, analyze::RunEnd::kStopped);
  ASSERT_TRUE(first->recorded.has_value());
  ASSERT_TRUE(recorded_training(tiny_digits(), folder / "run", true).ok());
  const auto whole = lab::read_training_run(folder / "run");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->end, analyze::RunEnd::kDone);
  EXPECT_EQ(whole->log.size(), 30U) << "of both parts";
  EXPECT_EQ(whole->recorded->step.count, 7);
  EXPECT_THAT(*read_file(folder / "run/report.html"), HasSubstr("Trained to its end"));
}

TEST(RecordedSteps, ARunThatFailsLeavesAPageThatSaysWhy) {
  const TemporaryFolder folder;
  const auto failed = recorded_training(tiny_digits({"optimizer.rate=1e30", "train.clip=0"}), folder / "run");
  ASSERT_FALSE(failed.ok());
  const auto run = lab::read_training_run(folder / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->end, analyze::RunEnd::kFailed);
  EXPECT_EQ(run->failure, failed.error().message);
  EXPECT_THAT(*read_file(folder / "run/report.html"), HasSubstr("Failed behind step"));
}

}  // namespace
}  // namespace hone::training
