#include "passes/spell_out_gradients.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/gradients/spelled_out.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// Whether the target has a kernel for the node by itself.
Result<bool> has_kernel(const Target& target, const graph::Graph& graph, const Node& node) {
  std::vector<const graph::Value*> inputs;
  std::vector<graph::TensorType> types;
  std::vector<std::string> names;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? &graph.value(input) : nullptr);
    types.push_back(input.valid() ? graph.type(input) : graph::TensorType{});
  }
  for (const ValueId output : node.outputs) names.push_back(output.valid() ? graph.value(output).name : "");
  HONE_ASSIGN(const graph::Graph alone, graph_of_one(node, inputs, types, names));
  return !alone.nodes().empty() && target.runs(alone, alone.nodes()[0]);
}

// Whether there is a kernel depends on them.
bool has_open_extents(const graph::Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input.valid() && !graph.type(input).is_static(); });
}

}  // namespace

Result<PassOutcome> spell_out_gradients(const graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  GraphBuilder builder(graph);
  for (const Node& node : graph.nodes()) {
    if (!graph::can_be_spelled_out(node) || !context.target.runs || has_open_extents(graph, node)) continue;
    HONE_ASSIGN(const bool runs, has_kernel(context.target, graph, node));
    if (runs) continue;
    const NodeId id = graph.value(node.outputs[0]).producer;
    builder.replacing({id});
    graph::NodeEmitter emitter(builder, node.name, node.provenance);
    const auto made = graph::spelled_out(emitter, node, node.inputs);
    if (!made.ok() || !emitter.status().ok()) {
      outcome.missed.push_back(
          {node.name, made.ok() ? emitter.status().error().message : made.error().message});
      continue;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) builder.replace_all_uses(node.outputs[i], (*made)[i]);
    builder.erase(id);
    outcome.done.push_back({node.name, fmt::format("the target has no kernel for {}", node.op)});
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

}  // namespace hone::passes
