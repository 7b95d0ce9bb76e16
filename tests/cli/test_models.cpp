#include "tests/cli/test_models.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "graph/builder.h"
#include "model/npy/npy.h"
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
  auto graph = std::move(builder).finish();
  if (!graph.ok()) throw std::runtime_error(graph.error().message);
  must(model::write_onnx(*graph, path));
}

void write_f32_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, float value) {
  Tensor tensor(DType::kF32, shape);
  std::fill_n(tensor.as<float>().begin(), tensor.size(), value);
  must(model::write_npy(path, tensor));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace hone::testing_support
