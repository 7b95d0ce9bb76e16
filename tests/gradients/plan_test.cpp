// Steps of training on the CPU's own kernels: the same numbers as the reference interpreter's, and nothing that takes
// time is left to the reference.
#include <cmath>
#include <random>
#include <set>

#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/losses.h"
#include "lab/prepared.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"

namespace hone::gradients {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// A network whose parameters are inputs, and its gradients by them.
class Network {
 public:
  ValueId parameter(const Shape& shape) {
    parameters_.push_back(
        b.input("p" + std::to_string(parameters_.size()), graph::tensor_type(DType::kF32, shape)));
    return parameters_.back();
  }
  ValueId input(const std::string& name, const Shape& shape, DType dtype = DType::kF32) {
    return b.input(name, graph::tensor_type(dtype, shape));
  }
  ValueId conv(ValueId x, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
    const int64_t pad = kernel / 2;
    return b.add("Conv", {x, parameter({out, in, kernel, kernel})},
                 {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  }
  ValueId batch_norm(ValueId x, int64_t channels) {
    const ValueId mean = input("mean" + std::to_string(b.nodes().size()), {channels});
    const ValueId variance = input("variance" + std::to_string(b.nodes().size()), {channels});
    const Values out =
        b.add_many("BatchNormalization", {x, parameter({channels}), parameter({channels}), mean, variance}, 3,
                   {{"training_mode", int64_t{1}}});
    b.output(out[1]);
    b.output(out[2]);
    return out[0];
  }
  ValueId dense(ValueId x, int64_t in, int64_t out) {
    return b.add("Add", {b.add("MatMul", {x, parameter({in, out})}), parameter({out})});
  }
  Graph step(ValueId loss) && {
    const auto gradients = graph::differentiate(b, loss, parameters_);
    if (!gradients.ok()) throw std::logic_error(gradients.error().message);
    b.output(loss);
    for (const ValueId gradient : *gradients) b.output(gradient);
    return *std::move(b).finish();
  }

  GraphBuilder b{"step"};

 private:
  Values parameters_;
};

std::vector<Tensor> drawn(const Graph& graph) {
  std::mt19937 random(5);
  std::vector<Tensor> tensors;
  for (const ValueId input : graph.inputs()) {
    const graph::TensorType& type = graph.type(input);
    Tensor tensor(type.dtype, type.shape());
    if (type.dtype == DType::kI64) {
      for (int64_t& value : tensor.as<int64_t>()) value = static_cast<int64_t>(random() % 7);
    } else {
      const float low = graph.value(input).name.starts_with("variance") ? 0.5F : -0.5F;
      std::uniform_real_distribution<float> draw(low, low + 1);
      for (float& value : tensor.as<float>()) value = draw(random);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Operators that the reference may run, because they take no time.
const std::set<std::string> kCheap{"Range", "Shape", "Size", "ConstantOfShape"};

void check_step(const Graph& graph) {
  const auto provider = runtime::make_provider("cpu");
  ASSERT_TRUE(provider.ok());
  const std::vector<Tensor> inputs = drawn(graph);
  const auto wanted = runtime::interpret(graph, inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  const auto optimised = lab::optimise(graph, **provider, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  auto plan = lab::compile_plan(*optimised, **provider, inputs, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const runtime::PlanStep& step : (*plan)->steps())
    EXPECT_TRUE(!step.reference || kCheap.contains(step.op)) << step.op << " '" << step.name << "'";
  const auto got = (*plan)->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  for (std::size_t i = 0; i < got->size(); ++i) {
    double largest = 1e-6;
    for (int64_t k = 0; k < (*wanted)[i].size(); ++k)
      largest = std::max(largest, std::abs((*wanted)[i].at(k)));
    for (int64_t k = 0; k < (*wanted)[i].size(); ++k)
      ASSERT_NEAR((*got)[i].at(k), (*wanted)[i].at(k), 2e-4 * largest) << "output " << i << ", element " << k;
  }
}

TEST(TrainingPlan, OfASegmentingNetworkRunsOnFastKernels) {
  Network n;
  const ValueId x = n.input("x", {2, 1, 16, 16}), t = n.input("t", {2, 1, 16, 16});
  const auto block = [&](ValueId v, int64_t in, int64_t out) {
    return n.b.add("Relu", {n.batch_norm(n.conv(v, in, out, 3), out)});
  };
  const ValueId fine = block(x, 1, 8);
  const ValueId pooled = n.b.add("MaxPool", {fine}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId coarse = block(pooled, 8, 19);
  const ValueId up = n.b.add("ConvTranspose", {coarse, n.parameter({19, 8, 2, 2}), n.parameter({8})},
                             {{"strides", Ints{2, 2}}});
  const ValueId joined = n.b.add("Concat", {fine, up}, {{"axis", int64_t{1}}});
  const ValueId y = n.conv(block(joined, 16, 8), 8, 1, 1);
  const ValueId loss =
      n.b.add("Add", {made(graph::binary_cross_entropy_loss(n.b, y, t)), made(graph::dice_loss(n.b, y, t))});
  check_step(std::move(n).step(loss));
}

TEST(TrainingPlan, OfAResidualNetworkRunsOnFastKernels) {
  Network n;
  const ValueId x = n.input("x", {2, 3, 16, 16}), t = n.input("t", {2}, DType::kI64);
  ValueId y = n.b.add("Relu", {n.batch_norm(n.conv(x, 3, 16, 3, 2), 16)});
  const ValueId inner = n.b.add("Relu", {n.batch_norm(n.conv(y, 16, 8, 1), 8)});
  const ValueId outer = n.batch_norm(n.conv(inner, 8, 32, 3, 2), 32);
  const ValueId shortcut = n.batch_norm(n.conv(y, 16, 32, 1, 2), 32);
  y = n.b.add("Relu", {n.b.add("Add", {outer, shortcut})});
  y = n.b.add("AveragePool", {y}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId flat = n.b.add("Flatten", {n.b.add("GlobalAveragePool", {y})});
  const ValueId scores = n.b.add("Gemm", {flat, n.parameter({32, 7}), n.parameter({7})});
  check_step(std::move(n).step(made(graph::cross_entropy_loss(n.b, scores, t, {.ignore_index = 3}))));
}

TEST(TrainingPlan, OfATransformerRunsOnFastKernels) {
  Network n;
  const int64_t batch = 2, length = 6, width = 16, words = 7;
  const ValueId ids = n.input("ids", {batch, length}, DType::kI64);
  const ValueId targets = n.input("targets", {batch * length}, DType::kI64);
  const ValueId table = n.parameter({words, width});
  const auto norm = [&](ValueId v) {
    return n.b.add("LayerNormalization", {v, n.parameter({width}), n.parameter({width})});
  };
  ValueId x = n.b.add("Add", {n.b.add("Gather", {table, ids}), n.parameter({length, width})});
  const Values heads =
      n.b.add_many("Split", {n.dense(norm(x), width, 3 * width), ints(n.b, {width, width, width})}, 3,
                   {{"axis", int64_t{-1}}});
  const ValueId seen =
      n.b.add("Attention", heads,
              {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"is_causal", int64_t{1}}});
  x = n.b.add("Add", {x, n.dense(seen, width, width)});
  const ValueId hidden = n.b.add("Gelu", {n.dense(norm(x), width, 4 * width)}, {{"approximate", "tanh"}});
  x = norm(n.b.add("Add", {x, n.dense(hidden, 4 * width, width)}));
  const ValueId rows = n.b.add("Reshape", {x, ints(n.b, {batch * length, width})});
  const ValueId scores = n.b.add("MatMul", {rows, n.b.add("Transpose", {table}, {{"perm", Ints{1, 0}}})});
  check_step(std::move(n).step(made(graph::cross_entropy_loss(n.b, scores, targets))));
}

// The gradient of the graph's first output by its first input.
std::vector<double> gradient_of(const Graph& graph, std::span<const Tensor> inputs) {
  GraphBuilder b(graph);
  const auto gradient = graph::differentiate(b, graph.outputs()[0], std::vector{graph.inputs()[0]});
  if (!gradient.ok()) throw std::logic_error(gradient.error().message);
  b.set_outputs(*gradient);
  const auto made = std::move(b).finish();
  const auto outputs = runtime::interpret(*made, inputs);
  if (!outputs.ok()) throw std::logic_error(outputs.error().message);
  return (*outputs)[0].to_doubles();
}

TEST(FusedGradient, IsThatOfTheGroupsOperators) {
  GraphBuilder b("chain");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{3, 64}));
  const ValueId scale = b.input("scale", graph::tensor_type(DType::kF32, Shape{64}));
  b.output(b.add("Mul", {b.add("Tanh", {b.add("Mul", {x, scale})}), b.add("Sigmoid", {x})}));
  const Graph plain = *std::move(b).finish();
  const auto provider = runtime::make_provider("cpu");
  const auto fused = lab::optimise(plain, **provider, {});
  ASSERT_TRUE(fused.ok()) << fused.error().message;
  ASSERT_EQ(fused->nodes().size(), 1U);
  ASSERT_EQ(fused->nodes()[0].op, "hone.Fused");
  const std::vector<Tensor> inputs = drawn(plain);
  const std::vector<double> wanted = gradient_of(plain, inputs), got = gradient_of(*fused, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-6) << i;
}

}  // namespace
}  // namespace hone::gradients
