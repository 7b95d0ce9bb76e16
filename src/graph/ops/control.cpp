// If, Loop, Scan: operators with bodies. Captures of the bodies stand at the end of the node's inputs
// (graph.h).
#include <fmt/core.h>

#include "graph/op_table.h"

namespace hone::graph {
namespace {

std::size_t formal_inputs(const InferContext& context) {
  const Node& node = context.node();
  return node.inputs.size() - std::min<std::size_t>(node.captures, node.inputs.size());
}

Status check_bodies(const InferContext& context, std::size_t wanted) {
  const Node& node = context.node();
  if (node.captures > node.inputs.size()) return context.error("claims more captures than it has inputs");
  if (node.bodies.size() != wanted) {
    return context.error(fmt::format("has {} sub-graphs, but takes {}", node.bodies.size(), wanted));
  }
  return {};
}

// What is certain of a value that is either `a` or `b`.
TensorType either(const TensorType& a, const TensorType& b) {
  TensorType type = a;
  if (a.dtype != b.dtype) type.dtype = DType::kUndefined;
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
    type.dims.reset();
    return type;
  }
  for (std::size_t i = 0; i < type.dims->size(); ++i) {
    if (!(*a.dims)[i].same_as((*b.dims)[i])) (*type.dims)[i] = Dim();
  }
  return type;
}

TensorType stacked(const TensorType& element, Dim count, int64_t axis) {
  TensorType type = element;
  if (!type.has_rank()) return type;
  const int64_t at = axis < 0 ? axis + type.rank() + 1 : axis;
  if (at < 0 || at > type.rank()) return unranked(type.dtype);
  type.dims->insert(type.dims->begin() + at, std::move(count));
  return type;
}

Status infer_if(InferContext& context) {
  HONE_CHECK(check_bodies(context, 2));
  const Graph& then_body = *context.node().bodies[0];
  const Graph& else_body = *context.node().bodies[1];
  const std::size_t captures = context.node().captures;
  if (formal_inputs(context) != 1)
    return context.error("takes one input, the condition, before its captures");
  for (const Graph* body : {&then_body, &else_body}) {
    if (body->inputs().size() != captures) return context.error("a branch must take exactly the captures");
    if (body->outputs().size() != context.output_count()) {
      return context.error(fmt::format("a branch gives {} outputs, the node {}", body->outputs().size(),
                                       context.output_count()));
    }
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const DType then_dtype = then_body.type(then_body.outputs()[i]).dtype;
    const DType else_dtype = else_body.type(else_body.outputs()[i]).dtype;
    if (then_dtype != else_dtype && then_dtype != DType::kUndefined && else_dtype != DType::kUndefined)
      return context.error(fmt::format("its branches give {} and {} for output {}; they must agree",
                                       dtype_name(then_dtype), dtype_name(else_dtype), i));
    context.set_output(
        i, either(then_body.type(then_body.outputs()[i]), else_body.type(else_body.outputs()[i])));
  }
  return {};
}

Status infer_loop(InferContext& context) {
  HONE_CHECK(check_bodies(context, 1));
  const Graph& body = *context.node().bodies[0];
  const std::size_t formal = formal_inputs(context);
  if (formal < 2)
    return context.error("takes a trip count and a condition (either may be absent) before its state");
  const std::size_t carried = formal - 2;
  if (body.inputs().size() != carried + 2 + context.node().captures) {
    return context.error(fmt::format(
        "its body takes {} inputs; iteration, condition, {} carried values and {} captures are given",
        body.inputs().size(), carried, context.node().captures));
  }
  if (body.outputs().size() < carried + 1 || body.outputs().size() - 1 != context.output_count()) {
    return context.error("its body must give the condition, each carried value, and one value a scan output");
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const TensorType& produced = body.type(body.outputs()[i + 1]);
    context.set_output(i, i < carried ? either(produced, context.input(i + 2)) : stacked(produced, Dim(), 0));
  }
  return {};
}

Status infer_scan(InferContext& context) {
  HONE_CHECK(check_bodies(context, 1));
  const Graph& body = *context.node().bodies[0];
  const int64_t scans = context.attributes().integer("num_scan_inputs", 0);
  const std::size_t formal = formal_inputs(context);
  if (scans < 1 || static_cast<std::size_t>(scans) > formal)
    return context.error("num_scan_inputs does not fit its inputs");
  const std::size_t states = formal - static_cast<std::size_t>(scans);
  if (body.inputs().size() != formal + context.node().captures ||
      body.outputs().size() != context.output_count() || body.outputs().size() < states) {
    return context.error("its body's inputs and outputs do not fit the node's");
  }
  const Ints input_axes =
      context.attributes().ints("scan_input_axes", Ints(static_cast<std::size_t>(scans), 0));
  const Ints output_axes = context.attributes().ints("scan_output_axes");
  const TensorType& first_scan = context.input(states);
  Dim length;
  if (first_scan.has_rank() && !input_axes.empty()) {
    auto axis = normalize_axis(input_axes[0], first_scan.rank());
    if (!axis.ok()) return axis.error();
    length = (*first_scan.dims)[static_cast<std::size_t>(*axis)];
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const TensorType& produced = body.type(body.outputs()[i]);
    const int64_t axis = i >= states && i - states < output_axes.size() ? output_axes[i - states] : 0;
    context.set_output(i, i < states ? either(produced, context.input(i)) : stacked(produced, length, axis));
  }
  return {};
}

}  // namespace

void add_control_ops(OpTable& table) {
  table.add({.name = "If",
             .op_class = OpClass::kControl,
             .min_inputs = 1,
             .max_inputs = -1,
             .min_outputs = 1,
             .max_outputs = -1,
             .attributes = {{"then_branch", AttributeKind::kGraph, true},
                            {"else_branch", AttributeKind::kGraph, true}},
             .infer = infer_if,
             .summary = "one of two sub-graphs, by a condition"});
  table.add({.name = "Loop",
             .op_class = OpClass::kControl,
             .min_inputs = 2,
             .max_inputs = -1,
             .min_outputs = 1,
             .max_outputs = -1,
             .attributes = {{"body", AttributeKind::kGraph, true}},
             .infer = infer_loop,
             .summary = "a sub-graph repeated, by count or condition, with carried values"});
  table.add({.name = "Scan",
             .op_class = OpClass::kControl,
             .min_inputs = 1,
             .max_inputs = -1,
             .min_outputs = 1,
             .max_outputs = -1,
             .attributes = {{"body", AttributeKind::kGraph, true},
                            {"num_scan_inputs", AttributeKind::kInt, true},
                            {"scan_input_axes", AttributeKind::kInts},
                            {"scan_input_directions", AttributeKind::kInts},
                            {"scan_output_axes", AttributeKind::kInts},
                            {"scan_output_directions", AttributeKind::kInts}},
             .infer = infer_scan,
             .summary = "a sub-graph over the slices of its inputs, with carried state"});
}

}  // namespace hone::graph
