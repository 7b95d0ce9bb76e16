// The shipped recipes against PyTorch: the same weights, the same batches, the same losses for 100 steps, in f32; in bf16
// losses that are as near to those of f64. Where python3 (or the one that HONE_TORCH_PYTHON names) has no PyTorch these
// tests are skipped, and say NOT RUN.
#include <cstdlib>
#include <fstream>

#include "tests/cli/run_program.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/npy/npy.h"
#include "core/philox.h"
#include "core/testing/source_folder.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "lab/training/datasets.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "model/recipe/recipe.h"
#include "model/safetensors/safetensors.h"
#include "runtime/make_provider.h"
#include "runtime/testing/providers.h"

namespace hone::training {
namespace {

namespace fs = std::filesystem;

constexpr int kParitySteps = 100;
constexpr int kReferenceSteps = 40;  // of what the reference computes, which is slow
constexpr double kTolerance = 1e-4;  // relative, of every loss

template <typename T>
T needed(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

constexpr uint64_t kDisturbed = 4;  // more runs in bf16, whose errors are random walks

// Each number up or down by one unit in its last place, as another order of sums rounds it.
Tensor disturbed(const Tensor& value, const Philox& random) {
  Tensor other = value;
  const std::span<float> numbers = other.as<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::nextafter(numbers[i], random.uniform(i) < 0.5 ? 2 * numbers[i] : 0.0F);
  return other;
}

struct ParityRun {
  std::vector<double> losses;
  model::Safetensors batches;
};

// `narrowed_for`: the step's graph is the one that this provider would run; null: `provider` itself.
ParityRun train(const model::Recipe& recipe, const lab::TrainingData& data, lab::TrainingProgram program,
                const runtime::Provider& provider, const runtime::Provider* narrowed_for,
                uint64_t disturbance) {
  const auto batches = needed(lab::training_batches(data, recipe));
  uint64_t stream = disturbance << 32;
  if (disturbance > 0)
    for (graph::NamedTensor& parameter : program.model.parameters)
      if (parameter.value.dtype() == DType::kF32)
        parameter.value = disturbed(parameter.value, Philox(stream++));
  lab::SessionOptions options;
  options.autotune = false;
  options.precision = recipe.train.precision;
  lab::SessionGraphs graphs;
  if (narrowed_for != nullptr) {
    graphs = needed(lab::optimised_graphs(program, *narrowed_for, {}, recipe.train.precision));
    options.graphs = &graphs;
  }
  const auto session = needed(lab::Session::make(program, provider, options));
  ParityRun run;
  for (int step = 0; step < (narrowed_for != nullptr ? kReferenceSteps : kParitySteps); ++step) {
    const data::Batch batch = needed(batches->next());
    for (std::size_t f = 0; f < batch.tensors.size(); ++f)
      run.batches.tensors.emplace_back(std::to_string(step) + "." + program.options.fields[f].name,
                                       batch.tensors[f]);
    const Status written = session->write_batch(batch, *data.training);
    if (!written.ok()) throw std::runtime_error(written.error().message);
    run.losses.push_back(needed(session->step()).loss);
  }
  return run;
}

// What torch_parity.py reads.
void train_into(const fs::path& folder, const model::Recipe& recipe, const std::string& device,
                const runtime::Provider* narrowed_for, nlohmann::json more) {
  const lab::TrainingData data = needed(lab::open_data(recipe.data));
  const auto batches = needed(lab::training_batches(data, recipe));
  const auto program =
      needed(lab::make_program(recipe, batches->fields(), recipe.train.steps, recipe.train.batch));
  const auto provider = needed(runtime::make_provider(device, {.threads = 1}));
  const ParityRun first = train(recipe, data, program, *provider, narrowed_for, 0);
  more["losses"] = first.losses;
  if (recipe.train.precision == "bf16")
    for (uint64_t i = 1; i <= kDisturbed; ++i)
      more["disturbed"].push_back(train(recipe, data, program, *provider, narrowed_for, i).losses);
  model::Safetensors initial;
  for (const graph::NamedTensor& parameter : program.model.parameters)
    initial.tensors.emplace_back(parameter.name, parameter.value);
  const graph::Optimizer& o = recipe.optimizer;
  more.update({{"device", device},
               {"optimizer", graph::optimizer_names()[static_cast<std::size_t>(o.kind)]},
               {"momentum", o.momentum},
               {"nesterov", o.nesterov},
               {"smoothing", recipe.objective.smoothing},
               {"rate", o.rate},
               {"beta1", o.beta1},
               {"beta2", o.beta2},
               {"epsilon", o.epsilon},
               {"weight_decay", o.weight_decay},
               {"clip", recipe.train.clip},
               {"warmup_steps", program.options.schedule.warmup_steps},
               {"steps", recipe.train.steps},
               {"final", recipe.schedule.final},
               {"precision", recipe.train.precision},
               {"tolerance", kTolerance}});
  ASSERT_TRUE(model::write_safetensors(folder / "initial.safetensors", initial).ok());
  ASSERT_TRUE(model::write_safetensors(folder / "batches.safetensors", first.batches).ok());
  std::ofstream(folder / "run.json") << more;
}

void expect_parity(const std::string& name, const nlohmann::json& more,
                   const std::vector<std::string>& overrides, const std::string& device = "cpu",
                   const runtime::Provider* narrowed_for = nullptr) {
  const char* python = std::getenv("HONE_TORCH_PYTHON");
  const std::string interpreter = python == nullptr ? "/usr/bin/python3" : python;
  if (testing_support::run_program(interpreter, {"-c", "import torch, numpy"}).exit_code != 0)
    GTEST_SKIP() << "NOT RUN: " << interpreter << " has no PyTorch (HONE_TORCH_PYTHON names another)";
  const testing_support::TemporaryFolder folder;
  const fs::path source = source_folder();
  const model::Recipe recipe = needed(model::read_recipe(source / "recipes" / (name + ".toml"), overrides));
  ASSERT_FALSE(recipe.optimizer.decay_vectors) << "the script decays no vectors";
  ASSERT_NO_FATAL_FAILURE(train_into(folder.path(), recipe, device, narrowed_for, more));
  testing_support::RunOptions patient;
  patient.time_limit = std::chrono::seconds(600);
  const auto result = testing_support::run_program(
      interpreter, {source / "tests/training/torch_parity.py", folder.path()}, patient);
  std::printf("%s", result.out.c_str());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(TorchParity, DigitsCnn) {
  expect_parity("digits_cnn", {{"network", "digits_cnn"}}, {"train={steps=100, batch=64, seed=1}"});
}

TEST(TorchParity, Gpt2Tiny) {
  expect_parity("gpt2_tiny", {{"network", "gpt2"}, {"heads", 4}}, {"train.steps=100"});
}

bool has_bf16() { return kernels::has_tiles_of_bf16(); }
constexpr const char* kNoTiles = "NOT RUN: this CPU has no matrix tiles";

TEST(TorchParity, DigitsCnnInBf16) {
  if (!has_bf16()) GTEST_SKIP() << kNoTiles;
  expect_parity("digits_cnn", {{"network", "digits_cnn"}},
                {"train={steps=100, batch=64, seed=1, precision=\"bf16\"}"});
}

TEST(TorchParity, Gpt2TinyInBf16) {
  if (!has_bf16()) GTEST_SKIP() << kNoTiles;
  expect_parity("gpt2_tiny", {{"network", "gpt2"}, {"heads", 4}},
                {"train.steps=100", "train.precision=\"bf16\""});
}

TEST(TorchParity, CellsUnetInBf16) {
  if (!has_bf16()) GTEST_SKIP() << kNoTiles;
  expect_parity(
      "cells_unet", {{"network", "unet"}},
      {"train={steps=100, batch=4, seed=1, precision=\"bf16\"}", "data.sizes.samples=64", "metric={}"});
}

TEST(TorchParity, BertMlm) {
  expect_parity("bert_mlm", {{"network", "bert_mlm"}, {"heads", 4}, {"schedule", "linear"}},
                {"train.steps=100"});
}

TEST(TorchParity, BertMlmInBf16) {
  if (!has_bf16()) GTEST_SKIP() << kNoTiles;
  expect_parity("bert_mlm", {{"network", "bert_mlm"}, {"heads", 4}, {"schedule", "linear"}},
                {"train.steps=100", "train.precision=\"bf16\""});
}

TEST(TorchParity, CellsUnet) {
  expect_parity("cells_unet", {{"network", "unet"}},
                {"train={steps=100, batch=4, seed=1}", "data.sizes.samples=64", "metric={}"});
}

// The step as a GPU gets it, between products of bf16 as well: its graph, computed on the CPU, each tensor rounded where it is
// stored narrow. What a GPU's own kernels round is TorchParityOnGpu's to show.
class TorchParityOfTheGpusGraph : public ::testing::Test {
 protected:
  void expect(const std::string& recipe, const nlohmann::json& more) const {
    expect_parity(recipe, more, {"train={steps=40, batch=2, clip=1.0, seed=1, precision=\"bf16\"}"}, "cpu",
                  gpu_.get());
  }
  const std::shared_ptr<const runtime::Provider> gpu_ =
      runtime::testing::provider_named(runtime::testing::kCudaOnHost);
};

TEST_F(TorchParityOfTheGpusGraph, Gpt2TinyInBf16) {
  expect("gpt2_tiny", {{"network", "gpt2"}, {"heads", 4}});
}

// On a GPU, which PyTorch then has, too; there the large recipes as well, a few samples a step, in the first steps of as
// many as they are meant for: while their rates grow.
class TorchParityOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  static void expect(const std::string& recipe, const nlohmann::json& more,
                     const std::vector<std::string>& overrides) {
    expect_parity(recipe, more, overrides, GetParam());
  }
  // Two classes of pictures.
  static std::string pictures(const testing_support::TemporaryFolder& folder) {
    uint64_t seed = 1;
    for (const char* name : {"one", "other"}) {
      fs::create_directories(folder / "pictures" / name);
      for (int i = 0; i < 16; ++i) {
        Tensor image(DType::kF32, {3, 224, 224});
        const Philox random(seed++);
        const std::span<float> pixels = image.as<float>();
        for (std::size_t at = 0; at < pixels.size(); ++at)
          pixels[at] = static_cast<float>(random.uniform(at));
        EXPECT_TRUE(write_npy(folder / "pictures" / name / (std::to_string(i) + ".npy"), image).ok());
      }
    }
    return "data.path=\"" + (folder / "pictures").string() + "\"";
  }
  static std::string text() { return "data.path=\"" + (source_folder() / "README.md").string() + "\""; }
};

TEST_P(TorchParityOnGpu, DigitsCnn) {
  for (const char* precision : {"f32", "bf16"})
    expect("digits_cnn", {{"network", "digits_cnn"}},
           {"train={steps=100, batch=64, seed=1}", fmt::format("train.precision=\"{}\"", precision)});
}

TEST_P(TorchParityOnGpu, Gpt2Tiny) {
  for (const char* precision : {"f32", "bf16"})
    expect("gpt2_tiny", {{"network", "gpt2"}, {"heads", 4}},
           {"train.steps=100", fmt::format("train.precision=\"{}\"", precision)});
}

TEST_P(TorchParityOnGpu, BertMlm) {
  for (const char* precision : {"f32", "bf16"})
    expect("bert_mlm", {{"network", "bert_mlm"}, {"heads", 4}, {"schedule", "linear"}},
           {"train.steps=100", fmt::format("train.precision=\"{}\"", precision)});
}

TEST_P(TorchParityOnGpu, CellsUnet) {
  for (const char* precision : {"f32", "bf16"})
    expect("cells_unet", {{"network", "unet"}},
           {"train={steps=100, batch=4, seed=1}", "data.sizes.samples=64", "metric={}",
            fmt::format("train.precision=\"{}\"", precision)});
}

TEST_P(TorchParityOnGpu, Gpt2With124MillionParameters) {
  for (const char* precision : {"f32", "bf16"})
    expect("gpt2_124m", {{"network", "gpt2"}, {"heads", 12}},
           {"train={steps=20000, batch=2, clip=1.0, seed=1}", "model.sizes={size=256}",
            "data.sizes={length=256}", text(), fmt::format("train.precision=\"{}\"", precision)});
}

TEST_P(TorchParityOnGpu, ResNet50) {
  const testing_support::TemporaryFolder folder;
  expect("resnet50", {{"network", "resnet50"}},
         {"train={steps=20000, batch=8, seed=1}", "model.sizes.classes=2", pictures(folder)});
}

TEST_P(TorchParityOnGpu, VitB16) {
  const testing_support::TemporaryFolder folder;
  expect("vit_b16", {{"network", "vit"}, {"heads", 12}},
         {"train={steps=20000, batch=4, clip=1.0, seed=1}", "model.sizes.classes=2", pictures(folder)});
}

INSTANTIATE_TEST_SUITE_P(Gpu, TorchParityOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TorchParityOnGpu);

}  // namespace
}  // namespace hone::training
