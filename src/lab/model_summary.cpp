#include "lab/model_summary.h"

#include <algorithm>

#include "analyze/cost.h"
#include "graph/group_kind.h"
#include "graph/op_table.h"
#include "lab/experiment/profile.h"

namespace hone::lab {
namespace {

using graph::Graph;
using graph::Node;

bool has_costs(const Graph& graph, const Node& node) {
  const graph::OpEntry* entry = graph::find_entry(node);
  if (entry == nullptr || entry->op_class == graph::OpClass::kControl) return false;
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    if (!std::all_of(ids->begin(), ids->end(),
                     [&](graph::ValueId id) { return !id.valid() || graph.type(id).is_static(); }))
      return false;
  }
  return true;
}

std::size_t count_body_nodes(const Node& node) {
  std::size_t count = 0;
  for (const auto& body : node.bodies) {
    count += body->nodes().size();
    for (const Node& inner : body->nodes()) count += count_body_nodes(inner);
  }
  return count;
}

// Weights are what layers multiply and add: floating point, or quantised to 8 bits and less. Integers are
// shapes, axes and indices.
bool is_parameter(const graph::Value& value) {
  return value.is_constant() && (is_float(value.type.dtype) || dtype_bits(value.type.dtype) <= 8) &&
         value.type.dtype != DType::kBool && value.type.dtype != DType::kString;
}

void add_parameters(const Graph& graph, ModelSummary& summary) {
  for (const graph::Value& value : graph.values()) {
    if (!is_parameter(value)) continue;
    summary.parameters += static_cast<double>(value.constant->size());
    summary.parameter_bytes += value.type.bytes();
  }
  for (const Node& node : graph.nodes()) {
    for (const auto& body : node.bodies) add_parameters(*body, summary);
  }
}

}  // namespace

ModelSummary summarise_model(const Graph& graph, const std::optional<Roofs>& roofs) {
  ModelSummary summary;
  add_parameters(graph, summary);
  trace::Trace costs;
  for (const Node& node : graph.nodes()) costs.operators.push_back(describe_operator(graph, node));
  const Roofs known = roofs.value_or(Roofs{});
  const analyze::CostContext context = analyze::cost_context(costs, known, known.threads);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    NodeSummary row;
    row.op = costs.operators[i];
    row.has_costs = has_costs(graph, node);
    for (graph::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      row.type = graph.type(output).text();
      break;
    }
    row.body_nodes = graph::is_group(node) ? 0 : count_body_nodes(node);
    if (row.has_costs && roofs) {
      const analyze::Bound floor = analyze::operator_floor(row.op, context, analyze::Bytes::kAll);
      row.floor_ms = floor.ms();
      row.roof = floor.known() ? analyze::roof_name(row.op, floor) : "";
    }
    summary.without_costs += row.has_costs ? 0 : 1;
    summary.flops += row.op.flops;
    summary.bytes += row.op.bytes();
    summary.floor_ms += row.floor_ms;
    summary.nodes.push_back(std::move(row));
  }
  return summary;
}

}  // namespace hone::lab
