// Training in narrow types: it learns what f32 learns, and a step whose scaled gradients overflow changes nothing.
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>

#include "kernels/cpu/dnnl/matmul.h"
#include "lab/training/datasets.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "lab/training/trainer.h"
#include "model/recipe/recipe.h"
#include "runtime/testing/half_provider.h"

namespace hone::training {
namespace {

using runtime::testing::HalfProvider;
using ::testing::HasSubstr;

template <typename T>
T had(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// A recipe's session on a device that takes f16 and bf16, with its batches.
struct RunOfRecipe {
  explicit RunOfRecipe(model::Recipe of) : recipe(std::move(of)) {
    data = had(lab::open_data(recipe.data));
    batches = had(lab::training_batches(data, recipe));
    program.emplace(
        had(lab::make_program(recipe, batches->fields(), recipe.train.steps, recipe.train.batch)));
    lab::SessionOptions options;
    options.autotune = false;
    options.precision = recipe.train.precision;
    session = had(lab::Session::make(*program, provider, options));
  }

  lab::StepNumbers step() {
    const data::Batch batch = had(batches->next());
    if (const Status written = session->write_batch(batch, *data.training); !written.ok())
      throw std::runtime_error(written.error().message);
    return had(session->step());
  }

  std::map<std::string, Tensor> states() const {
    std::map<std::string, Tensor> by_name;
    for (auto& [name, tensor] : had(session->states())) by_name[name] = tensor;
    return by_name;
  }

  // The states as they are, but for `name`.
  void set(const std::string& name, const Tensor& value) {
    model::NamedTensors all = had(session->states());
    for (auto& [each, tensor] : all)
      if (each == name) tensor = value;
    if (const Status restored = session->restore(all); !restored.ok())
      throw std::runtime_error(restored.error().message);
  }

  HalfProvider provider;
  model::Recipe recipe;
  lab::TrainingData data;
  std::unique_ptr<data::Loader> batches;
  std::optional<lab::TrainingProgram> program;
  std::unique_ptr<lab::Session> session;
};

struct NarrowRun : RunOfRecipe {
  explicit NarrowRun(const std::vector<std::string>& overrides) : RunOfRecipe(tiny_digits(overrides)) {}
};

std::vector<double> losses(const std::string& precision, int steps) {
  NarrowRun run({"train.precision=\"" + precision + "\""});
  std::vector<double> list;
  for (int i = 0; i < steps; ++i) list.push_back(run.step().loss);
  return list;
}

TEST(Precision, NarrowStepsLearnWhatF32StepsLearn) {
  constexpr int kSteps = 24;
  const std::vector<double> wide = losses("f32", kSteps);
  EXPECT_LT(wide.back(), 0.95 * wide.front());
  const std::vector<double> bf16 = losses("bf16", kSteps), fp16 = losses("fp16", kSteps);
  EXPECT_NE(bf16, wide);
  EXPECT_NE(fp16, wide);
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(bf16[i], wide[i], 0.03 * wide[i]) << i;
    EXPECT_NEAR(fp16[i], wide[i], 0.01 * wide[i]) << i;
  }
}

// Goes on with the types of one recipe with what that of others has saved: the notes, or the error.
std::string gone_on(const std::vector<std::string>& from, const std::vector<std::string>& to) {
  const testing_support::TemporaryFolder folder;
  lab::TrainerOptions options;
  options.out = folder / "run";
  options.provider = std::make_shared<HalfProvider>();
  options.device = "half";
  std::string notes;
  int64_t step = 0;
  options.on_step = [&](const lab::TrainingReport& report) { step = report.step; };
  options.should_stop = [&] { return step == 3; };
  const auto recipe = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(), {"train.steps=5", "train.evaluate_every=0"});
    return tiny_digits(overrides);
  };
  (void)had(lab::train(recipe(from), options));
  options.resume = true;
  options.on_note = [&](const std::string& note) { notes += note + "\n"; };
  const auto rest = lab::train(recipe(to), options);
  return rest.ok() ? notes : rest.error().message;
}

std::string gone_on(const std::string& from, const std::string& to) {
  return gone_on(std::vector{"train.precision=" + from}, {"train.precision=" + to});
}

TEST(Precision, AnotherThanTheCheckpointsIsToldOrRefused) {
  EXPECT_THAT(gone_on("f32", "f32"), ::testing::Not(HasSubstr("the checkpoint is of a run")));
  EXPECT_THAT(
      gone_on("f32", "bf16"),
      HasSubstr("the checkpoint is of a run in f32, and goes on in bf16: numbers are no longer equal"));
  EXPECT_THAT(gone_on("fp16", "f32"), HasSubstr("the checkpoint is of a run in fp16, and goes on in f32"));
  // There is no scale of the loss to go on with.
  const std::string refused = gone_on("f32", "fp16");
  EXPECT_THAT(refused, HasSubstr("of a run in f32, which this one, in fp16, cannot go on with"));
  EXPECT_THAT(refused, HasSubstr("--set train.precision=f32"));
}

TEST(Precision, OtherResidualSumsThanTheCheckpointsAreTold) {
  const std::vector<std::string> wide = {"train.precision=bf16"},
                                 narrow = {"train.precision=bf16", "train.residual=narrow"};
  EXPECT_THAT(gone_on(narrow, narrow), ::testing::Not(HasSubstr("the checkpoint is of a run")));
  EXPECT_THAT(gone_on(narrow, wide),
              HasSubstr("the checkpoint is of a run with residual = narrow, and goes on with residual = f32: "
                        "numbers are no longer equal"));
}

TEST(Precision, OtherWeightsThanTheCheckpointsAreRefusedByTheSettingsName) {
  const std::vector<std::string> narrow = {"train.precision=bf16", "train.weights=bf16"};
  EXPECT_THAT(gone_on(narrow, {"train.precision=bf16"}),
              ::testing::AllOf(HasSubstr("of a run with weights = bf16, which this one, with weights = f32, "
                                         "cannot go on with"),
                               HasSubstr("--set train.weights=bf16")));
  EXPECT_THAT(gone_on(narrow, {}), HasSubstr("of a run in bf16 with weights = bf16, which this one, in f32 "
                                             "with weights = f32, cannot go on with"));
  EXPECT_THAT(gone_on({"train.precision=bf16"}, narrow), HasSubstr("go on with --set train.weights=f32"));
}

TEST(Precision, AStepWhoseGradientsOverflowChangesNothingButTheScale) {
  for (const char* optimizer : {"adamw", "adam", "sgd", "lion", "lamb", "muon"}) {
    SCOPED_TRACE(optimizer);
    NarrowRun run({"train.precision=\"fp16\"", std::string("optimizer.kind=\"") + optimizer + "\"",
                   "optimizer.weight_decay=0.1"});
    EXPECT_FALSE(run.step().skipped());  // moments are no zeros now
    const Tensor scale = Tensor::scalar_f32(1e30F);
    run.set(graph::kLossScaleState, scale);
    const auto before = run.states();
    const lab::StepNumbers numbers = run.step();
    EXPECT_TRUE(numbers.skipped());
    EXPECT_EQ(numbers.loss_scale, 1e30F);
    EXPECT_TRUE(std::isfinite(numbers.loss));
    int changed = 0;
    for (const auto& [name, tensor] : run.states()) {
      const Tensor& was = before.at(name);
      if (std::memcmp(tensor.data(), was.data(), tensor.bytes()) == 0) continue;
      ++changed;
      EXPECT_THAT(name,
                  ::testing::AnyOf(graph::kLossScaleState, graph::kStepsAtScaleState, HasSubstr("random")));
    }
    EXPECT_GE(changed, 2);
    EXPECT_EQ(run.states().at(graph::kLossScaleState).at(0), 0.5F * 1e30F);
    EXPECT_EQ(run.states().at(graph::kStepsAtScaleState).int_at(0), 0);
    EXPECT_EQ(run.states().at(graph::kUpdatesState).int_at(0), 1);
  }
}

TEST(Precision, TheScaleDoublesOnceItHasHeldLongEnough) {
  NarrowRun run({"train.precision=\"fp16\""});
  run.set(graph::kStepsAtScaleState, Tensor::scalar_i64(graph::kScaleInterval - 2));
  EXPECT_EQ(run.step().loss_scale, graph::kFirstLossScale);
  EXPECT_EQ(run.step().loss_scale, graph::kFirstLossScale);
  EXPECT_EQ(run.step().loss_scale, 2 * graph::kFirstLossScale);
  EXPECT_EQ(run.states().at(graph::kStepsAtScaleState).int_at(0), 1);
}

// The norm that is told, and clipping, are those of the gradients without the scale.
TEST(Precision, TheScaleChangesNoGradient) {
  NarrowRun one({"train.precision=\"fp16\"", "train.clip=0.05"}),
      other({"train.precision=\"f32\"", "train.clip=0.05"});
  for (int i = 0; i < 3; ++i) {
    const lab::StepNumbers scaled = one.step(), plain = other.step();
    EXPECT_NEAR(scaled.gradient_norm, plain.gradient_norm, 0.02 * plain.gradient_norm);
  }
  const auto narrow = one.states(), wide = other.states();
  for (const auto& [name, tensor] : wide) {
    if (tensor.dtype() != DType::kF32) continue;
    double difference = 0, size = 0;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      difference += std::pow(narrow.at(name).at(i) - tensor.at(i), 2);
      size += std::pow(tensor.at(i), 2);
    }
    const bool is_gradient = name.starts_with("adam.m.") && tensor.rank() >= 2;
    EXPECT_LT(is_gradient ? std::sqrt(difference) : 0, 0.05 * std::sqrt(size) + 1e-30) << name;
  }
}

// The gradients of a step, as AdamW's first moment keeps a tenth of them, weights one behind the other.
std::vector<double> gradients(const std::filesystem::path& text, const std::string& precision, int parts) {
  RunOfRecipe run(tiny_gpt2(text.string(), {"train.batch=32", "train.precision=" + precision,
                                            "train.accumulate=" + std::to_string(parts)}));
  run.step();
  std::vector<double> all;
  for (const auto& [name, tensor] : run.states())
    if (name.starts_with("adam.m."))
      for (const double value : tensor.to_doubles()) all.push_back(value);
  return all;
}

double gradient_error(const std::vector<double>& found, const std::vector<double>& truth) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference += std::pow(found.at(i) - truth[i], 2);
    size += std::pow(truth[i], 2);
  }
  return std::sqrt(difference / size);
}

// Micro-batches are added in f32: in bf16 the sum of 32 would be off twice as far.
TEST(Precision, GradientsOfMicroBatchesAreAsNearAsThoseOfOneBatch) {
  const testing_support::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + i * i % 23);
  std::ofstream(folder / "t.txt") << text;
  // f32 is a thousand times as near to f64 as bf16 is, however it is cut.
  const std::vector<double> truth = gradients(folder / "t.txt", "f32", 1);
  EXPECT_LT(gradient_error(gradients(folder / "t.txt", "f32", 32), truth), 1e-6);
  const double one = gradient_error(gradients(folder / "t.txt", "bf16", 1), truth);
  EXPECT_GT(one, 1e-3);
  for (const int parts : {2, 8, 32})
    EXPECT_LT(gradient_error(gradients(folder / "t.txt", "bf16", parts), truth), 1.25 * one) << parts;
}

// --- weights of bf16 ---

const std::vector<std::string> kNarrowWeights = {"train.precision=bf16", "train.weights=bf16"};

std::vector<std::string> with_narrow_weights(std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), kNarrowWeights.begin(), kNarrowWeights.end());
  return overrides;
}

TEST(NarrowWeights, AreStatesOfBf16AndEverythingElseIsF32) {
  NarrowRun run(with_narrow_weights({"train.ema=0.9"}));
  int narrow = 0;
  for (const auto& [name, tensor] : run.states()) {
    const bool is_weight =
        std::any_of(run.program->model.parameters.begin(), run.program->model.parameters.end(),
                    [&, &weight = name](const graph::NamedTensor& p) { return p.name == weight; });
    EXPECT_EQ(tensor.dtype() == DType::kBF16, is_weight) << name;
    narrow += is_weight;
  }
  EXPECT_GT(narrow, 4);
  for (const auto& [name, tensor] : had(run.session->trained_values()))
    EXPECT_EQ(tensor.dtype(), DType::kF32) << name;
}

// All optimizers: nothing but seed, update and place decides how weights are rounded.
TEST(NarrowWeights, GoOnBitForBit) {
  for (const char* optimizer : {"adamw", "adam", "sgd", "lion", "lamb", "muon"}) {
    SCOPED_TRACE(optimizer);
    const auto overrides = with_narrow_weights(
        {std::string("optimizer.kind=\"") + optimizer + "\"", "optimizer.weight_decay=0.1"});
    NarrowRun whole(overrides), rest(overrides);
    for (int i = 0; i < 3; ++i) whole.step();
    const model::NamedTensors kept = had(whole.session->states());
    std::vector<double> losses, again;
    for (int i = 0; i < 4; ++i) losses.push_back(whole.step().loss);
    ASSERT_TRUE(rest.session->restore(kept).ok());
    ASSERT_TRUE(rest.batches->seek({0, 3}).ok());
    for (int i = 0; i < 4; ++i) again.push_back(rest.step().loss);
    EXPECT_EQ(again, losses);
    const auto a = whole.states(), b = rest.states();
    for (const auto& [name, tensor] : a) EXPECT_TRUE(same_tensor(tensor, b.at(name))) << name;
  }
}

TEST(NarrowWeights, AreRoundedOtherwiseByAnotherSeed) {
  const auto weights_of = [](const std::string& seed) {
    NarrowRun run(
        with_narrow_weights({"train.seed=" + seed, "data.sizes.samples=10", "data.validation=0.2"}));
    run.step();
    std::string bytes;
    for (const auto& [name, tensor] : run.states())
      if (tensor.dtype() == DType::kBF16)
        bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
    return bytes;
  };
  EXPECT_EQ(weights_of("1"), weights_of("1"));
  EXPECT_NE(weights_of("1"), weights_of("2"));
}

// Steps of a small model, of which the last third is compared: rounding is noise, and no drift.
std::vector<double> losses_of_text(const std::filesystem::path& text, const std::vector<std::string>& more,
                                   int steps) {
  std::vector<std::string> overrides = {"train.steps=" + std::to_string(steps), "optimizer.rate=3e-3"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  RunOfRecipe run(tiny_gpt2(text.string(), overrides));
  std::vector<double> list;
  for (int i = 0; i < steps; ++i) list.push_back(run.step().loss);
  return list;
}

TEST(NarrowWeights, LearnWhatF32MastersLearn) {
  const testing_support::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 6000; ++i) text += static_cast<char>('a' + (i % 13) * (i % 7) % 23);
  std::ofstream(folder / "t.txt") << text;
  constexpr int kSteps = 150;
  const std::vector<double> masters = losses_of_text(folder / "t.txt", {"train.precision=bf16"}, kSteps),
                            rounded = losses_of_text(folder / "t.txt", kNarrowWeights, kSteps);
  EXPECT_NE(rounded, masters);
  EXPECT_LT(masters.back(), 0.5 * masters.front());
  double of_masters = 0, of_rounded = 0;
  for (int i = 2 * kSteps / 3; i < kSteps; ++i) {
    of_masters += masters[static_cast<std::size_t>(i)];
    of_rounded += rounded[static_cast<std::size_t>(i)];
  }
  EXPECT_NEAR(of_rounded, of_masters, 0.05 * of_masters);
}

// --- hone train ---

TEST(Precision, ATypeThatTheDeviceDoesNotTakeIsAnErrorBeforeAnythingIsWritten) {
  const testing_support::TemporaryFolder folder;
  lab::TrainerOptions options;
  options.out = folder / "run";
  const auto result = lab::train(tiny_digits({"train.precision=\"fp16\""}), options);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message,
              ::testing::AllOf(HasSubstr("[train] precision = \"fp16\" cannot be had"),
                               HasSubstr("take no f16"), HasSubstr("train.precision=f32")));
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(NarrowWeights, GoOnFromACheckpointOnMatrixTiles) {
  if (!kernels::has_tiles_of_bf16()) GTEST_SKIP() << "NOT RUN: this CPU has no matrix tiles";
  const testing_support::TemporaryFolder folder;
  const auto losses_of = [&](const std::filesystem::path& out, bool resume, int64_t stop_behind) {
    std::vector<double> losses;
    lab::TrainerOptions options;
    options.out = out;
    options.resume = resume;
    options.threads = 1;
    int64_t step = 0;
    options.on_step = [&](const lab::TrainingReport& report) {
      losses.push_back(report.loss);
      step = report.step;
    };
    options.should_stop = [&] { return step == stop_behind; };
    const auto result = lab::train(
        resume ? had(model::read_recipe(out / model::kRecipeFile)) : tiny_digits(with_narrow_weights({})),
        options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return losses;
  };
  const std::vector<double> whole = losses_of(folder / "whole", false, -1);
  std::vector<double> parts = losses_of(folder / "parts", false, 13);
  for (const double loss : losses_of(folder / "parts", true, -1)) parts.push_back(loss);
  EXPECT_EQ(parts, whole);
}

TEST(Precision, TrainsOnMatrixTilesAndSaysWhichOperatorsRunInThem) {
  if (!kernels::has_tiles_of_bf16()) GTEST_SKIP() << "NOT RUN: this CPU has no matrix tiles";
  const testing_support::TemporaryFolder folder;
  std::vector<std::string> notes;
  lab::TrainerOptions options;
  options.out = folder / "run";
  options.threads = 1;
  options.on_note = [&](const std::string& note) { notes.push_back(note); };
  const auto result = lab::train(tiny_digits({"train.precision=\"bf16\""}), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(notes, ::testing::Contains(::testing::AllOf(HasSubstr("bf16: "), HasSubstr("Conv"))));
  EXPECT_LT(result->last.loss, 2);
}

}  // namespace
}  // namespace hone::training
