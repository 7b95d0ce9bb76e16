#include "tests/passes/numbers.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "graph/text.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"

namespace hone::testing_support {
namespace {

Tensor random_tensor(const graph::TensorType& type, std::mt19937& random) {
  Tensor tensor(type.dtype, type.shape());
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (type.dtype == DType::kF32) tensor.as<float>()[at] = normal(random);
    if (type.dtype == DType::kF64) tensor.as<double>()[at] = static_cast<double>(normal(random));
    if (type.dtype == DType::kF16) tensor.as<uint16_t>()[at] = f32_to_f16(static_cast<float>(random() % 7));
    if (type.dtype == DType::kBF16) tensor.as<uint16_t>()[at] = f32_to_bf16(static_cast<float>(random() % 7));
    if (type.dtype == DType::kI64) tensor.as<int64_t>()[at] = static_cast<int64_t>(random() % 7);
    if (type.dtype == DType::kBool) tensor.as<uint8_t>()[at] = static_cast<uint8_t>(random() % 2);
  }
  return tensor;
}

// By how much the worst element is off; infinite where one is a number and the other is not.
double worst_error(const Tensor& got, const Tensor& wanted) {
  double worst = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = got.at(i);
    const double y = wanted.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y) / (1 + std::abs(y));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  return worst;
}

void expect_outputs(const Result<std::vector<Tensor>>& got, const std::vector<Tensor>& wanted,
                    double tolerance, const char* how) {
  ASSERT_TRUE(got.ok()) << how << ": " << got.error().message;
  ASSERT_EQ(got->size(), wanted.size()) << how;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    ASSERT_EQ((*got)[k].shape(), wanted[k].shape()) << how;
    ASSERT_EQ((*got)[k].dtype(), wanted[k].dtype()) << how;
    EXPECT_LE(worst_error((*got)[k], wanted[k]), tolerance) << how << ", output " << k;
  }
}

}  // namespace

graph::Graph graph_from(const std::string& text) {
  auto graph = graph::parse("graph \"test\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

void expect_same_numbers(const graph::Graph& before, const graph::Graph& after,
                         const runtime::Provider& provider, Agreement agreement) {
  std::mt19937 random(17);
  std::vector<Tensor> inputs;
  for (graph::ValueId input : before.inputs()) inputs.push_back(random_tensor(before.type(input), random));
  const auto wanted = runtime::interpret(before, inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  expect_outputs(runtime::interpret(after, inputs), *wanted, agreement.interpreted, "interpreted");
  runtime::PlanOptions options;
  options.autotune = false;
  auto planned = runtime::execute(after, provider, inputs, options);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  EXPECT_TRUE(planned->planned) << planned->how;
  expect_outputs(std::move(planned->outputs), *wanted, agreement.planned, "planned");
}

}  // namespace hone::testing_support
