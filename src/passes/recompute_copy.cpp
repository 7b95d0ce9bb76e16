#include "passes/recompute_copy.h"

#include <algorithm>
#include <unordered_map>

#include "graph/buffer_assignment.h"
#include "graph/builder.h"
#include "graph/group_kind.h"
#include "graph/op_table.h"

namespace hone::passes {
namespace {

using graph::Graph;
using graph::GroupKind;
using graph::Node;
using graph::ValueId;

bool is_training_batch_norm(const Node& node) {
  return node.op == "hone.BatchNormalizationRelu" ||
         (node.op == "BatchNormalization" && node.attributes.integer("training_mode", 0) != 0);
}

// Running statistics are inputs of a batch normalisation that trains, but its result does not depend on them. They are
// states, which have been overwritten when it runs again, so the scale stands in for them where its type is theirs.
bool scale_stands_in(const Graph& graph, const Node& node, std::size_t input) {
  return is_training_batch_norm(node) && (input == 3 || input == 4) &&
         graph.type(node.inputs[input]) == graph.type(node.inputs[1]);
}

// Of a body: whether the nodes and inputs are needed for the outputs that are wanted.
struct NeededOfBody {
  std::vector<bool> nodes;
  std::vector<bool> inputs;
};

NeededOfBody needed_of_body(const Graph& body, const std::vector<bool>& wanted) {
  std::vector<bool> values(body.values().size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) values[body.outputs()[i].index] = true;
  NeededOfBody needed{std::vector<bool>(body.nodes().size(), false), {}};
  for (std::size_t n = body.nodes().size(); n-- > 0;) {
    const Node& node = body.nodes()[n];
    needed.nodes[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId output) { return output.valid() && values[output.index]; });
    if (!needed.nodes[n]) continue;
    for (const ValueId input : node.inputs)
      if (input.valid()) values[input.index] = true;
  }
  for (const ValueId input : body.inputs()) needed.inputs.push_back(values[input.index]);
  return needed;
}

bool is_trimmed(const Node& node) { return is_group(node, GroupKind::kPointwise); }

// The nodes of a body that are needed, with the inputs that they read.
Result<Graph> trimmed(const Graph& body, const std::vector<bool>& wanted) {
  const NeededOfBody needed = needed_of_body(body, wanted);
  graph::GraphBuilder builder(body.name());
  std::unordered_map<uint32_t, ValueId> made;
  for (std::size_t i = 0; i < body.inputs().size(); ++i)
    if (needed.inputs[i])
      made[body.inputs()[i].index] =
          builder.input(body.value(body.inputs()[i]).name, body.type(body.inputs()[i]));
  for (std::size_t n = 0; n < body.nodes().size(); ++n) {
    if (!needed.nodes[n]) continue;
    Node node = body.nodes()[n];
    for (ValueId& input : node.inputs) {
      if (!input.valid()) continue;
      const auto found = made.find(input.index);
      if (found == made.end())
        made[input.index] = builder.constant(body.value(input).name, *body.value(input).constant);
      input = made.at(input.index);
    }
    std::vector<std::string> names;
    std::vector<graph::TensorType> types;
    for (const ValueId output : body.nodes()[n].outputs) {
      names.push_back(output.valid() ? body.value(output).name : "");
      types.push_back(output.valid() ? body.type(output) : graph::TensorType{});
    }
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder.try_add(std::move(node), names));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      builder.set_type(outputs[i], types[i]);
      made[body.nodes()[n].outputs[i].index] = outputs[i];
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) builder.output(made.at(body.outputs()[i].index));
  return std::move(builder).finish();
}

}  // namespace

bool can_run_again(const Graph& graph, const Node& node) {
  const graph::OpEntry* entry = find_entry(node);
  if (entry == nullptr || !is_pure(node) || node.op == "hone.CopyTo") return false;
  if (entry->op_class == graph::OpClass::kOptimizer) return false;
  if (!node.bodies.empty() && !is_group(node)) return false;
  const auto has_places = [&](const std::vector<ValueId>& values) {
    return std::all_of(values.begin(), values.end(),
                       [&](ValueId value) { return !value.valid() || graph::has_place(graph.type(value)); });
  };
  return has_places(node.inputs) && has_places(node.outputs);
}

CopyOperands operands_of_copy(const Graph& graph, const Node& node, const std::vector<bool>& wanted) {
  CopyOperands operands{wanted, {}};
  if (is_trimmed(node)) {
    operands.inputs = needed_of_body(*node.bodies[0], wanted).inputs;
    return operands;
  }
  const auto always = static_cast<std::size_t>(std::max(find_entry(node)->min_outputs, 0));
  const bool takes_any = find_entry(node)->max_outputs < 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (node.outputs[i].valid() && (i < always || takes_any || is_group(node))) operands.outputs[i] = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    operands.inputs.push_back(node.inputs[i].valid() && !scale_stands_in(graph, node, i));
  return operands;
}

Result<CopiedNode> copy_of(const Graph& graph, const Node& node, const std::vector<bool>& wanted) {
  const CopyOperands operands = operands_of_copy(graph, node, wanted);
  CopiedNode copy{node, {}, {}};
  copy.node.name = node.name + ".again";
  copy.node.inputs.clear();
  copy.node.outputs.clear();
  const bool trims = is_trimmed(node);
  if (trims) {
    HONE_ASSIGN(Graph body, trimmed(*node.bodies[0], wanted));
    copy.node.bodies[0] = std::make_shared<const Graph>(std::move(body));
    const auto captures = static_cast<std::ptrdiff_t>(node.captures);
    copy.node.captures =
        static_cast<uint32_t>(std::count(operands.inputs.end() - captures, operands.inputs.end(), true));
  }
  for (uint32_t i = 0; i < node.inputs.size(); ++i) {
    if (trims && !operands.inputs[i]) continue;
    copy.inputs.push_back(operands.inputs[i] ? i : scale_stands_in(graph, node, i) ? 1 : kNoScheduled);
    copy.node.inputs.push_back(graph::kNoValue);
  }
  for (uint32_t i = 0; i < node.outputs.size(); ++i)
    if (!trims || operands.outputs[i]) copy.outputs.push_back(operands.outputs[i] ? i : kNoScheduled);
  return copy;
}

}  // namespace hone::passes
