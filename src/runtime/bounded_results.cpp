#include "runtime/bounded_results.h"

#include <algorithm>
#include <array>
#include <span>

#include "graph/buffer_assignment.h"
#include "graph/builder.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// What leaves the device as a whole to be cut there: no more than this is worth it.
constexpr std::size_t kMostBoundedBytes = std::size_t{64} << 20;

bool may_be_bounded(const Graph& graph, const Node& node) {
  return node.op == "NonMaxSuppression" && node.has_output(0) && node.has_input(2) &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return !input.valid() || graph::has_place(graph.type(input)); });
}

// The graph with these nodes replaced.
Result<Graph> bound(const Graph& graph, std::span<const NodeId> nodes) {
  GraphBuilder builder(graph);
  for (const NodeId id : nodes) {
    const Node original = graph.node(id);
    const ValueId result = original.outputs[0];
    builder.replacing({id});
    Node within = original;
    within.op = "hone.NonMaxSuppression";
    within.name += " within bounds";
    const std::string& name = graph.value(result).name;
    const std::array<std::string, 2> names = {builder.unique_name(name + " within bounds"),
                                              builder.unique_name(name + " count")};
    HONE_ASSIGN(std::vector<ValueId> found, builder.try_add(std::move(within), names));
    Node rows;
    rows.op = "hone.FirstRows";
    rows.name = original.name;
    rows.inputs = std::move(found);
    HONE_ASSIGN(const std::vector<ValueId> kept,
                builder.try_add(std::move(rows), std::array{builder.unique_name(name + " kept")}));
    builder.set_type(kept[0], graph.type(result));
    builder.replace_all_uses(result, kept[0]);
    builder.swap_names(result, kept[0]);
    builder.erase(id);
    builder.replacing({});
  }
  return std::move(builder).finish(/*keep_dead=*/true);
}

// Whether `provider` has a kernel for node `id` when it is replaced, and what leaves the device is not too much.
Result<bool> is_worth_it(const Graph& graph, NodeId id, const Provider& provider) {
  HONE_ASSIGN(const Graph replaced, bound(graph, std::array{id}));
  for (const Node& node : replaced.nodes()) {
    if (node.op != "hone.NonMaxSuppression" || node.name != graph.node(id).name + " within bounds") continue;
    const graph::TensorType& type = replaced.type(node.outputs[0]);
    if (!graph::has_place(type) || type.storage_bytes() > kMostBoundedBytes) return false;
    HONE_ASSIGN(const std::vector<Candidate> offered, provider.candidates(replaced, node, Share::kDevice));
    return !offered.empty() && !offered.front().reference;
  }
  return false;
}

}  // namespace

Result<Graph> with_bounded_results(Graph graph, const Provider& provider) {
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (!may_be_bounded(graph, graph.node(NodeId{i}))) continue;
    // What the operator's bounded form has against the node is the plain form's to say.
    const auto worth = is_worth_it(graph, NodeId{i}, provider);
    if (worth.ok() && *worth) nodes.push_back(NodeId{i});
  }
  if (nodes.empty()) return graph;
  return bound(graph, nodes);
}

}  // namespace hone::runtime
