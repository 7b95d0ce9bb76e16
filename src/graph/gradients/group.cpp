// Gradients of hone's groups and of what places values: through the body, and back to where they were.
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// The nodes of the body, on the group's inputs.
Result<std::vector<ValueId>> body_outputs(GradientContext& c, const std::vector<ValueId>& inputs) {
  if (c.node().bodies.size() != 1) return invalid("a group without a body");
  const Graph& body = *c.node().bodies[0];
  std::vector<ValueId> now(body.values().size(), kNoValue);
  for (std::size_t i = 0; i < body.inputs().size(); ++i) now[body.inputs()[i].index] = inputs[i];
  const auto read = [&](ValueId value) {
    if (!value.valid()) return kNoValue;
    ValueId& known = now[value.index];
    if (!known.valid() && body.value(value).is_constant()) known = c.tensor(*body.value(value).constant);
    return known;
  };
  for (const Node& node : body.nodes()) {
    std::vector<ValueId> read_here;
    for (const ValueId input : node.inputs) read_here.push_back(read(input));
    const std::vector<ValueId> made = c.add_copy(node, std::move(read_here));
    for (std::size_t i = 0; i < made.size(); ++i)
      if (node.outputs[i].valid()) now[node.outputs[i].index] = made[i];
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : body.outputs()) outputs.push_back(read(output));
  return outputs;
}

Status group_rule(GradientContext& c) { return c.set_through(body_outputs); }

Status reorder_rule(GradientContext& c) {
  const std::string_view layout = layout_name(c.type(c.input(0)).layout);
  c.set(0, c.add("hone.Reorder", {c.gradient()}, {{"layout", std::string(layout)}}));
  return {};
}

}  // namespace

void add_group_gradients(OpTable& table) {
  table.set_gradient("hone.Fused", group_rule);
  table.set_gradient("hone.Reorder", reorder_rule);
}

}  // namespace hone::graph
