#include "passes/fuse_cross_entropy.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// The operator that would take the scatter's place, and what it needs no more.
struct FoundGradient {
  Node node;
  std::vector<NodeId> replaced;  // the product and the scatter
};

bool is_axis_of_classes(const GraphBuilder& builder, const Node& node, ValueId scores, int64_t otherwise) {
  const graph::TensorType& type = builder.type(scores);
  const auto axis =
      normalize_axis(node.attributes.integer("axis", otherwise), type.has_rank() ? type.rank() : 0);
  return axis.ok() && *axis == 1;
}

// A node's doing, or, where what each sample counts is known, a constant.
bool is_negative_of(const GraphBuilder& builder, ValueId value, ValueId factor) {
  if (const auto negated = produced_by(builder, value, "Neg"))
    return builder.node(*negated).inputs[0] == factor;
  const Tensor *a = constant_data(builder, value), *b = constant_data(builder, factor);
  if (a == nullptr || b == nullptr || a->shape() != b->shape()) return false;
  for (int64_t i = 0; i < a->size(); ++i)
    if (a->at(i) != -b->at(i)) return false;
  return true;
}

// ScatterElements(softmax(scores) · factor, target, -factor), adding along the classes.
std::optional<FoundGradient> find_gradient(const GraphBuilder& builder, NodeId scatter) {
  const Node& adds = builder.node(scatter);
  if (adds.attributes.text("reduction", "none") != "add") return std::nullopt;
  const auto product = produced_by(builder, adds.inputs[0], "Mul");
  if (!product || !only_reader(builder, adds.inputs[0])) return std::nullopt;
  const Node& multiplies = builder.node(*product);
  const std::size_t at = produced_by(builder, multiplies.inputs[0], "Softmax") ? 0 : 1;
  const auto softmax = produced_by(builder, multiplies.inputs[at], "Softmax");
  const ValueId factor = multiplies.inputs[1 - at];
  if (!softmax || !is_negative_of(builder, adds.inputs[2], factor)) return std::nullopt;
  const ValueId scores = builder.node(*softmax).inputs[0];
  if (!is_axis_of_classes(builder, builder.node(*softmax), scores, -1) ||
      !is_axis_of_classes(builder, adds, scores, 0))
    return std::nullopt;
  FoundGradient found{Node(), {*product, scatter}};
  found.node.op = "hone.CrossEntropyGradient";
  found.node.name = adds.name;
  found.node.inputs = {scores, adds.inputs[1], factor};
  found.node.outputs = adds.outputs;
  return found;
}

}  // namespace

Result<PassOutcome> fuse_cross_entropy(const graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  GraphBuilder builder(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op != "ScatterElements") continue;
    const auto found = find_gradient(builder, NodeId{i});
    if (!found) continue;
    if (!runs_alone(context.target, builder, found->node)) {
      outcome.missed.push_back(
          {found->node.name, "the target has no kernel for the gradient of a cross entropy"});
      continue;
    }
    builder.replacing(found->replaced);
    const ValueId made = builder.add("hone.CrossEntropyGradient", found->node.inputs, {},
                                     builder.value(found->node.outputs[0]).name);
    builder.replace_all_uses(found->node.outputs[0], made);
    builder.erase(NodeId{i});
    outcome.done.push_back({found->node.name, "in one trip over the scores"});
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

}  // namespace hone::passes
