// hone's own operators: groups that one kernel executes, changes of memory layout, copies between devices.
#include <fmt/core.h>

#include "graph/group_kind.h"
#include "graph/op_table.h"
#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

Status infer_fused(InferContext& context) {
  const Node& node = context.node();
  if (node.bodies.size() != 1) return context.error("a group has exactly one body");
  const Graph& body = *node.bodies[0];
  const auto kind = group_kind(node);
  if (!kind) {
    return context.error(fmt::format("kind '{}' is not known; there are: {}",
                                     node.attributes.text("kind", ""), group_kind_names()));
  }
  HONE_CHECK(check_group(*kind, body));
  if (body.inputs().size() != node.inputs.size() || body.outputs().size() != node.outputs.size()) {
    return context.error("the body's inputs and outputs do not fit the node's");
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    auto merged = merge_types(body.type(body.inputs()[i]), context.input(i));
    if (!merged.ok()) return merged.error().within(fmt::format("input {} of the body", i));
  }
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set_output(i, body.type(body.outputs()[i]));
  return {};
}

double fused_flops(const CostContext& context) {
  const Graph& body = *context.node.bodies[0];
  double flops = 0;
  for (const Node& node : body.nodes()) flops += node_cost(body, node).flops;
  return flops;
}

double least_fused_flops(const CostContext& context) {
  const Graph& body = *context.node.bodies[0];
  double flops = 0;
  for (const Node& node : body.nodes()) flops += node_cost(body, node).least_flops;
  return flops;
}

Status infer_copy_to(InferContext& context) {
  const std::string wanted = context.attributes().text("device", "");
  const auto device = DeviceId::from_text(wanted);
  if (!device)
    return context.error(
        fmt::format("'{}' is no device: give \"host\", \"device0\", \"device1\", …", wanted));
  TensorType type = context.input(0);
  type.device = *device;
  context.set_output(0, std::move(type));
  return {};
}

Status infer_reorder(InferContext& context) {
  const std::string wanted = context.attributes().text("layout", "");
  const auto layout = layout_from_name(wanted);
  if (!layout) return context.error(fmt::format("layout '{}' is not known", wanted));
  TensorType type = context.input(0);
  if (*layout != Layout::kPlain && (!type.has_rank() || type.rank() < 3)) {
    return context.error("only tensors of rank 3 and more (batch, channels, spatial…) have other layouts");
  }
  type.layout = *layout;
  context.set_output(0, std::move(type));
  return {};
}

}  // namespace

void add_hone_ops(OpTable& table) {
  table.add({.name = "hone.Fused",
             .op_class = OpClass::kGroup,
             .min_inputs = 0,
             .max_inputs = -1,
             .min_outputs = 1,
             .max_outputs = -1,
             .attributes = {{"kind", AttributeKind::kString, true}, {"body", AttributeKind::kGraph, true}},
             .infer = infer_fused,
             .flops = fused_flops,
             .least_flops = least_fused_flops,
             .layouts = LayoutRule::kGiven,
             .summary = "a group of operators that one kernel executes; the body says what it computes"});
  // Input 0 as it is, but not before the other inputs are computed. What is computed behind it is computed
  // there and not taken from an equal node before it: how a gradient computes an activation anew instead of
  // keeping it alive. Not pure, so that no pass merges two fences, folds one, or sees through it; free when
  // it runs, because it is a view.
  table.add({.name = "hone.Recompute",
             .op_class = OpClass::kView,
             .min_inputs = 1,
             .max_inputs = -1,
             .infer = infer::same_as_first,
             .layouts = LayoutRule::kKept,
             .pure = false,
             .summary = "its first input, once the others are computed: a fence behind which values are "
                        "computed anew"});
  table.add({.name = "hone.Reorder",
             .op_class = OpClass::kMovement,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"layout", AttributeKind::kString, true}},
             .infer = infer_reorder,
             .layouts = LayoutRule::kGiven,
             .summary = "the same tensor in another memory layout"});
  table.add({.name = "hone.CopyTo",
             .op_class = OpClass::kMovement,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"device", AttributeKind::kString, true}},
             .infer = infer_copy_to,
             .layouts = LayoutRule::kKept,
             .crosses_devices = true,
             .summary = "the same tensor in another device's memory, or in the host's"});
}

}  // namespace hone::graph
