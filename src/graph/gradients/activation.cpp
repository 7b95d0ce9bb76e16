// Gradients of activations, from their outputs where that saves work.
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// Nothing passes where x ≤ 0, also where the gradient is infinite or NaN.
Status relu_rule(GradientContext& c) {
  const ValueId zero = c.scalar(0, c.input(0));
  c.set(0, c.choose(c.add("Greater", {c.input(0), zero}), c.gradient(), zero));
  return {};
}

Status leaky_relu_rule(GradientContext& c) {
  const ValueId zero = c.scalar(0, c.input(0));
  const double slope = c.attributes().real("alpha", 0.01f);
  c.set(0, c.choose(c.add("Greater", {c.input(0), zero}), c.gradient(), c.times(c.gradient(), slope)));
  return {};
}

// y · (1 - y)
Status sigmoid_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  c.set(0, c.times(c.gradient(), c.times(y, c.minus(c.scalar(1, y), y))));
  return {};
}

// 1 - y²
Status tanh_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  c.set(0, c.times(c.gradient(), c.minus(c.scalar(1, y), c.times(y, y))));
  return {};
}

Status softplus_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.add("Sigmoid", {c.input(0)})));
  return {};
}

// (1 - |y|)², because 1 - |y| is 1 / (1 + |x|).
Status softsign_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  const ValueId rest = c.minus(c.scalar(1, y), c.add("Abs", {y}));
  c.set(0, c.times(c.gradient(), c.times(rest, rest)));
  return {};
}

}  // namespace

void add_activation_gradients(OpTable& table) {
  table.set_gradient("Relu", relu_rule);
  table.set_gradient("LeakyRelu", leaky_relu_rule);
  table.set_gradient("Sigmoid", sigmoid_rule);
  table.set_gradient("Tanh", tanh_rule);
  table.set_gradient("Softplus", softplus_rule);
  table.set_gradient("Softsign", softsign_rule);
}

}  // namespace hone::graph
