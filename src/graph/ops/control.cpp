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

bool may_be_same(DType a, DType b) { return a == b || a == DType::kUndefined || b == DType::kUndefined; }

// Input `body_input` of a body has the element type of the node's input `input`. Shapes may differ: values
// that a Loop carries may change theirs, and Scan hands out slices.
Status check_dtype_given(const InferContext& context, const Graph& body, std::size_t body_input,
                         std::size_t input) {
  const Value& taken = body.value(body.inputs()[body_input]);
  const DType given = context.input(input).dtype;
  if (may_be_same(taken.type.dtype, given)) return {};
  return context.error(fmt::format("its body takes {} as '{}', but input {} is {}",
                                   dtype_name(taken.type.dtype), taken.name, input, dtype_name(given)));
}

// Captures, the last inputs of a body as of the node, fit what the body says of them. A body lies where it
// runs: devices are not compared.
Status check_captures(const InferContext& context, const Graph& body) {
  const std::size_t captures = context.node().captures;
  for (std::size_t i = 0; i < captures; ++i) {
    const std::size_t input = context.input_count() - captures + i;
    const Value& taken = body.value(body.inputs()[body.inputs().size() - captures + i]);
    TensorType given = context.input(input);
    given.device = taken.type.device;
    if (const auto merged = merge_types(taken.type, given); !merged.ok())
      return context.error(fmt::format("its body takes '{}' as {}, but input {}, which it captures, is {}",
                                       taken.name, taken.type.text(), input, given.text()));
  }
  return {};
}

// A value that goes round keeps its element type.
Status check_carried(const InferContext& context, const Graph& body, std::size_t body_input,
                     std::size_t body_output, std::size_t input) {
  HONE_CHECK(check_dtype_given(context, body, body_input, input));
  const Value& taken = body.value(body.inputs()[body_input]);
  const Value& next = body.value(body.outputs()[body_output]);
  if (may_be_same(taken.type.dtype, next.type.dtype)) return {};
  return context.error(fmt::format("its body takes '{}' as {}, but gives {} ('{}') for the next round",
                                   taken.name, dtype_name(taken.type.dtype), dtype_name(next.type.dtype),
                                   next.name));
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

// `element` with an extent more, `count` at `axis`: 0 to its rank.
TensorType stacked(const TensorType& element, Dim count, int64_t axis) {
  TensorType type = element;
  if (!type.has_rank()) return type;
  type.dims->insert(type.dims->begin() + axis, std::move(count));
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
    HONE_CHECK(check_captures(context, *body));
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const DType then_dtype = then_body.type(then_body.outputs()[i]).dtype;
    const DType else_dtype = else_body.type(else_body.outputs()[i]).dtype;
    if (!may_be_same(then_dtype, else_dtype))
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
  HONE_CHECK(check_captures(context, body));
  for (std::size_t i = 0; i < carried; ++i) HONE_CHECK(check_carried(context, body, i + 2, i + 1, i + 2));
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const TensorType& produced = body.type(body.outputs()[i + 1]);
    context.set_output(i, i < carried ? either(produced, context.input(i + 2)) : stacked(produced, Dim(), 0));
  }
  return {};
}

// An axes or directions attribute of Scan: zeros where it is absent.
Result<Ints> one_for_each(const InferContext& context, const char* name, std::size_t count) {
  Ints numbers = context.attributes().ints(name, Ints(count, 0));
  if (numbers.size() != count)
    return context.error(fmt::format("{} must have {} numbers, not {}", name, count, numbers.size()));
  return numbers;
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
  HONE_CHECK(check_captures(context, body));
  for (std::size_t i = 0; i < states; ++i) HONE_CHECK(check_carried(context, body, i, i, i));
  for (std::size_t i = states; i < formal; ++i) HONE_CHECK(check_dtype_given(context, body, i, i));
  const auto scanned = static_cast<std::size_t>(scans);
  const std::size_t collected = context.output_count() - states;
  HONE_ASSIGN(const Ints input_axes, one_for_each(context, "scan_input_axes", scanned));
  HONE_ASSIGN(const Ints output_axes, one_for_each(context, "scan_output_axes", collected));
  HONE_CHECK(one_for_each(context, "scan_input_directions", scanned));
  HONE_CHECK(one_for_each(context, "scan_output_directions", collected));
  Dim length;
  for (std::size_t i = 0; i < scanned; ++i) {
    const TensorType& type = context.input(states + i);
    if (!type.has_rank()) continue;
    const auto axis = normalize_axis(input_axes[i], type.rank());
    if (!axis.ok()) return context.error("scan_input_axes: " + axis.error().message);
    if (i == 0) length = (*type.dims)[static_cast<std::size_t>(*axis)];
  }
  for (std::size_t i = 0; i < states; ++i)
    context.set_output(i, either(body.type(body.outputs()[i]), context.input(i)));
  for (std::size_t i = 0; i < collected; ++i) {
    const TensorType& produced = body.type(body.outputs()[states + i]);
    int64_t at = 0;
    if (produced.has_rank()) {
      const auto axis = normalize_axis(output_axes[i], produced.rank() + 1);
      if (!axis.ok()) return context.error("scan_output_axes: " + axis.error().message);
      at = *axis;
    }
    context.set_output(states + i, stacked(produced, length, at));
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
             .may_be_absent = 0b11,  // the trip count and the condition
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
