#include "passes/allow_tf32.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

#include "graph/product_math.h"
#include "passes/precision_table.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr std::size_t kMultiplied = 2;  // of MatMul, Gemm, Conv and ConvTranspose: the first inputs

bool multiplies_f32(const graph::Graph& graph, const Node& node) {
  if (precision_row(node).rule != PrecisionRule::kNarrow || !node.has_input(0) || !node.bodies.empty())
    return false;
  const graph::TensorType& type = graph.type(node.inputs[0]);
  return type.kind == graph::TypeKind::kTensor && type.dtype == DType::kF32 && !graph::may_use_tf32(node);
}

std::string why_not_tf32(const graph::Graph& graph, const Node& node, const PassContext& context) {
  if (!context.target.takes.tf32_products)
    return "the target has no products in tf32: nothing would be faster";
  if (!graph::takes_tf32(node)) return "no kernel of it has tf32";
  if (const auto kept = context.keep_f32.find(node.name); kept != context.keep_f32.end()) return kept->second;
  if (context.target.runs && !runs_alone(context.target, graph, node))
    return "the target has no kernel for it";
  return {};
}

float to_tf32(float number) {
  constexpr uint32_t kHalf = 1U << 12, kKept = ~((1U << 13) - 1);
  if (!std::isfinite(number)) return number;
  const auto rounded = std::bit_cast<float>((std::bit_cast<uint32_t>(number) + kHalf) & kKept);
  return std::isfinite(rounded) ? rounded : number;
}

}  // namespace

Result<PassOutcome> allow_tf32(const graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  graph::GraphBuilder builder(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!multiplies_f32(graph, node)) continue;
    if (const std::string why = why_not_tf32(graph, node, context); !why.empty()) {
      outcome.missed.push_back({node.name, fmt::format("{} stays f32: {}", node.op, why)});
      if (!context.target.takes.tf32_products) break;  // once is enough
      outcome.types.push_back({node.name, node.op, DType::kF32, false, why});
      continue;
    }
    graph::allow_tf32(builder.mutable_node(NodeId{i}));
    outcome.types.push_back(
        {.node = node.name, .op = node.op, .type = DType::kF32, .narrowed = true, .why = {}, .tf32 = true});
    outcome.done.push_back({node.name, fmt::format("{} may round what it multiplies to tf32", node.op)});
  }
  if (!outcome.changed()) {
    outcome.graph = graph;
    return outcome;
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

Tensor rounded_to_tf32(const Tensor& numbers) {
  const Tensor aligned = numbers.aligned();
  Tensor rounded(DType::kF32, numbers.shape());
  const std::span<const float> from = aligned.as<float>();
  const std::span<float> to = rounded.as<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = to_tf32(from[i]);
  return rounded;
}

std::vector<Tensor> as_multiplied(const graph::Node& node, std::vector<Tensor> inputs) {
  if (!graph::may_use_tf32(node) || !graph::takes_tf32(node)) return inputs;  // of a group the body says
  for (std::size_t i = 0; i < std::min(kMultiplied, inputs.size()); ++i)
    if (inputs[i].defined() && inputs[i].dtype() == DType::kF32) inputs[i] = rounded_to_tf32(inputs[i]);
  return inputs;
}

}  // namespace hone::passes
