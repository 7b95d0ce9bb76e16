// The trainer as a function: what it leaves, that runs repeat and go on bit by bit, and what it says of faults.
#include "lab/training/trainer.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/folder_lock.h"
#include "lab/training/checkpoint.h"
#include "model/onnx/reader.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

struct TrainedRun {
  lab::TrainingResult result;
  std::vector<double> losses;
  std::vector<std::string> notes;
};

// `stop_behind`: the step after which it is asked to stop.
Result<TrainedRun> try_train(const model::Recipe& recipe, const fs::path& out, bool resume = false,
                             int64_t stop_behind = -1) {
  TrainedRun run;
  lab::TrainerOptions options;
  options.out = out;
  options.resume = resume;
  options.threads = 1;  // tests share cores: threads would wait for each other
  int64_t step = 0;
  options.on_step = [&](const lab::TrainingReport& report) {
    run.losses.push_back(report.loss);
    step = report.step;
  };
  options.on_note = [&](const std::string& note) { run.notes.push_back(note); };
  options.should_stop = [&] { return step == stop_behind; };
  HONE_ASSIGN(run.result, lab::train(recipe, options));
  return run;
}

TrainedRun train(const model::Recipe& recipe, const fs::path& out, bool resume = false,
                 int64_t stop_behind = -1) {
  auto run = try_train(recipe, out, resume, stop_behind);
  if (!run.ok()) throw std::runtime_error(run.error().message);
  return *std::move(run);
}

std::vector<nlohmann::json> metrics_of(const fs::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

lab::Checkpoint newest(const fs::path& run) {
  std::vector<std::string> damaged;
  auto checkpoint = lab::read_newest_checkpoint(run, damaged);
  if (!checkpoint) throw std::runtime_error("no checkpoint");
  return *std::move(checkpoint);
}

void expect_same_states(const lab::Checkpoint& a, const lab::Checkpoint& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.place, b.place);
  ASSERT_EQ(a.states.size(), b.states.size());
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    EXPECT_EQ(a.states[i].first, b.states[i].first);
    EXPECT_TRUE(same_tensor(a.states[i].second, b.states[i].second)) << a.states[i].first;
  }
}

void damage(const fs::path& file, std::streamoff at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const auto byte = static_cast<char>(stream.get() ^ 0x10);
  stream.seekp(at);
  stream.put(byte);
}

TEST(Trainer, LearnsAndLeavesARunFolder) {
  const TemporaryFolder folder;
  const fs::path out = folder / "run";
  const TrainedRun run = train(tiny_digits({"train.steps=60", "train.evaluate_every=20"}), out);
  EXPECT_EQ(run.result.end, lab::TrainingEnd::kDone);
  EXPECT_LT(run.losses.back(), run.losses.front() / 2);
  ASSERT_TRUE(run.result.evaluation.has_value());
  EXPECT_EQ(run.result.evaluation->metric_name, "accuracy");
  EXPECT_GT(run.result.evaluation->metric, 0.5);
  EXPECT_EQ(run.result.evaluation->samples, 24);
  for (const char* name : {"recipe.toml", "environment.json", "metrics.jsonl", "model.onnx", "run.json"})
    EXPECT_TRUE(fs::exists(out / name)) << name;
  const auto lines = metrics_of(out);
  EXPECT_EQ(lines.size(), 60u + 3);
  EXPECT_EQ(lines.front()["loss"].get<double>(), run.losses.front());
  EXPECT_EQ(lab::list_checkpoints(out).size(), 2u) << "the last and the one before";
  // The moving average is what was evaluated and written.
  const auto model = model::read_onnx(out / "model.onnx");
  ASSERT_TRUE(model.ok());
  const auto weight = model->find_value("dense.weight");
  for (const auto& [name, tensor] : newest(out).states)
    if (name == "ema.dense.weight") {
      EXPECT_TRUE(same_tensor(tensor, *model->value(weight).constant));
    }
}

TEST(Trainer, RepeatsBitForBit) {
  const TemporaryFolder folder;
  const TrainedRun first = train(tiny_digits(), folder / "a");
  const TrainedRun again = train(tiny_digits(), folder / "b");
  EXPECT_EQ(first.losses, again.losses);
  expect_same_states(newest(folder / "a"), newest(folder / "b"));
  const TrainedRun other = train(tiny_digits({"train.seed=4"}), folder / "c");
  EXPECT_NE(first.losses, other.losses);
}

// 12 steps an epoch: 7 and 19 lie within one, 12 between two; the recipe saves every 5.
TEST(Trainer, ResumedAtAnyStepIsTheRunThatNeverStopped) {
  const TemporaryFolder folder;
  const TrainedRun whole = train(tiny_digits(), folder / "whole");
  for (const int64_t stop : {1, 7, 12, 19, 29}) {
    const fs::path out = folder / ("stopped" + std::to_string(stop));
    const TrainedRun first = train(tiny_digits(), out, false, stop);
    EXPECT_EQ(first.result.end, lab::TrainingEnd::kStopped);
    EXPECT_FALSE(fs::exists(out / "model.onnx"));
    const TrainedRun rest = train(*model::read_recipe(out / model::kRecipeFile), out, true);
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), rest.losses.begin(), rest.losses.end());
    EXPECT_EQ(losses, whole.losses) << "stopped behind step " << stop;
    expect_same_states(newest(out), newest(folder / "whole"));
    EXPECT_EQ(metrics_of(out).size(), metrics_of(folder / "whole").size());
  }
}

TEST(Trainer, NamesADamagedCheckpointAndUsesTheOneBefore) {
  const TemporaryFolder folder;
  const TrainedRun whole = train(tiny_digits(), folder / "whole");
  const fs::path out = folder / "run";
  train(tiny_digits(), out, false, 12);
  const auto list = lab::list_checkpoints(out);
  ASSERT_EQ(list.size(), 2u);
  const fs::path states = list[0] / "state.safetensors";
  damage(states, static_cast<std::streamoff>(fs::file_size(states)) - 3);
  const TrainedRun rest = train(tiny_digits(), out, true);
  EXPECT_THAT(rest.notes, ::testing::Contains(::testing::AllOf(HasSubstr(states.string()),
                                                               HasSubstr("the checkpoint before is used"))));
  EXPECT_EQ(rest.losses.size(), 20u) << "from step 10 on";
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 10, whole.losses.end()));
  expect_same_states(newest(out), newest(folder / "whole"));
}

TEST(Trainer, RefusesWhereNoCheckpointIsWhole) {
  const TemporaryFolder folder;
  train(tiny_digits(), folder / "run", false, 12);
  for (const fs::path& checkpoint : lab::list_checkpoints(folder / "run"))
    damage(checkpoint / "checkpoint.json", 20);
  const auto run = try_train(tiny_digits(), folder / "run", true);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("no checkpoint is whole; begin anew with its recipe.toml"));
}

TEST(Trainer, AccumulatesWhateverTheEvaluationsBatchIs) {
  const TemporaryFolder folder;
  // 21 samples are judged by, seven at once, which is no multiple of four.
  const TrainedRun run =
      train(tiny_digits({"data.sizes.samples=105", "train.accumulate=4", "train.steps=3"}), folder / "run");
  EXPECT_EQ(run.result.evaluation->samples, 21);
}

TEST(Trainer, StopsAtTheTarget) {
  const TemporaryFolder folder;
  const TrainedRun run =
      train(tiny_digits({"train.steps=500", "train.evaluate_every=10", "metric.target=0.3"}), folder / "run");
  EXPECT_EQ(run.result.end, lab::TrainingEnd::kTarget);
  EXPECT_LT(run.result.last.step, 500);
  EXPECT_GE(run.result.evaluation->metric, 0.3);
  EXPECT_TRUE(fs::exists(run.result.model));
}

TEST(Trainer, SaysWhereTheLossBecameNaN) {
  const TemporaryFolder folder;
  const auto run =
      try_train(tiny_digits({"optimizer.kind=sgd", "optimizer.rate=1e30", "schedule.kind=constant",
                             "schedule.warmup=0", "train.clip=0", "checkpoint.every=1"}),
                folder / "run");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message,
              ::testing::MatchesRegex("step [0-9]+: the (loss|gradient's norm) is (NaN|infinite).*"));
  EXPECT_THAT(run.error().message, HasSubstr("gives NaN or Inf from finite inputs"));
  EXPECT_THAT(run.error().message, HasSubstr("the largest weight before it"));
  const lab::Checkpoint kept = newest(folder / "run");
  for (const auto& [name, tensor] : kept.states)
    for (const double value : tensor.to_doubles()) ASSERT_TRUE(std::isfinite(value)) << name;
}

// A Zarr array of one chunk.
void write_array(const fs::path& folder, const Tensor& tensor, const std::string& dtype) {
  nlohmann::json about = {{"zarr_format", 2}, {"shape", tensor.shape()}, {"chunks", tensor.shape()},
                          {"dtype", dtype},   {"compressor", nullptr},   {"fill_value", 0},
                          {"order", "C"},     {"filters", nullptr}};
  fs::create_directories(folder);
  std::ofstream(folder / ".zarray") << about.dump();
  std::string name = "0";
  for (std::size_t i = 1; i < tensor.shape().size(); ++i) name += ".0";
  std::ofstream(folder / name, std::ios::binary)
      .write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
}

TEST(Trainer, NamesTheSampleThatHoldsNaN) {
  const TemporaryFolder folder;
  Tensor images(DType::kF32, {32, 12, 12});
  for (int64_t i = 0; i < images.size(); ++i)
    images.as<float>()[static_cast<std::size_t>(i)] = 0.01F * static_cast<float>(i % 97);
  images.as<float>()[12 * 12 * 20 + 7] = std::numeric_limits<float>::quiet_NaN();
  Tensor labels(DType::kI64, {32});
  for (std::size_t i = 0; i < 32; ++i) labels.as<int64_t>()[i] = static_cast<int64_t>(i % 10);
  write_array(folder / "images", images, "<f4");
  write_array(folder / "labels", labels, "<i8");
  const auto recipe = model::parse_recipe(R"([model]
zoo = "digits_cnn"
sizes = { size = 12, base = 4 }
[data]
source = "zarr"
path = "images"
labels = "labels"
validation = 0
[loss]
kind = "cross-entropy"
[train]
steps = 4
batch = 8
)",
                                          folder / "nan.toml");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const auto run = try_train(*recipe, folder / "run");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("images (sample 20): its image holds NaN; mend the sample"));
  EXPECT_THAT(run.error().message, ::testing::Not(HasSubstr("learning rate")));
}

// Bytes that are no tokens of the model stand where only the evaluation looks.
TEST(Trainer, KeepsARunWhoseEvaluationFails) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i * i % 23);
  std::ofstream(folder / "t.txt") << text << std::string(250, '\xf0');
  const std::vector<std::string> small = {"model.sizes.vocabulary=123"};
  const auto run = try_train(tiny_gpt2(folder / "t.txt", small), folder / "end");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("the run is saved, but its last evaluation failed"));
  EXPECT_THAT(run.error().message, HasSubstr("its label is 240"));
  EXPECT_EQ(newest(folder / "end").step, 30);
  EXPECT_TRUE(model::read_onnx(folder / "end" / "model.onnx").ok());
  const auto within =
      try_train(tiny_gpt2(folder / "t.txt", {small[0], "train.evaluate_every=7"}), folder / "within");
  ASSERT_FALSE(within.ok());
  EXPECT_THAT(within.error().message, HasSubstr("step 7, which is saved: "));
  EXPECT_EQ(newest(folder / "within").step, 7);
}

TEST(Trainer, LeavesAFolderToTheProcessThatIsAtWorkInIt) {
  const TemporaryFolder folder;
  train(tiny_digits(), folder / "run", false, 7);
  const auto other = lock_folder(folder / "run");
  ASSERT_TRUE(other.ok());
  const auto run = try_train(tiny_digits(), folder / "run", true);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("another process is at work in this folder"));
  EXPECT_EQ(newest(folder / "run").step, 7);
  // Two that began at once: the second finds what the first has left.
  const auto late = try_train(tiny_digits(), folder / "run");
  ASSERT_FALSE(late.ok());
}

TEST(Trainer, NoticesOtherDataAnotherModelAndOtherThreads) {
  const TemporaryFolder folder;
  train(tiny_digits(), folder / "run", false, 7);
  const auto resumed = [&](const std::vector<std::string>& overrides) {
    const auto run = try_train(tiny_digits(overrides), folder / "run", true, 8);
    return run.ok() ? "no error" : run.error().message;
  };
  EXPECT_THAT(resumed({"data.sizes.samples=130"}), HasSubstr("the data are no longer those"));
  EXPECT_THAT(resumed({"model.seed=9"}), HasSubstr("the model is no longer the one"));
  EXPECT_EQ(resumed({}), "no error");
  const fs::path file = folder / "run" / "environment.json";
  auto environment = nlohmann::json::parse(*read_file(file));
  environment["threads"] = 3;
  ASSERT_TRUE(write_file(file, environment.dump()).ok());
  const TrainedRun run = train(tiny_digits(), folder / "run", true);
  EXPECT_THAT(run.notes,
              ::testing::Contains(HasSubstr("was on cpu with 3 threads and is now on cpu with 1")));
}

TEST(Trainer, SaysWhatDoesNotFitBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<std::string>& overrides) {
    const auto run = try_train(tiny_digits(overrides), folder / "run");
    EXPECT_FALSE(fs::exists(folder / "run"));
    return run.ok() ? "no error" : run.error().message;
  };
  EXPECT_THAT(error({"data.sizes.side=16"}), HasSubstr("the model's input 'image' is f32[batch,1,12,12]"));
  EXPECT_THAT(error({"train.batch=1000"}), HasSubstr("has 96 samples, too few for one batch of 1000"));
  EXPECT_THAT(error({"loss.kind=bce"}), HasSubstr("loss bce: the model predicts f32[8,10]"));
  EXPECT_THAT(error({"metric.kind=perplexity", "loss.smoothing=0.1"}),
              HasSubstr("metric perplexity: is of cross"));
  EXPECT_THAT(error({"loss.target=mask"}),
              HasSubstr("the data have no field 'mask'; they have image, label"));
  EXPECT_THAT(error({"model.freeze=[\"nothing.*\"]"}), HasSubstr("no weight's name matches 'nothing.*'"));
  EXPECT_THAT(error({"optimizer.groups=[{match=[\"dense.*\", \"desne.*\"], rate=2}]"}),
              HasSubstr("no trained weight's name matches 'desne.*'"));
  EXPECT_THAT(error({"metric.kind=bits-per-byte"}), HasSubstr("metric bits-per-byte: is of bytes in a row"));
  EXPECT_THAT(error({"metric.kind=dice"}), HasSubstr("metric dice: is of masks"));
  EXPECT_THAT(error({"model.freeze=[\"*\"]"}), HasSubstr("no weights to train"));
  EXPECT_THAT(error({"model.sizes.bose=2"}), HasSubstr("there is no size 'bose'; did you mean 'base'?"));
  EXPECT_THAT(error({"data.sizes.site=2"}), HasSubstr("has no size 'site'; did you mean 'side'?"));
}

TEST(Trainer, NamesTheSampleWhoseLabelIsNoClass) {
  const TemporaryFolder folder;
  const auto run = try_train(tiny_digits({"model.sizes.classes=3"}), folder / "run");
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message,
              ::testing::MatchesRegex(
                  "synthetic digit [0-9]+: its label is [3-9], but the model has 3 classes, 0 to 2"));
}

}  // namespace
}  // namespace hone::training
