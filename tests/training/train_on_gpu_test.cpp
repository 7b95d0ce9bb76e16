// Training on a GPU: the same losses as on the CPU, every operator of the step on the device, runs that repeat and go on bit
// by bit. Without a GPU over a driver whose kernels the host runs (runtime/testing/providers.h); on one: ctest -L cuda.
#include <cmath>
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/machine.h"
#include "lab/training/checkpoint.h"
#include "lab/training/fit_memory.h"
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
  (void)train(recipe, folder_ / "c", provider_, false, 4);
  const RunOnDevice rest = train(recipe, folder_ / "c", provider_, true);
  EXPECT_EQ(rest.losses, std::vector<double>(first.losses.begin() + 4, first.losses.end()));
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
}

}  // namespace
}  // namespace hone::training
