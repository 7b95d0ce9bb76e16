// Training on a GPU: the same losses as on the CPU, every operator of the step on the device, runs that repeat and go on bit
// by bit. Without a GPU over a driver whose kernels the host runs (runtime/testing/providers.h); on one: ctest -L cuda.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "lab/machine.h"
#include "lab/training/checkpoint.h"
#include "lab/training/fit_memory.h"
#include "lab/training/run_summary.h"
#include "lab/training/trainer.h"
#include "lab/training/training_lab.h"
#include "runtime/testing/providers.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

struct RunOnDevice {
  lab::TrainingResult result;
  std::vector<double> losses;
  std::string notes;
};

class TrainOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  static Result<RunOnDevice> try_train(const model::Recipe& recipe, const fs::path& out,
                                       const std::shared_ptr<const runtime::Provider>& provider,
                                       bool resume = false, int64_t stop_behind = -1) {
    RunOnDevice run;
    lab::TrainerOptions options;
    options.out = out;
    options.resume = resume;
    options.provider = provider;
    options.device = provider->name();
    int64_t step = 0;
    options.on_step = [&](const lab::TrainingReport& report) {
      run.losses.push_back(report.loss);
      step = report.step;
    };
    options.on_note = [&](const std::string& note) { run.notes += note + "\n"; };
    options.should_stop = [&] { return step == stop_behind; };
    HONE_ASSIGN(run.result, lab::train(recipe, options));
    return run;
  }
  static RunOnDevice train(const model::Recipe& recipe, const fs::path& out,
                           const std::shared_ptr<const runtime::Provider>& provider, bool resume = false,
                           int64_t stop_behind = -1) {
    auto run = try_train(recipe, out, provider, resume, stop_behind);
    if (!run.ok()) throw std::runtime_error(run.error().message);
    return *std::move(run);
  }

  // Ten steps here and on the CPU.
  void expect_as_on_the_cpu(const model::Recipe& recipe) {
    const RunOnDevice wanted = train(recipe, folder_ / "cpu", runtime::testing::cpu_provider(1));
    const RunOnDevice found = train(recipe, folder_ / "cuda", provider_);
    EXPECT_THAT(found.notes, Not(HasSubstr("no kernel of its own"))) << found.notes;
    ASSERT_EQ(found.losses.size(), wanted.losses.size());
    for (std::size_t i = 0; i < wanted.losses.size(); ++i)
      EXPECT_NEAR(found.losses[i], wanted.losses[i], 1e-4 * std::abs(wanted.losses[i])) << "step " << i;
    ASSERT_TRUE(found.result.evaluation && wanted.result.evaluation);
    EXPECT_NEAR(found.result.evaluation->loss, wanted.result.evaluation->loss,
                1e-3 * std::abs(wanted.result.evaluation->loss));
  }

  static lab::Checkpoint newest(const fs::path& run) {
    std::vector<std::string> damaged;
    auto checkpoint = lab::read_newest_checkpoint(run, damaged);
    if (!checkpoint) throw std::runtime_error("no checkpoint");
    return *std::move(checkpoint);
  }

  fs::path text_file() {
    std::ofstream file(folder_ / "text.txt");
    for (int i = 0; i < 120; ++i) file << "line " << i * i % 97 << " of a text that is learnt\n";
    return folder_ / "text.txt";
  }

  const TemporaryFolder folder_;
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, TrainOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, TrainOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TrainOnGpu);

TEST_P(TrainOnGpu, DigitsLearnAsOnTheCpu) { expect_as_on_the_cpu(tiny_digits({"train.steps=10"})); }

// Two micro-batches, so that gradients are added up.
TEST_P(TrainOnGpu, Gpt2LearnsAsOnTheCpu) {
  expect_as_on_the_cpu(tiny_gpt2(
      text_file().string(), {"train.steps=10", "train.accumulate=2", "train.clip=1", "data.validation=0.2"}));
}

// Kernels are compiled once for all four runs.
TEST_P(TrainOnGpu, UNetLearnsAsOnTheCpuRepeatsAndGoesOnBitForBit) {
  const model::Recipe recipe = tiny_unet({"train.steps=10", "checkpoint.every=4"});
  expect_as_on_the_cpu(recipe);
  const RunOnDevice first = train(recipe, folder_ / "a", provider_);
  const RunOnDevice again = train(recipe, folder_ / "b", provider_);
  EXPECT_EQ(first.losses, again.losses);
  const int64_t done = train(recipe, folder_ / "c", provider_, false, 4).result.last.step;
  const RunOnDevice rest = train(recipe, folder_ / "c", provider_, true);
  EXPECT_EQ(rest.losses, std::vector<double>(first.losses.begin() + done, first.losses.end()));
  const lab::Checkpoint whole = newest(folder_ / "a");
  for (const char* other : {"b", "c"}) {
    const lab::Checkpoint found = newest(folder_ / other);
    ASSERT_EQ(found.states.size(), whole.states.size());
    for (std::size_t i = 0; i < whole.states.size(); ++i)
      EXPECT_TRUE(same_tensor(found.states[i].second, whole.states[i].second)) << whole.states[i].first;
  }
}

TEST_P(TrainOnGpu, WithWeightsOfBf16LearnsTheSameAndGoesOnBitForBit) {
  const auto recipe = [](std::vector<std::string> more) {
    more.insert(more.end(), {"train.steps=10", "checkpoint.every=4"});
    return tiny_digits(more);
  };
  const std::vector<std::string> narrow = {"train.precision=bf16", "train.weights=bf16"};
  const RunOnDevice wide = train(recipe({}), folder_ / "f32", provider_);
  const RunOnDevice whole = train(recipe(narrow), folder_ / "whole", provider_);
  EXPECT_THAT(whole.notes, Not(HasSubstr("no kernel of its own"))) << whole.notes;
  for (std::size_t i = 0; i < wide.losses.size(); ++i)
    EXPECT_NEAR(whole.losses.at(i), wide.losses[i], 0.03 * wide.losses[i]) << i;
  (void)train(recipe(narrow), folder_ / "parts", provider_, false, 4);
  const RunOnDevice rest = train(recipe(narrow), folder_ / "parts", provider_, true);
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 4, whole.losses.end()));
  const lab::Checkpoint a = newest(folder_ / "whole"), b = newest(folder_ / "parts");
  ASSERT_EQ(b.states.size(), a.states.size());
  for (std::size_t i = 0; i < a.states.size(); ++i)
    EXPECT_TRUE(same_tensor(b.states[i].second, a.states[i].second)) << a.states[i].first;
}

// What a run may take is the device's free memory, where the recipe says no less.
TEST_P(TrainOnGpu, TheBudgetIsOfTheDevicesMemory) {
  const runtime::Device& device = *provider_->device();
  const lab::MemoryLimit free = lab::memory_limit(0, device);
  EXPECT_THAT(free.why, HasSubstr("what is free on cuda"));
  EXPECT_GT(free.bytes, 0U);
  EXPECT_LE(free.bytes, device.capacity());
  const lab::MemoryLimit given = lab::memory_limit(1000, device);
  EXPECT_EQ(given.bytes, 1000U);
  EXPECT_EQ(given.why, "[train] memory");
}

// --- steps given ahead ---

// A state that is wanted behind each step leaves no step to be given ahead: the same numbers, one after the other.
TEST_P(TrainOnGpu, LossesAreThoseOfStepsThatWaitForEachOther) {
  const RunOnDevice ahead =
      train(tiny_digits({"train.steps=12", "checkpoint.every=0"}), folder_ / "ahead", provider_);
  const RunOnDevice alone =
      train(tiny_digits({"train.steps=12", "checkpoint.every=1"}), folder_ / "alone", provider_);
  EXPECT_EQ(ahead.losses, alone.losses);
  const lab::Checkpoint a = newest(folder_ / "ahead"), b = newest(folder_ / "alone");
  EXPECT_EQ(a.place, b.place);
  for (std::size_t i = 0; i < a.states.size(); ++i)
    EXPECT_TRUE(same_tensor(a.states[i].second, b.states[i].second)) << a.states[i].first;
}

// 12 steps an epoch; a checkpoint every 5. Who asks to stop may get the step behind as well: the run says which it is.
TEST_P(TrainOnGpu, AStoppedRunIsSavedAsTheStepThatItSays) {
  const model::Recipe recipe = tiny_digits({"train.steps=20"});
  const RunOnDevice whole = train(recipe, folder_ / "whole", provider_);
  for (const int64_t stop : {1, 4, 5, 11, 12, 18, 19}) {
    const fs::path out = folder_ / fmt::format("stopped{}", stop);
    const RunOnDevice first = train(recipe, out, provider_, false, stop);
    const int64_t done = first.result.last.step;
    EXPECT_GE(done, stop);
    EXPECT_LE(done, stop + 1);
    EXPECT_EQ(static_cast<int64_t>(first.losses.size()), done);
    EXPECT_EQ(newest(out).step, done);
    std::vector<double> losses = first.losses;
    if (done < 20) {
      EXPECT_EQ(first.result.end, lab::TrainingEnd::kStopped);
      const RunOnDevice rest = train(recipe, out, provider_, true);
      losses.insert(losses.end(), rest.losses.begin(), rest.losses.end());
    }
    EXPECT_EQ(losses, whole.losses) << "stopped behind step " << stop;
    const lab::Checkpoint a = newest(out), b = newest(folder_ / "whole");
    ASSERT_EQ(a.states.size(), b.states.size());
    for (std::size_t i = 0; i < a.states.size(); ++i)
      EXPECT_TRUE(same_tensor(a.states[i].second, b.states[i].second)) << a.states[i].first;
  }
}

// The step that is given ahead trains on weights that are NaN: nobody is told of it.
TEST_P(TrainOnGpu, ALossThatBecomesNaNIsOfTheStepThatMadeItSo) {
  const model::Recipe recipe =
      tiny_digits({"optimizer.kind=sgd", "optimizer.rate=1e30", "schedule.kind=constant", "schedule.warmup=0",
                   "train.clip=0", "checkpoint.every=0"});
  const auto found = try_train(recipe, folder_ / "cuda", provider_);
  const auto wanted = try_train(recipe, folder_ / "cpu", runtime::testing::cpu_provider(1));
  ASSERT_FALSE(found.ok());
  ASSERT_FALSE(wanted.ok());
  const auto step_of = [](const std::string& text) { return text.substr(0, text.find(':')); };
  EXPECT_EQ(step_of(found.error().message), step_of(wanted.error().message)) << found.error().message;
  EXPECT_THAT(found.error().message, HasSubstr("gives NaN or Inf from finite inputs"));
}

// A batch that cannot be had is the error of its step, behind those before it.
TEST_P(TrainOnGpu, ABadBatchEndsTheRunBehindTheStepsBeforeIt) {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += static_cast<char>('a' + i * i % 23);
  std::ofstream(folder_ / "t.txt") << text << std::string(150, '\xf0') << text;
  const model::Recipe recipe = tiny_gpt2((folder_ / "t.txt").string(),
                                         {"model.sizes.vocabulary=123", "data.validation=0", "train.steps=40",
                                          "train.batch=1", "train.evaluate_every=0", "metric.kind=none"});
  const auto steps_of = [&](const std::shared_ptr<const runtime::Provider>& provider, const fs::path& out) {
    const auto run = try_train(recipe, out, provider);
    EXPECT_FALSE(run.ok());
    EXPECT_THAT(run.ok() ? "no error" : run.error().message, HasSubstr("its label is 240"));
    const std::string log = *read_file(out / "metrics.jsonl");
    return std::count(log.begin(), log.end(), '\n');
  };
  const auto wanted = steps_of(runtime::testing::cpu_provider(1), folder_ / "cpu");
  EXPECT_GT(wanted, 2);
  EXPECT_EQ(steps_of(provider_, folder_ / "cuda"), wanted);
}

// While the host looks at a step's numbers the device has the next step already; it waits once for a step, and at most once
// for a batch before to have left its place.
TEST(TrainWithoutAGpu, TheDeviceHasAlwaysTheNextStep) {
  const TemporaryFolder folder;
  lab::TrainerOptions options;
  options.out = folder / "run";
  options.provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  options.device = "cuda";
  std::vector<int64_t> waits, waiting;
  options.on_step = [&](const lab::TrainingReport&) {
    waits.push_back(cuda::testing::host_waits());
    waiting.push_back(cuda::testing::graphs_given() - cuda::testing::graphs_run());
  };
  const auto run = lab::train(tiny_digits({"train.steps=24", "checkpoint.every=12"}), options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(waits.size(), 24U);
  for (std::size_t step = 1; step <= waits.size(); ++step) {
    const bool is_last_before_a_look = step % 12 == 0;
    EXPECT_EQ(waiting[step - 1], is_last_before_a_look ? 0 : 1) << "behind step " << step;
    if (step > 1 && step % 12 != 1) {
      EXPECT_LE(waits[step - 1] - waits[step - 2], 2) << "in step " << step;
    }
  }
}

// --- memory ---

// Of the run's own blocks in the device's memory, and of the host's apart.
void expect_foretold(const lab::TrainingMemoryReport& memory) {
  ASSERT_TRUE(memory.device.has_value());
  const auto predicted = static_cast<double>(memory.predicted.on_device());
  EXPECT_NEAR(static_cast<double>(memory.device->measured_bytes), predicted, 0.02 * predicted)
      << lab::memory_text(memory.predicted);
  EXPECT_EQ(memory.device->name, memory.predicted.device);
  EXPECT_GE(memory.device->taken_by_all.value_or(0), memory.device->measured_bytes);
  EXPECT_LE(static_cast<double>(memory.measured_bytes),
            1.02 * static_cast<double>(memory.predicted.on_host()))
      << lab::memory_text(memory.predicted);
}

TEST_P(TrainOnGpu, MemoryOfTheDeviceIsForetoldWithinTwoPercent) {
  const RunOnDevice digits = train(tiny_digits({"train.steps=3", "train.batch=32", "model.sizes.base=16"}),
                                   folder_ / "digits", provider_);
  expect_foretold(digits.result.memory);
  EXPECT_GT(digits.result.memory.predicted.batches, 0U);
  EXPECT_THAT(digits.notes, HasSubstr(" of cuda:0: weights "));
  EXPECT_THAT(digits.notes, HasSubstr(" of cuda:0 taken at most, "));
  EXPECT_THAT(digits.notes, HasSubstr("; of the host's "));
  expect_foretold(train(tiny_gpt2(text_file().string(), {"train.steps=2", "train.precision=bf16"}),
                        folder_ / "gpt2", provider_)
                      .result.memory);
}

TEST_P(TrainOnGpu, WhatTheRunTookStandsInItsFolder) {
  train(tiny_digits({"train.steps=2"}), folder_ / "run", provider_);
  const auto run = lab::read_training_run(folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  double predicted = 0, taken = 0;
  for (const analyze::NamedBytes& each : run->memory) {
    if (each.name == "foretold, of cuda:0") predicted = each.bytes;
    if (each.name == "taken at most, of cuda:0") taken = each.bytes;
  }
  EXPECT_GT(predicted, 0);
  EXPECT_NEAR(taken, predicted, 0.02 * predicted);
  EXPECT_THAT(*read_file(folder_ / "run/report.html"), HasSubstr("taken at most, of cuda:0"));
  EXPECT_THAT(*read_file(folder_ / "run/metrics.jsonl"), HasSubstr("\"device_bytes\":"));
}

// Not on a GPU, where what libraries work in is larger than such a model.
class TrainInLittleMemory : public TrainOnGpu {};
INSTANTIATE_TEST_SUITE_P(All, TrainInLittleMemory, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(TrainInLittleMemory, WhatDoesNotFitSaysWhatWould) {
  const std::vector<std::string> wide = {"train.steps=1", "train.batch=16", "train.evaluate_every=0",
                                         "data.validation=0", "metric.kind=none"};
  const std::size_t need =
      train(tiny_digits(wide), folder_ / "whole", provider_).result.memory.predicted.on_device();
  std::vector<std::string> bound = wide;
  bound.push_back(fmt::format("train.memory=\"{} B\"", need * 88 / 100));
  const auto run = try_train(tiny_digits(bound), folder_ / "bound", provider_);
  const std::string text = run.ok() ? "no error" : run.error().message;
  EXPECT_THAT(text, HasSubstr("([train] memory)"));
  EXPECT_THAT(text, HasSubstr("operator again brings it to"));
  EXPECT_THAT(text, HasSubstr("[train] batch = "));
  EXPECT_THAT(text, HasSubstr("[train] precision = \"bf16\" ("));
}

// The lab's baseline is one kernel for each operator, before any pass: those are on the device, too.
TEST_P(TrainOnGpu, TheLabMeasuresAndJudgesAStep) {
  const Rate flops{5e13, 5e13, 5e13}, bytes{3e12, 3e12, 3e12};
  Roofs roofs;
  roofs.threads = 1;
  roofs.compute = {{DType::kF32, "fma", 1, flops}, {DType::kF32, "gemm", 1, flops}};
  roofs.memory = {{"L2", "copy", 1, 2e6, bytes}, {"DRAM", "copy", 1, 0, bytes}};
  lab::ExperimentOptions options;
  options.budget_s = 4;
  const auto done = lab::run_training_lab(tiny_digits(), *provider_, lab::describe_machine(), roofs, options);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const analyze::LabReport& report = done->experiment.report;
  EXPECT_TRUE(report.result.passed);
  EXPECT_EQ(report.baseline.top.size(), 5U);
  EXPECT_EQ(report.baseline_memory.device, provider_->device()->name());
  EXPECT_GE(report.baseline_memory.device_peak_bytes, report.baseline_memory.arena_bytes);
}

}  // namespace
}  // namespace hone::training
