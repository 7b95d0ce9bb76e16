// Gradients of sums, means and softmax.
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
  table.set_gradient("Softmax", softmax_rule);
  table.set_gradient("LogSoftmax", log_softmax_rule);
  for (std::string_view op : {"ArgMax", "ArgMin", "Hardmax"}) table.set_gradient(op, no_gradient);
}

}  // namespace hone::graph
