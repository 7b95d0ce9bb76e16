#include "passes/unpack_weights.h"

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

bool reads_constants(const GraphBuilder& builder, const Node& node) {
  for (ValueId input : node.inputs) {
    if (input.valid() && !builder.value(input).is_constant()) return false;
  }
  return true;
}

}  // namespace

Result<PassOutcome> unpack_weights(const graph::Graph& graph, const PassContext& context) {
  const graph::DTypeSet& products = context.target.takes.products;
  if (products.empty() || !context.evaluate) return PassOutcome{graph, {}, {}};
  GraphBuilder builder(graph);
  PassOutcome outcome;
  for (const Node& node : graph.nodes()) {
    if (node.op != "DequantizeLinear" || !reads_constants(builder, node)) continue;
    const DType stored = graph.type(node.inputs[0]).dtype;
    if (products.holds(stored)) {
      outcome.missed.push_back(
          {node.name, fmt::format("kept: the target multiplies {}", dtype_name(stored))});
      continue;
    }
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs)
      inputs.push_back(input.valid() ? *builder.value(input).constant : Tensor());
    auto outputs = context.evaluate(node, inputs);
    if (!outputs.ok()) {
      outcome.missed.push_back({node.name, "not decoded: " + outputs.error().message});
      continue;
    }
    builder.set_constant(node.outputs[0], std::move((*outputs)[0]));
    outcome.done.push_back({node.name, fmt::format("{} constants decoded once", dtype_name(stored))});
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

}  // namespace hone::passes
