#include "tests/cli/test_models.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>

#include "core/npy/npy.h"
#include "graph/builder.h"
#include "model/onnx/writer.h"

namespace hone::testing_support {
namespace {

void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message);
}

Tensor random_tensor(Shape shape, std::mt19937& random) {
  std::uniform_real_distribution<float> between(0.1F, 1.0F);
  Tensor tensor(DType::kF32, std::move(shape));
  std::generate_n(tensor.as<float>().begin(), tensor.size(), [&] { return between(random); });
  return tensor;
}

graph::Graph finished(graph::GraphBuilder builder) {
  auto graph = std::move(builder).finish();
  if (!graph.ok()) throw std::runtime_error(graph.error().message);
  return *std::move(graph);
}

}  // namespace

void write_small_network(const std::filesystem::path& path, unsigned seed) {
  using graph::Dim;
  std::mt19937 random(seed);
  graph::GraphBuilder builder("small");
  const auto x = builder.input("x", graph::tensor_type(DType::kF32, {Dim::symbol("batch"), 3, 8, 8}));
  const auto w = builder.constant("w", random_tensor({4, 3, 3, 3}, random));
  const auto conv = builder.add("Conv", {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}, "conv");
  std::vector<graph::ValueId> inputs = {conv};
  for (const char* name : {"scale", "bias", "mean", "variance"})
    inputs.push_back(builder.constant(name, random_tensor({4}, random)));
  const auto norm = builder.add("BatchNormalization", inputs, {}, "norm");
  const auto y = builder.add("Relu", {norm}, {}, "relu");
  builder.rename(y, "y");
  builder.output(y);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_endless_network(const std::filesystem::path& path) {
  using graph::tensor_type;
  graph::GraphBuilder body("body");
  const auto trip = body.input("trip", tensor_type(DType::kI64, Shape{}));
  body.input("going", tensor_type(DType::kBool, Shape{}));
  const auto state = body.input("state", tensor_type(DType::kF32, Shape{1}));
  const auto going = body.add("GreaterOrEqual", {trip, body.constant("zero", Tensor::scalar_i64(0))});
  body.set_outputs({going, body.add("Identity", {state}), body.add("Neg", {state})});

  graph::GraphBuilder builder("endless");
  const auto x = builder.input("x", tensor_type(DType::kF32, Shape{1}));
  graph::Node loop;
  loop.op = "Loop";
  loop.name = "forever";
  loop.inputs = {graph::kNoValue, graph::kNoValue, x};
  loop.bodies = {std::make_shared<const graph::Graph>(finished(std::move(body)))};
  const std::vector<std::string> names = {"last", "all"};
  const auto results = builder.try_add(std::move(loop), names);
  if (!results.ok()) throw std::runtime_error(results.error().message);
  const auto y = builder.add(
      "Add", {(*results)[0], builder.add("ReduceMax", {(*results)[1]}, {{"keepdims", int64_t{0}}})});
  builder.rename(y, "y");
  builder.output(y);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_doubling_network(const std::filesystem::path& path, int times) {
  graph::GraphBuilder builder("doubling");
  const auto x = builder.input("x", graph::tensor_type(DType::kF32, Shape{1}));
  auto grown = builder.constant("seed", Tensor::zeros(DType::kF32, {4}));
  for (int i = 0; i < times; ++i)
    grown = builder.add("Concat", {grown, grown}, {{"axis", int64_t{0}}}, "double" + std::to_string(i));
  const auto y = builder.add("Add", {x, builder.add("ReduceMax", {grown}, {{"keepdims", int64_t{0}}})});
  builder.rename(y, "y");
  builder.output(y);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_lookup_network(const std::filesystem::path& path, unsigned seed) {
  std::mt19937 random(seed);
  graph::GraphBuilder builder("lookup");
  const auto rows = builder.input("rows", graph::tensor_type(DType::kI64, Shape{4}));
  const auto y =
      builder.add("Gather", {builder.constant("table", random_tensor({100'000, 64}, random)), rows});
  builder.rename(y, "y");
  builder.output(y);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_slow_network(const std::filesystem::path& path) {
  constexpr int kCopies = 16;
  std::mt19937 random(1);
  graph::GraphBuilder builder("slow");
  const auto x = builder.input("x", graph::tensor_type(DType::kF32, Shape{256, 512}));
  const auto weights = builder.constant("weights", random_tensor({512, 512}, random));
  std::vector<graph::ValueId> products;
  for (int i = 0; i < kCopies; ++i) products.push_back(builder.add("MatMul", {x, weights}));
  const auto y = builder.add("Sum", products);
  builder.rename(y, "y");
  builder.output(y);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_outputs_network(const std::filesystem::path& path, const std::vector<std::string>& outputs) {
  graph::GraphBuilder builder("outputs");
  const auto x = builder.input("x", graph::tensor_type(DType::kF32, Shape{1}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto step = builder.constant("c" + std::to_string(i), Tensor::scalar_f32(static_cast<float>(i)));
    const auto y = builder.add("Add", {x, step});
    builder.rename(y, outputs[i]);
    builder.output(y);
  }
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_host_network(const std::filesystem::path& path) {
  using graph::tensor_type;
  std::mt19937 random(1);
  graph::GraphBuilder builder("host");
  const auto x = builder.input("x", tensor_type(DType::kF32, Shape{1, 4, 8, 8}));
  const auto weights = builder.constant("weights", random_tensor({4, 4, 3, 3}, random));
  const auto conv = builder.add("Conv", {x, weights}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}, "conv");

  const auto branch = [&](const char* name, const char* op) {
    graph::GraphBuilder body(name);
    const auto given = body.input(std::string(name) + "_in", tensor_type(DType::kF32, Shape{1, 4, 8, 8}));
    body.set_outputs({body.add(op, {given})});
    return std::make_shared<const graph::Graph>(finished(std::move(body)));
  };
  graph::Node choice;
  choice.op = "If";
  choice.name = "branch";
  const auto largest = builder.add("ReduceMax", {conv}, {{"keepdims", int64_t{0}}});
  choice.inputs = {builder.add("Greater", {largest, builder.constant("zero", Tensor::scalar_f32(0))}), conv};
  choice.bodies = {branch("then", "Relu"), branch("else", "Neg")};
  choice.captures = 1;
  const std::string chosen_name = "chosen";
  const auto chosen = builder.try_add(std::move(choice), std::span(&chosen_name, 1));
  if (!chosen.ok()) throw std::runtime_error(chosen.error().message);

  const auto flat = [&](std::vector<int64_t> shape, const char* name) {
    Tensor extents(DType::kI64, {static_cast<int64_t>(shape.size())});
    std::copy(shape.begin(), shape.end(), extents.as<int64_t>().begin());
    return builder.add("Reshape", {(*chosen)[0], builder.constant(name, std::move(extents))});
  };
  const auto kept = builder.add("NonMaxSuppression",
                                {flat({1, 64, 4}, "boxes"), flat({1, 4, 64}, "scores"),
                                 builder.constant("most", Tensor::scalar_i64(8))},
                                {}, "nms");
  const auto places = builder.add("NonZero", {conv}, {}, "places");
  const auto turned = builder.add("Transpose", {places}, {}, "turned");
  builder.rename(kept, "kept");
  builder.rename(turned, "where");
  builder.set_outputs({kept, turned});
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_long_network(const std::filesystem::path& path) {
  constexpr int kLayers = 12;
  std::mt19937 random(1);
  graph::GraphBuilder builder("long");
  auto value = builder.input("x", graph::tensor_type(DType::kF32, Shape{1, 16, 96, 96}));
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = std::to_string(i);
    value = builder.add("Conv", {value, builder.constant("w" + layer, random_tensor({16, 16, 3, 3}, random))},
                        {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    std::vector<graph::ValueId> inputs = {value};
    for (const char* name : {"scale", "bias", "mean", "variance"})
      inputs.push_back(builder.constant(name + layer, random_tensor({16}, random)));
    value = builder.add("Sigmoid", {builder.add("BatchNormalization", inputs)});
  }
  builder.rename(value, "y");
  builder.output(value);
  must(model::write_onnx(finished(std::move(builder)), path));
}

void write_f32_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, float value) {
  Tensor tensor(DType::kF32, shape);
  std::fill_n(tensor.as<float>().begin(), tensor.size(), value);
  must(write_npy(path, tensor));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace hone::testing_support
