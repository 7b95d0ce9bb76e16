// Gradients of reductions, running sums and softmax.
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

bool reduces_nothing(const GradientContext& c) {
  const Tensor* axes = c.constant(1);
  const bool none = !c.has_input(1) || (axes != nullptr && axes->size() == 0);
  return none && c.attributes().integer("noop_with_empty_axes", 0) != 0;
}

// A value of the reduction's output, repeated over the axes that were reduced.
ValueId spread(GradientContext& c, ValueId value) {
  const ValueId x = c.input(0);
  if (reduces_nothing(c)) return value;
  const Tensor* axes = c.constant(1);
  const bool all = !c.has_input(1) || (axes != nullptr && axes->size() == 0);
  if (c.has_input(1) && axes == nullptr && c.attributes().integer("keepdims", 1) == 0) {
    c.fail(unsupported("unsupported: the gradient of " + c.node().op + " over axes that are computed"));
    return kNoValue;
  }
  if (!all && c.attributes().integer("keepdims", 1) == 0) value = c.add("Unsqueeze", {value, c.input(1)});
  return c.add("Expand", {value, c.shape_of(x)});
}

Status reduce_sum_rule(GradientContext& c) {
  c.set(0, spread(c, c.gradient()));
  return {};
}

// How many elements each mean is of.
ValueId count_of(GradientContext& c) {
  const TensorType x = c.type(c.input(0));
  const TensorType y = c.type(c.output(0));
  if (x.is_static() && y.is_static()) {
    const auto many = checked_element_count(x.shape());
    const auto few = checked_element_count(y.shape());
    if (many.ok() && few.ok() && *few > 0) return c.scalar(static_cast<double>(*many / *few), c.input(0));
  }
  const ValueId all = c.cast(c.add("Size", {c.input(0)}), x.dtype);
  return c.over(all, c.cast(c.add("Size", {c.output(0)}), x.dtype));
}

Status reduce_mean_rule(GradientContext& c) {
  c.set(0, spread(c, c.over(c.gradient(), count_of(c))));
  return {};
}

Status reduce_sum_square_rule(GradientContext& c) {
  c.set(0, c.times(spread(c, c.times(c.gradient(), 2)), c.input(0)));
  return {};
}

// The largest or smallest elements share the gradient where several are equal.
Status reduce_extremum_rule(GradientContext& c) {
  const ValueId x = c.input(0), y = c.output(0);
  if (reduces_nothing(c)) {
    c.set(0, c.gradient());
    return {};
  }
  const ValueId taken = c.cast(c.add("Equal", {x, spread(c, y)}), c.type(x).dtype);
  std::vector<ValueId> inputs = c.node().inputs;
  inputs[0] = taken;
  const ValueId share = c.over(c.gradient(), c.add("ReduceSum", std::move(inputs), c.attributes()));
  c.set(0, c.times(spread(c, share), taken));
  return {};
}

Status reduce_l1_rule(GradientContext& c) {
  c.set(0, c.times(spread(c, c.gradient()), c.add("Sign", {c.input(0)})));
  return {};
}

// x / y; 0 where all elements are 0, as PyTorch has it.
Status reduce_l2_rule(GradientContext& c) {
  const ValueId y = c.output(0), g = c.gradient();
  const ValueId none = c.add("Equal", {y, c.scalar(0, y)});
  const ValueId share = c.over(c.choose(none, c.scalar(0, g), g), c.choose(none, c.scalar(1, y), y));
  c.set(0, c.times(spread(c, share), c.input(0)));
  return {};
}

// y = log Σx: 1 / Σx.
Status reduce_log_sum_rule(GradientContext& c) {
  c.set(0, spread(c, c.times(c.gradient(), c.add("Exp", {c.negative(c.output(0))}))));
  return {};
}

// e^(x - y)
Status reduce_log_sum_exp_rule(GradientContext& c) {
  const ValueId part = c.add("Exp", {c.minus(c.input(0), spread(c, c.output(0)))});
  c.set(0, c.times(spread(c, c.gradient()), part));
  return {};
}

// The product of the others: of all that are not zero, over x; at the only zero, that product itself; nothing
// where there are more zeros.
Status reduce_prod_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const ValueId zero = c.scalar(0, x), one = c.scalar(1, x);
  const auto reduced = [&](const char* op, ValueId value) {
    std::vector<ValueId> inputs = c.node().inputs;
    inputs[0] = value;
    return spread(c, c.add(op, std::move(inputs), c.attributes()));
  };
  const ValueId is_zero = c.add("Equal", {x, zero});
  const ValueId others = c.choose(is_zero, one, x);
  const ValueId zeros = reduced("ReduceSum", c.cast(is_zero, c.type(x).dtype));
  const ValueId elsewhere = c.minus(zeros, c.cast(is_zero, c.type(x).dtype));  // zeros beside this element
  const ValueId product = c.over(reduced("ReduceProd", others), others);
  const ValueId slope = c.choose(c.add("Equal", {elsewhere, zero}), product, zero);
  c.set(0, c.times(spread(c, c.gradient()), slope));
  return {};
}

// Sums that run the other way.
Status cumulative_sum_rule(GradientContext& c) {
  Attributes attributes = c.attributes();
  attributes.set("reverse", int64_t{c.attributes().integer("reverse", 0) == 0});
  c.set(0, c.add("CumSum", {c.gradient(), c.input(1)}, std::move(attributes)));
  return {};
}

// Σ g·y from an element on, over the element. At the first zero of a line: over what y is without it. Behind that
// nothing changes anything.
Status cumulative_product_rule(GradientContext& c) {
  const ValueId x = c.input(0), axis = c.input(1), g = c.gradient();
  const ValueId zero = c.scalar(0, x), one = c.scalar(1, x);
  const Attributes forward = c.attributes();
  Attributes backward = forward, so_far;
  const int64_t reverse = forward.integer("reverse", 0);
  backward.set("reverse", int64_t{reverse == 0});
  so_far.set("reverse", reverse);
  const ValueId is_zero = c.add("Equal", {x, zero});
  const ValueId zeros = c.add("CumSum", {c.cast(is_zero, c.type(x).dtype), axis}, so_far);
  const ValueId first = c.add("And", {is_zero, c.add("Equal", {zeros, one})});
  const auto flowing = [&](ValueId y) { return c.add("CumSum", {c.times(g, y), axis}, backward); };
  const ValueId without = c.add("CumProd", {c.choose(first, one, x), axis}, forward);
  const ValueId elsewhere = c.over(flowing(c.output(0)), c.choose(is_zero, one, x));
  const ValueId at_zeros = c.choose(first, flowing(without), zero);
  c.set(0, c.choose(c.add("Equal", {zeros, zero}), elsewhere, at_zeros));
  return {};
}

// The elements taken get their gradients back.
Status top_k_rule(GradientContext& c) {
  if (!c.gradient(0).valid()) return {};  // indices have none
  const int64_t axis = c.attributes().integer("axis", -1);
  if (c.node().outputs.size() < 2 || !c.output(1).valid())
    return unsupported("unsupported: the gradient of TopK without its indices as an output");
  c.set(0,
        c.add("ScatterElements", {c.zeros_like(c.input(0)), c.output(1), c.gradient(0)}, {{"axis", axis}}));
  return {};
}

Attributes axis_of(const GradientContext& c) { return {{"axis", c.attributes().integer("axis", -1)}}; }

ValueId sum_along_axis(GradientContext& c, ValueId value) {
  return c.add("ReduceSum", {value, c.ints({c.attributes().integer("axis", -1)})},
               {{"keepdims", int64_t{1}}});
}

// y · (g - Σ g·y)
Status softmax_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  const ValueId product = c.times(c.gradient(), y);
  c.set(0, c.minus(product, c.times(y, sum_along_axis(c, product))));
  return {};
}

// g - softmax(x) · Σ g
Status log_softmax_rule(GradientContext& c) {
  const ValueId softmax = c.add("Softmax", {c.input(0)}, axis_of(c));
  c.set(0, c.minus(c.gradient(), c.times(softmax, sum_along_axis(c, c.gradient()))));
  return {};
}

}  // namespace

void add_reduction_gradients(OpTable& table) {
  table.set_gradient("ReduceSum", reduce_sum_rule);
  table.set_gradient("ReduceMean", reduce_mean_rule);
  table.set_gradient("ReduceSumSquare", reduce_sum_square_rule);
  table.set_gradient("ReduceMax", reduce_extremum_rule);
  table.set_gradient("ReduceMin", reduce_extremum_rule);
  table.set_gradient("ReduceL1", reduce_l1_rule);
  table.set_gradient("ReduceL2", reduce_l2_rule);
  table.set_gradient("ReduceLogSum", reduce_log_sum_rule);
  table.set_gradient("ReduceLogSumExp", reduce_log_sum_exp_rule);
  table.set_gradient("ReduceProd", reduce_prod_rule);
  table.set_gradient("CumSum", cumulative_sum_rule);
  table.set_gradient("CumProd", cumulative_product_rule);
  table.set_gradient("TopK", top_k_rule);
  table.set_gradient("Softmax", softmax_rule);
  table.set_gradient("LogSoftmax", log_softmax_rule);
  for (std::string_view op : {"ArgMax", "ArgMin", "Hardmax"}) table.set_gradient(op, no_gradient);
}

}  // namespace hone::graph
