#include "passes/spell_out_gradients.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/gradients/spelled_out.h"
#include "passes/precision_table.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// Whether there is a kernel depends on them.
bool has_open_extents(const graph::Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input.valid() && !graph.type(input).is_static(); });
}

// Products whose kernels will be those of the type to which a later pass brings them, if it has one there.
bool will_run_narrow(const Node& node, const graph::Graph& graph, const PassContext& context) {
  return context.narrows_to != DType::kUndefined && precision_row(node).rule == PrecisionRule::kNarrow &&
         !context.keep_f32.contains(node.name) &&
         runs_alone_in(context.target, graph, node, context.narrows_to);
}

}  // namespace

Result<PassOutcome> spell_out_gradients(const graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  GraphBuilder builder(graph);
  for (const Node& node : graph.nodes()) {
    if (!graph::can_be_spelled_out(node) || !context.target.runs || has_open_extents(graph, node)) continue;
    if (runs_alone(context.target, graph, node) || will_run_narrow(node, graph, context)) continue;
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
