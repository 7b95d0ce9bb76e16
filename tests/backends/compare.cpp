#include "tests/backends/compare.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "passes/rewrite.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

class OneCandidate : public runtime::Provider {
 public:
  OneCandidate(const runtime::Provider& all, std::size_t round) : all_(all), round_(round) {}
  std::string_view name() const override { return all_.name(); }
  std::string signature(runtime::Share share) const override { return all_.signature(share); }
  std::shared_ptr<runtime::Device> device() const override { return all_.device(); }
  Result<std::vector<runtime::Candidate>> candidates(const Graph& graph, const Node& node,
                                                     runtime::Share share) const override {
    HONE_ASSIGN(std::vector<runtime::Candidate> all, all_.candidates(graph, node, share));
    if (all.empty()) return all;
    return std::vector{all[std::min(round_, all.size() - 1)]};
  }

 private:
  const runtime::Provider& all_;
  std::size_t round_;
};

Tensor random_tensor(const graph::TensorType& type, uint32_t seed, const CompareOptions& options) {
  if (is_float(type.dtype))
    return random_floats_of(type.dtype, type.shape(), seed, options.low, options.high);
  Tensor tensor(type.dtype, type.shape());
  std::mt19937 random(seed);
  const bool boolean = type.dtype == DType::kBool;
  std::uniform_int_distribution<int64_t> draw(boolean ? 0 : options.int_low, boolean ? 1 : options.int_high);
  auto fill = [&](auto span) {
    for (auto& x : span) x = static_cast<std::remove_reference_t<decltype(x)>>(draw(random));
  };
  switch (dtype_size(type.dtype)) {
    case 1:
      fill(tensor.as<int8_t>());
      break;
    case 2:
      fill(tensor.as<int16_t>());
      break;
    case 4:
      fill(tensor.as<int32_t>());
      break;
    default:
      fill(tensor.as<int64_t>());
  }
  return tensor;
}

// What is wrong with `got`; empty if it agrees. Where the reference is not finite, `got` must be the same.
std::string disagreement(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype()) return "another type";
  if (!is_float(want.dtype())) {
    for (int64_t i = 0; i < want.size(); ++i) {
      if (got.int_at(i) != want.int_at(i))
        return fmt::format("element {} is {}, not {}", i, got.int_at(i), want.int_at(i));
    }
    return {};
  }
  double error = 0;
  double norm = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double g = got.at(i);
    const double w = want.at(i);
    if (!std::isfinite(w) || !std::isfinite(g)) {
      if (g == w || (std::isnan(g) && std::isnan(w))) continue;
      return fmt::format("element {} is {}, not {}", i, g, w);
    }
    error += (g - w) * (g - w);
    norm += w * w;
  }
  const bool half = want.dtype() == DType::kF16 || want.dtype() == DType::kBF16;
  const double allowed = half ? std::max(5e-3, tolerance) : tolerance;
  if (error == 0 || std::sqrt(error) <= allowed * std::sqrt(norm)) return {};
  return fmt::format("relative L2 error {:.2e}", std::sqrt(error / norm));
}

std::string steps_text(const runtime::Plan& plan) {
  std::string text;
  for (const runtime::PlanStep& step : plan.steps())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", step.op, step.implementation);
  return text;
}

void run_and_compare(const Graph& graph, const runtime::Provider& provider, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& want, const CompareOptions& options) {
  runtime::PlanOptions first_candidate;
  first_candidate.autotune = false;
  auto plan = runtime::Plan::compile(graph, provider, first_candidate);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.error().message;
    return;
  }
  // Twice: a kernel must leave its inputs and itself as they were.
  for (int run = 0; run < 2; ++run) {
    auto got = (*plan)->run(inputs);
    if (!got.ok()) {
      ADD_FAILURE() << got.error().message;
      return;
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string wrong = disagreement((*got)[i], want[i], options.tolerance);
      EXPECT_TRUE(wrong.empty()) << "run " << run << ", output " << i << ": " << wrong << "\n  "
                                 << steps_text(**plan);
    }
  }
}

}  // namespace

Tensor random_floats(const Shape& shape, uint32_t seed, double low, double high) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(static_cast<float>(low), static_cast<float>(high));
  for (float& x : tensor.as<float>()) x = draw(random);
  return tensor;
}

Tensor cast_floats(const Tensor& floats, DType dtype) {
  if (floats.dtype() == dtype) return floats;
  GraphBuilder b("cast");
  b.output(b.add("Cast", {b.input("x", graph::tensor_type(floats.dtype(), floats.shape()))},
                 {{"to", dtype_to_onnx(dtype)}}));
  return (*runtime::interpret(*std::move(b).finish(), std::vector{floats}))[0];
}
Tensor random_floats_of(DType dtype, const Shape& shape, uint32_t seed, double low, double high) {
  return cast_floats(random_floats(shape, seed, low, high), dtype);
}

void compare_all_kernels(const Graph& graph, const CompareOptions& options) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const bool given = i < options.inputs.size() && options.inputs[i].defined();
    inputs.push_back(
        given ? options.inputs[i]
              : random_tensor(graph.type(graph.inputs()[i]), static_cast<uint32_t>(i) + 7, options));
  }
  auto want = runtime::interpret(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.error().message;

  const auto provider = options.provider ? options.provider : runtime::testing::cpu_provider();
  std::size_t rounds = 1;
  for (const Node& node : graph.nodes()) {
    auto offered = provider->candidates(graph, node, runtime::Share::kDevice);
    ASSERT_TRUE(offered.ok()) << offered.error().message;
    if (offered->empty() && options.unsupported_allowed) return;
    rounds = std::max(rounds, offered->size());
    std::set<std::string> names;
    for (const runtime::Candidate& candidate : *offered) {
      EXPECT_TRUE(names.insert(candidate.name).second) << "two candidates are called " << candidate.name;
      EXPECT_TRUE(options.reference_allowed || !candidate.reference) << node.op << " is not lowered";
    }
  }
  for (std::size_t round = 0; round < rounds; ++round)
    run_and_compare(graph, *only_candidate(*provider, round), inputs, *want, options);
}

std::unique_ptr<runtime::Provider> only_candidate(const runtime::Provider& all, std::size_t round) {
  return std::make_unique<OneCandidate>(all, round);
}

Graph make_graph(const Build& build) {
  GraphBuilder builder("case");
  builder.set_outputs(build(builder));
  return *std::move(builder).finish();
}

void compare_all_kernels(const Build& build, const CompareOptions& options) {
  compare_all_kernels(make_graph(build), options);
}

ValueId input_of(GraphBuilder& builder, const std::string& name, DType dtype, const Shape& shape) {
  return builder.input(name, graph::tensor_type(dtype, shape));
}
ValueId f32_input(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return input_of(builder, name, DType::kF32, shape);
}
ValueId f32_constant(GraphBuilder& builder, const Shape& shape, uint32_t seed) {
  return builder.constant("c", random_floats(shape, seed));
}
ValueId typed_constant(GraphBuilder& builder, DType dtype, const Shape& shape, uint32_t seed) {
  return builder.constant("c", random_floats_of(dtype, shape, seed));
}
ValueId scalar(GraphBuilder& builder, float value) {
  return builder.constant("s", Tensor::scalar_f32(value));
}
ValueId ints(GraphBuilder& builder, const std::vector<int64_t>& values) {
  return builder.constant("i", Tensor::i64({static_cast<int64_t>(values.size())}, values));
}
ValueId reorder(GraphBuilder& builder, ValueId value, const std::string& layout) {
  return builder.add("hone.Reorder", {value}, {{"layout", layout}});
}

Graph fused(const Build& build, graph::GroupKind kind) {
  GraphBuilder builder(make_graph(build));
  std::vector<graph::NodeId> nodes;
  for (uint32_t i = 0; i < builder.nodes().size(); ++i) {
    if (builder.nodes()[i].op != "hone.Reorder") nodes.push_back(graph::NodeId{i});
  }
  auto group = passes::fuse(builder, nodes, kind);
  EXPECT_TRUE(group.ok()) << (group.ok() ? "" : group.error().message);
  return *std::move(builder).finish();
}

}  // namespace hone::backends
