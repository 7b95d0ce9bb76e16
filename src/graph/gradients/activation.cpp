// Gradients of activations, from their outputs where that saves work.
#include <cmath>
#include <numbers>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// Nothing passes where x ≤ 0, also where the gradient is infinite or NaN. The result says where that is as well as x, which
// then need not be kept.
Status relu_rule(GradientContext& c) {
  const ValueId zero = c.scalar(0, c.output(0));
  c.set(0, c.choose(c.add("Greater", {c.output(0), zero}), c.gradient(), zero));
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

// The slope below zero, where the function is one exponential: that is the output plus a constant.
void set_exponential(GradientContext& c, ValueId slope_below, double slope_above) {
  const ValueId g = c.gradient();
  const ValueId below = c.add("Less", {c.input(0), c.scalar(0, c.input(0))});
  c.set(0, c.choose(below, c.times(g, slope_below), slope_above == 1 ? g : c.times(g, slope_above)));
}

// alpha · eˣ
Status elu_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  set_exponential(c, c.plus(y, c.scalar(c.attributes().real("alpha", 1), y)), 1);
  return {};
}

// e^(x / alpha)
Status celu_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  const double alpha = c.attributes().real("alpha", 1);
  set_exponential(c, c.plus(c.times(y, 1 / alpha), c.scalar(1, y)), 1);
  return {};
}

// gamma · alpha · eˣ
Status selu_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  const double alpha = c.attributes().real("alpha", 1.67326319217681884765625F);
  const double gamma = c.attributes().real("gamma", 1.05070102214813232421875F);
  set_exponential(c, c.plus(y, c.scalar(gamma * alpha, y)), gamma);
  return {};
}

Status gelu_rule(GradientContext& c) {
  const std::string approximate = c.attributes().text("approximate", "none");
  c.set(0, c.times(c.gradient(), c.add("hone.GeluSlope", {c.input(0)}, {{"approximate", approximate}})));
  return {};
}

// With s = σ(alpha · x): s · (1 + alpha · x · (1 - s)).
Status swish_rule(GradientContext& c) {
  const double alpha = c.attributes().real("alpha", 1);
  const ValueId z = alpha == 1 ? c.input(0) : c.times(c.input(0), alpha);
  const ValueId s = c.add("Sigmoid", {z});
  const ValueId one = c.scalar(1, s);
  c.set(0, c.times(c.gradient(), c.times(s, c.plus(one, c.times(z, c.minus(one, s))))));
  return {};
}

Status hard_sigmoid_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  const ValueId inside =
      c.add("And", {c.add("Greater", {y, c.scalar(0, y)}), c.add("Less", {y, c.scalar(1, y)})});
  const ValueId g = c.times(c.gradient(), c.attributes().real("alpha", 0.2F));
  c.set(0, c.choose(inside, g, c.scalar(0, g)));
  return {};
}

// 0 up to -3, 1 from 3 on, x / 3 + 1 / 2 between.
Status hard_swish_rule(GradientContext& c) {
  const ValueId x = c.input(0), g = c.gradient();
  const ValueId between = c.times(g, c.plus(c.times(x, 1.0 / 3), c.scalar(0.5, x)));
  const ValueId upper = c.choose(c.add("Less", {x, c.scalar(3, x)}), between, g);
  c.set(0, c.choose(c.add("Greater", {x, c.scalar(-3, x)}), upper, c.scalar(0, g)));
  return {};
}

// With t = tanh(softplus(x)): t + x · σ(x) · (1 - t²).
Status mish_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const ValueId t = c.add("Tanh", {c.add("Softplus", {x})});
  const ValueId rest = c.minus(c.scalar(1, t), c.times(t, t));
  const ValueId slope = c.plus(t, c.times(c.times(x, c.add("Sigmoid", {x})), rest));
  c.set(0, c.times(c.gradient(), slope));
  return {};
}

Status prelu_rule(GradientContext& c) {
  const ValueId x = c.input(0), g = c.gradient();
  const ValueId below = c.add("Less", {x, c.scalar(0, x)});
  if (c.wants(0)) c.set(0, c.choose(below, c.times(g, c.input(1)), g));
  if (c.wants(1)) c.set_summed(1, c.choose(below, c.times(g, x), c.scalar(0, g)));
  return {};
}

Status thresholded_relu_rule(GradientContext& c) {
  const ValueId x = c.input(0), g = c.gradient();
  const ValueId above = c.add("Greater", {x, c.scalar(c.attributes().real("alpha", 1), x)});
  c.set(0, c.choose(above, g, c.scalar(0, g)));
  return {};
}

Status shrink_rule(GradientContext& c) {
  const ValueId x = c.input(0), g = c.gradient();
  const ValueId outside =
      c.add("Greater", {c.add("Abs", {x}), c.scalar(c.attributes().real("lambd", 0.5F), x)});
  c.set(0, c.choose(outside, g, c.scalar(0, g)));
  return {};
}

// min(max(x, low), high). What is limited passes nothing; a limit that is trained gets what it limits.
Status clip_rule(GradientContext& c) {
  const ValueId x = c.input(0), g = c.gradient();
  const ValueId zero = c.scalar(0, g);
  const bool low = c.has_input(1), high = c.has_input(2);
  const ValueId raised = low && high ? c.add("Max", {x, c.input(1)}) : x;
  if (c.wants(0)) {
    ValueId passed = g;
    if (low) passed = c.choose(c.add("GreaterOrEqual", {x, c.input(1)}), passed, zero);
    if (high) passed = c.choose(c.add("LessOrEqual", {x, c.input(2)}), passed, zero);
    c.set(0, passed);
  }
  const ValueId too_high = high ? c.add("Greater", {raised, c.input(2)}) : kNoValue;
  if (high && c.wants(2)) c.set_summed(2, c.choose(too_high, g, zero));
  if (low && c.wants(1)) {
    const ValueId kept = high ? c.choose(too_high, zero, g) : g;
    c.set_summed(1, c.choose(c.add("Less", {x, c.input(1)}), kept, zero));
  }
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
  table.set_gradient("Elu", elu_rule);
  table.set_gradient("Celu", celu_rule);
  table.set_gradient("Selu", selu_rule);
  table.set_gradient("Gelu", gelu_rule);
  table.set_gradient("Swish", swish_rule);
  table.set_gradient("HardSigmoid", hard_sigmoid_rule);
  table.set_gradient("HardSwish", hard_swish_rule);
  table.set_gradient("Mish", mish_rule);
  table.set_gradient("PRelu", prelu_rule);
  table.set_gradient("ThresholdedRelu", thresholded_relu_rule);
  table.set_gradient("Shrink", shrink_rule);
  table.set_gradient("Clip", clip_rule);
}

}  // namespace hone::graph
