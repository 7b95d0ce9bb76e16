// Memory in training: what is foretold is what is taken, a budget is kept, and the numbers are the same bit by bit.
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/cli/run_program.h"
#include "tests/training/mlp_step.h"
#include "tests/training/tiny_recipe.h"
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/memory_budget.h"
#include "core/testing/source_folder.h"
#include "graph/builder.h"
#include "lab/training/trainer.h"
#include "model/onnx/writer.h"
#include "passes/recompute.h"
#include "runtime/make_provider.h"
#include "runtime/plan.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

struct MeasuredRun {
  lab::TrainingMemoryReport memory;
  std::vector<double> losses;
  std::vector<std::string> notes;
  double validation_loss = 0;
};

// `pause`: at each step, in which the threads that read get ahead.
Result<MeasuredRun> try_run(const model::Recipe& recipe, const fs::path& out,
                            std::chrono::milliseconds pause = {}) {
  MeasuredRun run;
  lab::TrainerOptions options;
  options.out = out;
  options.threads = 1;
  options.on_step = [&](const lab::TrainingReport& report) {
    run.losses.push_back(report.loss);
    std::this_thread::sleep_for(pause);
  };
  options.on_note = [&](const std::string& note) { run.notes.push_back(note); };
  HONE_ASSIGN(const lab::TrainingResult result, lab::train(recipe, options));
  run.memory = result.memory;
  if (result.evaluation) run.validation_loss = result.evaluation->loss;
  return run;
}

MeasuredRun run_of(const model::Recipe& recipe, const fs::path& out, std::chrono::milliseconds pause = {}) {
  auto run = try_run(recipe, out, pause);
  if (!run.ok()) throw std::runtime_error(run.error().message);
  return *std::move(run);
}

template <typename T>
T got(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// --- what is foretold ---

// What is foretold is what can be there at once. Whether all of it is depends on when threads get a core: a checkpoint may
// be on the disk, and a batch used, before the next batch is read. So runs are given more and more time to read ahead, the
// most of them counts, and none may take more.
MeasuredRun expect_within_two_percent(const model::Recipe& recipe, const fs::path& folder) {
  constexpr int kPauses[] = {0, 10, 30, 100, 300};  // ms
  double most = 0;
  MeasuredRun run;
  for (const int pause : kPauses) {
    run = run_of(recipe, folder / std::to_string(pause), std::chrono::milliseconds(pause));
    const auto predicted = static_cast<double>(run.memory.predicted.total());
    const double ratio = static_cast<double>(run.memory.measured_bytes) / predicted;
    EXPECT_LE(ratio, 1.02) << lab::memory_text(run.memory.predicted);
    most = std::max(most, ratio);
    if (most >= 0.98) break;
  }
  EXPECT_GE(most, 0.98) << lab::memory_text(run.memory.predicted);
  return run;
}

model::Recipe shipped(const std::string& name, const std::vector<std::string>& overrides) {
  return got(model::read_recipe(source_folder() / "recipes" / (name + ".toml"), overrides));
}

TEST(TrainingMemory, IsForetoldWithinTwoPercentForALanguageModel) {
  const TemporaryFolder folder;
  const MeasuredRun run = expect_within_two_percent(
      shipped("gpt2_tiny", {"train.steps=8", "train.evaluate_every=4", "checkpoint.every=3"}), folder.path());
  EXPECT_THAT(run.notes, ::testing::Contains(HasSubstr("memory: predicted ")));
}

TEST(TrainingMemory, IsForetoldWithinTwoPercentForAClassifier) {
  const TemporaryFolder folder;
  expect_within_two_percent(shipped("digits_cnn", {"data.sizes.samples=1500", "train.epochs=1",
                                                   "train.evaluate_every=9", "checkpoint.every=7"}),
                            folder.path());
}

TEST(TrainingMemory, IsForetoldWithinTwoPercentForASegmenter) {
  const TemporaryFolder folder;
  expect_within_two_percent(shipped("cells_unet", {"data.sizes.samples=48", "train.epochs=1",
                                                   "train.evaluate_every=2", "checkpoint.every=2"}),
                            folder.path());
}

TEST(TrainingMemory, OfActivationsIsThatOfOneMicroBatch) {
  const TemporaryFolder folder;
  const auto activations = [&](const std::string& parts) {
    const fs::path out = folder / parts;
    return static_cast<double>(run_of(shipped("gpt2_tiny", {"train.steps=1", "train.evaluate_every=0",
                                                            "train.batch=32", "train.accumulate=" + parts}),
                                      out)
                                   .memory.predicted.activations);
  };
  const double whole = activations("1");
  EXPECT_LT(activations("4"), 0.33 * whole) << "a quarter, the batch, and the gradients' sum";
  EXPECT_LT(activations("8"), 0.23 * whole);
}

// --- under a budget ---

// As text for [train] memory.
std::string bytes(std::size_t n) { return "train.memory=\"" + std::to_string(n) + "\""; }

// Trains without a budget and with `share` of the activations taken away.
void expect_same_numbers(const std::function<model::Recipe(const std::vector<std::string>&)>& recipe,
                         double share, int least_operators) {
  const TemporaryFolder folder;
  const MeasuredRun free = run_of(recipe({}), folder / "free");
  EXPECT_EQ(free.memory.recomputed, 0);
  const auto less = static_cast<std::size_t>(share * static_cast<double>(free.memory.predicted.activations));
  const std::size_t budget = free.memory.predicted.total() - less;
  const MeasuredRun bound = run_of(recipe({bytes(budget)}), folder / "bound");
  EXPECT_GE(bound.memory.recomputed, least_operators);
  EXPECT_GT(bound.memory.more_flops, 0);
  EXPECT_LE(bound.memory.predicted.total(), budget);
  constexpr double kBooks = 64 << 10;  // of small tensors, which count in a run of a megabyte
  EXPECT_LE(static_cast<double>(bound.memory.measured_bytes), 1.02 * static_cast<double>(budget) + kBooks);
  EXPECT_EQ(bound.losses, free.losses) << "bit by bit";
  EXPECT_EQ(bound.validation_loss, free.validation_loss);
  EXPECT_THAT(bound.notes, ::testing::Contains(HasSubstr("memory: recomputes ")));
}

TEST(MemoryBudget, LeavesTheNumbersOfAttentionAsTheyAre) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.txt") << std::string(3000, 'a') + "bcdefghij klmnop" + std::string(2000, 'q');
  const auto recipe = [&](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), {"model.sizes.layers=3", "model.sizes.hidden=32", "train.steps=6"});
    return tiny_gpt2((folder / "text.txt").string(), overrides);
  };
  expect_same_numbers(recipe, 0.1, 1);
  expect_same_numbers(recipe, 0.3, 5);
}

// Convolutions with batch normalisation and dropout, as an exporter writes them.
graph::Graph dropped_and_normalised() {
  graph::GraphBuilder b("net");
  int stream = 0;
  const auto weight = [&](const std::string& name, Shape shape, float least = -0.3F) {
    Tensor tensor(DType::kF32, std::move(shape));
    ++stream;
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.as<float>()[static_cast<std::size_t>(i)] =
          least + 0.6F * static_cast<float>((i * 37 + stream * 11) % 101) / 101;
    return b.constant(name, tensor);
  };
  graph::ValueId x =
      b.input("image", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("n"), 1, 12, 12}));
  int64_t channels = 1;
  for (const std::string name : {"a", "b", "c", "d"}) {
    x = b.add("Conv", {x, weight(name + ".weight", {8, channels, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}},
              name + ".conv");
    x = b.add("BatchNormalization",
              {x, weight(name + ".scale", {8}, 0.7F), weight(name + ".bias", {8}),
               weight(name + ".mean", {8}), weight(name + ".var", {8}, 0.7F)},
              {}, name + ".bn");
    x = b.add("Relu", {x}, {}, name + ".relu");
    x = b.add("Dropout", {x, b.constant(name + ".ratio", Tensor::scalar_f32(0.3F))}, {}, name + ".dropout");
    channels = 8;
  }
  x = b.add("GlobalAveragePool", {x});
  x = b.add("Flatten", {x});
  x = b.add("Gemm", {x, weight("dense.weight", {8, 10}), weight("dense.bias", {10})});
  b.rename(x, "logits");
  b.output(x);
  return got(std::move(b).finish());
}

// `expect` is given what makes the recipe.
void with_dropped_and_normalised(
    const std::function<void(const std::function<model::Recipe(std::vector<std::string>)>&)>& expect) {
  const TemporaryFolder folder;
  const fs::path onnx = folder / "net.onnx";
  ASSERT_TRUE(model::write_onnx(dropped_and_normalised(), onnx).ok());
  expect([&](std::vector<std::string> overrides) {
    std::string text = tiny_digits_text();
    text.replace(0, text.find("[data]"), "[model]\nonnx = \"" + onnx.string() + "\"\n");
    overrides.insert(overrides.end(), {"train.steps=8", "train.batch=32"});
    return got(model::parse_recipe(text, "net.toml", overrides));
  });
}

TEST(MemoryBudget, LeavesTheNumbersOfBatchNormalisationAndDropoutAsTheyAre) {
  with_dropped_and_normalised([](const auto& recipe) {
    expect_same_numbers(recipe, 0.15, 1);
    expect_same_numbers(recipe, 0.3, 4);
  });
}

// Statistics pass from one to the next, and the moving average of weights behind them.
TEST(MemoryBudget, LeavesTheNumbersOfMicroBatchesAsTheyAre) {
  with_dropped_and_normalised([](const auto& recipe) {
    const auto in_two = [&](std::vector<std::string> overrides) {
      overrides.push_back("train.accumulate=2");
      return recipe(overrides);
    };
    expect_same_numbers(in_two, 0.2, 2);
  });
}

TEST(MemoryBudget, LeavesTheNumbersOfAnMlpWithDropoutAsTheyAre) {
  const auto provider = got(runtime::make_provider("cpu", {.threads = 1}));
  const graph::Graph whole = mlp_step(DType::kF32);
  const auto train = [&](const graph::Graph& step) {
    runtime::PlanOptions options;
    options.autotune = false;
    const auto plan = got(runtime::Plan::compile(step, *provider, options));
    const std::vector<Tensor> values = initial_values(step);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(plan->write(i, values[i]).ok());
    std::vector<double> losses;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(plan->run().ok());
      losses.push_back(plan->read(0)->at(0));
    }
    return losses;
  };
  const auto free = train(whole);
  const auto most = got(passes::recompute(whole, {1}));
  EXPECT_EQ(train(most.graph), free);
}

TEST(MemoryBudget, IsWhatIsFreeWhereTheRecipeSaysNothing) {
  const TemporaryFolder folder;
  const std::vector<std::string> short_run = {"train.steps=3", "train.evaluate_every=0"};
  const MeasuredRun free = run_of(shipped("gpt2_tiny", short_run), folder / "free");
  set_memory_budget(memory_in_use() + free.memory.predicted.total() * 8 / 10);
  const auto bound = try_run(shipped("gpt2_tiny", short_run), folder / "bound");
  set_memory_budget(0);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_GT(bound->memory.recomputed, 0);
  EXPECT_EQ(bound->memory.limit.why, "what the machine has free");
  EXPECT_EQ(bound->losses, free.losses);
}

// --- what does not fit ---

TEST(MemoryBudget, SaysWhatWouldFitBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<std::string>& overrides) {
    const auto run = try_run(shipped("gpt2_tiny", overrides), folder / "run");
    EXPECT_FALSE(fs::exists(folder / "run"));
    return run.ok() ? "no error" : run.error().message;
  };
  const std::string text = error({"train.memory=\"9 MiB\"", "train.steps=2"});
  EXPECT_THAT(text, HasSubstr("more than 9.00 MiB ([train] memory)"));
  EXPECT_THAT(text, HasSubstr("operators again brings it to"));
  EXPECT_THAT(text, HasSubstr("[train] accumulate = "));
  EXPECT_THAT(text, HasSubstr("[train] batch = "));
  // What it offers is true, and the next larger one is not.
  const auto number_behind = [&](const std::string& what) {
    return std::stoi(text.substr(text.find(what) + what.size()));
  };
  const int parts = number_behind("accumulate = ");
  const int batch = number_behind("batch = ");
  EXPECT_TRUE(
      try_run(shipped("gpt2_tiny", {"train.memory=\"9 MiB\"", "train.steps=1", "train.evaluate_every=0",
                                    "train.accumulate=" + std::to_string(parts)}),
              folder / "parts")
          .ok());
  EXPECT_TRUE(
      try_run(shipped("gpt2_tiny", {"train.memory=\"9 MiB\"", "train.steps=1", "train.evaluate_every=0",
                                    "train.batch=" + std::to_string(batch)}),
              folder / "batch")
          .ok());
  EXPECT_THAT(error({"train.memory=\"9 MiB\"", "train.steps=1", "train.batch=" + std::to_string(batch + 1)}),
              HasSubstr("[train] batch = " + std::to_string(batch)));
}

// Steps that are over sooner than a checkpoint is on the disk.
TEST(TrainingMemory, HoldsOneCopyOfTheStatesHoweverOftenTheyAreWritten) {
  const TemporaryFolder folder;
  const MeasuredRun run = run_of(tiny_digits({"model.sizes.base=48", "train.batch=2", "train.steps=12",
                                              "checkpoint.every=1", "train.evaluate_every=0"}),
                                 folder / "run");
  EXPECT_GT(run.memory.predicted.checkpoint, run.memory.predicted.total() / 10)
      << "a second one would be seen";
  EXPECT_LE(static_cast<double>(run.memory.measured_bytes),
            1.02 * static_cast<double>(run.memory.predicted.total()))
      << lab::memory_text(run.memory.predicted);
}

// Another batch makes other steps of an epoch, and these keep other samples.
TEST(MemoryBudget, OffersWhatFitsWhereEpochsAreCounted) {
  const TemporaryFolder folder;
  const std::vector<std::string> epoch = {"train.epochs=1", "train.batch=60", "data.sizes.samples=500",
                                          "train.evaluate_every=0", "data.validation=0"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = epoch;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return tiny_digits(overrides);
  };
  const auto whole = try_run(with({}), folder / "whole");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  int offers = 0;
  for (int percent = 85; percent >= 55; percent -= 10) {
    const std::string memory = fmt::format(
        "train.memory=\"{} B\"", whole->memory.predicted.bounded() * static_cast<std::size_t>(percent) / 100);
    const auto run = try_run(with({memory}), folder / fmt::format("run{}", percent));
    const std::string what = "[train] batch = ";
    if (run.ok() || run.error().message.find(what) == std::string::npos) continue;
    const std::string text = run.error().message;
    const int batch = std::stoi(text.substr(text.find(what) + what.size()));
    ++offers;
    const auto offered = try_run(with({memory, fmt::format("train.batch={}", batch)}),
                                 folder / fmt::format("offer{}", percent));
    EXPECT_TRUE(offered.ok()) << text << "\n" << offered.error().message;
  }
  EXPECT_GT(offers, 0);
}

TEST(MemoryBudget, SaysWhereNoBatchFits) {
  const TemporaryFolder folder;
  const auto run = try_run(shipped("gpt2_tiny", {"train.memory=\"1 MiB\"", "train.steps=1"}), folder / "run");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("which no batch makes smaller"));
  const auto more =
      try_run(shipped("gpt2_tiny", {"train.memory=\"4.2 MiB\"", "train.steps=1"}), folder / "run");
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message, HasSubstr("A batch of 1 needs "));
}

TEST(MemoryBudget, RefusesWhatIsNoAmountOfMemory) {
  EXPECT_FALSE(model::parse_recipe(tiny_digits_text(), "tiny.toml", {"train.memory=\"\""}).ok());
  const auto recipe = model::parse_recipe(tiny_digits_text(), "tiny.toml", {"train.memory=\"much\""});
  ASSERT_FALSE(recipe.ok());
  EXPECT_THAT(recipe.error().message, HasSubstr("'much' is no amount of memory; give one like \"2 GiB\""));
}

}  // namespace
}  // namespace hone::training
