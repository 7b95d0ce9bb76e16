#include "tests/gradients/check_gradient.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/verify.h"
#include "runtime/interpreter.h"

namespace hone::gradients {
namespace {

using graph::Dim;
using graph::Dims;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Extents of 1 stay numbers: whether they are broadcast is part of the rule.
Dims as_symbols(const Shape& shape) {
  Dims dims;
  for (const int64_t extent : shape)
    dims.push_back(extent == 1 ? Dim(1) : Dim::symbol(fmt::format("n{}", extent)));
  return dims;
}

double weighted_sum(const Tensor& y, const Tensor& weights) {
  double sum = 0;
  for (int64_t i = 0; i < y.size(); ++i) sum += y.at(i) * weights.at(i);
  return sum;
}

enum class Extents : uint8_t { kKnown, kOpenBatch, kSymbols };

class Check {
 public:
  Check(const std::vector<Shape>& shapes, const Build& build, const GradientOptions& options)
      : shapes_(shapes), build_(build), options_(options) {
    for (const Shape& shape : shapes)
      inputs_.push_back(
          random_doubles(shape, 7 + static_cast<uint32_t>(inputs_.size()), options.low, options.high));
  }

  void run() {
    const Graph forward = forward_graph();
    const Tensor y = output_of(forward);
    weights_ = random_doubles(y.shape(), 99, 0.5, 1.5);
    auto with_gradients = differentiated(Extents::kKnown);
    ASSERT_TRUE(with_gradients.ok()) << with_gradients.error().message;
    compare(forward, *with_gradients, "known extents");
    if (!options_.batched.empty()) {
      auto batched = differentiated(Extents::kOpenBatch);
      ASSERT_TRUE(batched.ok()) << batched.error().message;
      compare(forward, *batched, "an open batch");
    }
    if (options_.known_extents_only) return;
    auto symbolic = differentiated(Extents::kSymbols);
    if (options_.needs_extents) {
      ASSERT_FALSE(symbolic.ok());
      EXPECT_EQ(symbolic.error().code, ErrorCode::kUnsupported) << symbolic.error().message;
    } else {
      ASSERT_TRUE(symbolic.ok()) << symbolic.error().message;
      compare(forward, *symbolic, "symbolic extents");
    }
  }

 private:
  Dims dims_of(std::size_t input, Extents extents) const {
    const Shape& shape = shapes_[input];
    if (extents == Extents::kSymbols) return as_symbols(shape);
    Dims dims = graph::to_dims(shape);
    const auto& batched = options_.batched;
    if (extents == Extents::kOpenBatch && std::find(batched.begin(), batched.end(), input) != batched.end())
      dims[0] = Dim::symbol("batch");
    return dims;
  }

  std::vector<ValueId> add_inputs(GraphBuilder& builder, Extents extents) const {
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      ids.push_back(
          builder.input(fmt::format("x{}", i), graph::tensor_type(DType::kF64, dims_of(i, extents))));
    return ids;
  }

  Graph forward_graph() const {
    GraphBuilder builder("forward");
    builder.output(build_(builder, add_inputs(builder, Extents::kKnown)));
    return *std::move(builder).finish();
  }

  Result<Graph> differentiated(Extents extents) const {
    GraphBuilder builder("gradient");
    const std::vector<ValueId> xs = add_inputs(builder, extents);
    const ValueId y = build_(builder, xs);
    graph::DifferentiateOptions options;
    options.seed = builder.input("seed", builder.type(y));
    HONE_ASSIGN(const std::vector<ValueId> gradients, graph::differentiate(builder, y, xs, options));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const auto text = builder.type(gradients[i]).text();
      EXPECT_TRUE(extents != Extents::kKnown || text == builder.type(xs[i]).text()) << text;
      builder.output(gradients[i]);
    }
    HONE_ASSIGN(Graph graph, std::move(builder).finish());
    HONE_CHECK(graph::verify(graph));
    return graph;
  }

  Tensor output_of(const Graph& graph) const {
    auto outputs = runtime::interpret(graph, inputs_);
    if (!outputs.ok()) throw std::logic_error(outputs.error().message);
    return (*outputs)[0];
  }

  double difference(const Graph& forward, std::size_t input, int64_t element) const {
    const auto loss_at = [&](double offset) {
      Check moved = *this;
      moved.inputs_[input] = inputs_[input].clone();
      moved.inputs_[input].as<double>()[static_cast<std::size_t>(element)] += offset;
      return weighted_sum(moved.output_of(forward), weights_);
    };
    return (loss_at(options_.step) - loss_at(-options_.step)) / (2 * options_.step);
  }

  void compare(const Graph& forward, const Graph& with_gradients, const char* what) const {
    std::vector<Tensor> given = inputs_;
    given.push_back(weights_);
    auto gradients = runtime::interpret(with_gradients, given);
    ASSERT_TRUE(gradients.ok()) << what << ": " << gradients.error().message;
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const Tensor& gradient = (*gradients)[input];
      ASSERT_EQ(gradient.shape(), shapes_[input]) << what;
      for (int64_t i = 0; i < gradient.size(); ++i) {
        const double wanted = difference(forward, input, i);
        const double error = std::abs(gradient.at(i) - wanted) / (1 + std::abs(wanted));
        ASSERT_LT(error, options_.tolerance) << what << ", input " << input << ", element " << i << ": "
                                             << gradient.at(i) << " for " << wanted;
        ASSERT_FALSE(std::isnan(error));
      }
    }
  }

  const std::vector<Shape> shapes_;
  const Build build_;
  const GradientOptions options_;
  std::vector<Tensor> inputs_;
  Tensor weights_;
};

}  // namespace

Tensor random_doubles(const Shape& shape, uint32_t seed, double low, double high) {
  Tensor tensor(DType::kF64, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  for (double& element : tensor.as<double>()) element = draw(random);
  return tensor;
}

void check_gradient(const std::vector<Shape>& shapes, const Build& build, const GradientOptions& options) {
  Check(shapes, build, options).run();
}

}  // namespace hone::gradients
