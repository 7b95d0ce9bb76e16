// A user's own model: one with an operator that has no gradient, what is said of it, and that doing what is said makes it train; and one
// that learns where it reads its image.
#include <algorithm>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/philox.h"
#include "graph/builder.h"
#include "lab/training/trainer.h"
#include "model/onnx/reader.h"
#include "model/onnx/writer.h"

namespace hone::training {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
using Ints = std::vector<int64_t>;
namespace fs = std::filesystem;

ValueId weight(GraphBuilder& b, const std::string& name, Shape shape) {
  Tensor tensor(DType::kF32, std::move(shape));
  const Philox random(std::hash<std::string>()(name));
  for (std::size_t i = 0; i < tensor.as<float>().size(); ++i)
    tensor.as<float>()[i] = static_cast<float>(random.normal(i)) * 0.2F;
  return b.constant(name, tensor);
}

// Sums over what a convolution makes of the image, behind a cache that it is written to: TensorScatter has no gradient.
ValueId cached_means(GraphBuilder& b, ValueId image, const std::string& name) {
  const ValueId made =
      b.add("Conv", {image, weight(b, name + ".weight", {8, 1, 3, 3}), weight(b, name + ".bias", {8})},
            {{"pads", Ints{1, 1, 1, 1}}}, name + ".conv");
  const ValueId cached = b.add("TensorScatter", {made, made}, {}, name + ".cache");
  return b.add("ReduceMean", {cached, b.constant(name + ".axes", Tensor::i64({2}, Ints{2, 3}))},
               {{"keepdims", int64_t{0}}}, name + ".mean");
}

// Means by `branches`, scaled, and a dense layer that can be trained.
graph::Graph determined(const std::vector<std::string>& branches, bool with_dense) {
  GraphBuilder b("net");
  const ValueId image =
      b.input("image", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("n"), 1, 12, 12}));
  ValueId sum;
  for (const std::string& name : branches) {
    const ValueId one = b.add("Tanh", {cached_means(b, image, name)}, {}, name + ".tanh");
    sum = sum.valid() ? b.add("Add", {sum, one}, {}, name + ".sum") : one;
  }
  ValueId logits = b.add("Concat", {sum, sum}, {{"axis", int64_t{1}}});
  if (with_dense)
    logits = b.add("Gemm", {sum, weight(b, "dense.weight", {8, 10}), weight(b, "dense.bias", {10})});
  b.rename(logits, "logits");
  b.output(logits);
  auto made = std::move(b).finish();
  if (!made.ok()) throw std::runtime_error(made.error().message);
  return *std::move(made);
}

model::Recipe recipe_of(const fs::path& onnx, const std::vector<std::string>& overrides) {
  std::string text = tiny_digits_text();
  text.replace(0, text.find("[data]"), "[model]\nonnx = \"" + onnx.string() + "\"\n");
  std::vector<std::string> all = overrides;
  all.emplace_back("train.steps=4");
  auto recipe = model::parse_recipe(text, "net.toml", all);
  if (!recipe.ok()) throw std::runtime_error(recipe.error().message);
  return *std::move(recipe);
}

std::string error_of(const fs::path& onnx, const fs::path& out,
                     const std::vector<std::string>& overrides = {}) {
  lab::TrainerOptions options;
  options.out = out;
  options.threads = 1;
  const auto run = lab::train(recipe_of(onnx, overrides), options);
  return run.ok() ? "" : run.error().message;
}

// The list behind "[model] freeze = ".
std::string advised(const std::string& message) {
  const std::string before = "[model] freeze = ";
  const std::size_t begin = message.find(before) + before.size();
  return message.substr(begin, message.find(']', begin) + 1 - begin);
}

TEST(BroughtModel, TrainsWithWhatItIsToldToFreeze) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& branches :
       {std::vector<std::string>{"stem"}, {"stem.left", "stem.right"}, {"one", "two"}}) {
    const fs::path onnx = folder / "net.onnx";
    ASSERT_TRUE(model::write_onnx(determined(branches, true), onnx).ok());
    const fs::path out = folder / branches[0];
    const std::string message = error_of(onnx, out);
    EXPECT_THAT(
        message,
        HasSubstr(branches.back() +
                  ".cache' (TensorScatter): unsupported: the gradient of TensorScatter; freeze what lies "
                  "before it"));
    EXPECT_THAT(message, HasSubstr("; 2 left to train"));
    EXPECT_FALSE(fs::exists(out));
    EXPECT_EQ(error_of(onnx, out, {"model.freeze=" + advised(message)}), "") << message;
  }
}

TEST(BroughtModel, SaysWhereNothingWouldBeLeftToTrain) {
  const TemporaryFolder folder;
  const fs::path onnx = folder / "net.onnx";
  ASSERT_TRUE(model::write_onnx(determined({"stem"}, false), onnx).ok());
  EXPECT_THAT(error_of(onnx, folder / "run"), HasSubstr("every weight lies before it"));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// Logits to which "table" adds only where its largest elements stand.
TEST(BroughtModel, NamesAWeightThatNoGradientReaches) {
  GraphBuilder b("net");
  const ValueId image =
      b.input("image", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("n"), 1, 12, 12}));
  const ValueId logits =
      b.add("Gemm", {b.add("Flatten", {image}), weight(b, "dense.weight", {144, 10})}, {}, "dense");
  const ValueId places =
      b.add("ArgMax", {weight(b, "table.weight", {2, 10})}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}});
  const ValueId sum = b.add("Add", {logits, b.add("Cast", {places}, {{"to", int64_t{1}}})});
  b.rename(sum, "logits");
  b.output(sum);
  const auto net = std::move(b).finish();
  ASSERT_TRUE(net.ok()) << net.error().message;
  const TemporaryFolder folder;
  const fs::path onnx = folder / "net.onnx";
  ASSERT_TRUE(model::write_onnx(*net, onnx).ok());
  lab::TrainerOptions options;
  options.out = folder / "run";
  options.threads = 1;
  std::string notes;
  options.on_note = [&](const std::string& note) { notes += note + "\n"; };
  const auto run = lab::train(recipe_of(onnx, {"optimizer.weight_decay=0.5"}), options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_THAT(notes, HasSubstr("no gradient reaches 1 weight; the optimizer leaves alone table.weight\n"));
  EXPECT_EQ(run->parameters, 1440);
  const auto trained = model::read_onnx(run->model);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_TRUE(same_tensor(*trained->value(trained->find_value("table.weight")).constant,
                          *net->value(net->find_value("table.weight")).constant));
}

// A spatial transformer (Jaderberg et al. 2015): where the image is read is learned, beginning with the image as it is.
graph::Graph spatial_transformer() {
  GraphBuilder b("net");
  const ValueId image =
      b.input("image", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("n"), 1, 12, 12}));
  const ValueId unchanged = b.constant("map.bias", Tensor::f32({6}, std::vector<float>{1, 0, 0, 0, 1, 0}));
  const ValueId map =
      b.add("Gemm", {b.add("Flatten", {image}), weight(b, "map.weight", {144, 6}), unchanged});
  const ValueId theta = b.add("Reshape", {map, b.constant("form", Tensor::i64({3}, Ints{-1, 2, 3}))});
  const ValueId grid = b.add("AffineGrid", {theta, b.add("Shape", {image})}, {}, "grid");
  const ValueId read = b.add("Flatten", {b.add("GridSample", {image, grid}, {}, "read")});
  const ValueId logits =
      b.add("Gemm", {read, weight(b, "dense.weight", {144, 10}), weight(b, "dense.bias", {10})});
  b.rename(logits, "logits");
  b.output(logits);
  auto made = std::move(b).finish();
  if (!made.ok()) throw std::runtime_error(made.error().message);
  return *std::move(made);
}

TEST(BroughtModel, LearnsWhereToReadTheImage) {
  const TemporaryFolder folder;
  ASSERT_TRUE(model::write_onnx(spatial_transformer(), folder / "net.onnx").ok());
  EXPECT_EQ(error_of(folder / "net.onnx", folder / "run"), "");
  const auto trained = model::read_onnx(folder / "run" / "model.onnx");
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto bias = std::find_if(trained->values().begin(), trained->values().end(),
                                 [](const graph::Value& value) { return value.name == "map.bias"; });
  ASSERT_NE(bias, trained->values().end());
  ASSERT_TRUE(bias->constant.has_value());
  EXPECT_NE(bias->constant->to_doubles(), (std::vector<double>{1, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace hone::training
