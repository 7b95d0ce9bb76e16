// Gradients of arithmetic: g · ∂y/∂x, summed where an operand was broadcast. Activations are in
// activation.cpp.
#include <cmath>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

Status add_rule(GradientContext& c) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.wants(i)) c.set_summed(i, c.gradient());
  return {};
}

Status sub_rule(GradientContext& c) {
  if (c.wants(0)) c.set_summed(0, c.gradient());
  if (c.wants(1)) c.set_summed(1, c.negative(c.gradient()));
  return {};
}

Status mul_rule(GradientContext& c) {
  if (c.wants(0)) c.set_summed(0, c.times(c.gradient(), c.input(1)));
  if (c.wants(1)) c.set_summed(1, c.times(c.gradient(), c.input(0)));
  return {};
}

// y = a / b: ∂y/∂a = 1 / b, ∂y/∂b = -y / b.
Status div_rule(GradientContext& c) {
  const ValueId over_b = c.over(c.gradient(), c.input(1));
  if (c.wants(0)) c.set_summed(0, over_b);
  if (c.wants(1)) c.set_summed(1, c.negative(c.times(over_b, c.output(0))));
  return {};
}

// y = a^b: ∂y/∂a = b · a^(b-1), ∂y/∂b = y · log a. Both are 0 where their product would be 0 · ∞: at b = 0,
// and at a = 0 with b ≥ 0.
Status pow_rule(GradientContext& c) {
  const ValueId g = c.gradient();
  const ValueId a = c.input(0);
  const ValueId b = c.cast(c.input(1), c.type(a).dtype);
  const ValueId zero = c.scalar(0, a);
  if (c.wants(0)) {
    const Tensor* exponent = c.constant(1);
    const bool one_exponent = exponent != nullptr && exponent->size() == 1;
    if (one_exponent && exponent->at(0) == 2) {
      c.set_summed(0, c.times(g, c.times(a, 2)));
    } else {
      const ValueId slope = c.times(b, c.add("Pow", {a, c.minus(b, c.scalar(1, a))}));
      c.set_summed(0, c.times(g, c.choose(c.add("Equal", {b, zero}), zero, slope)));
    }
  }
  if (c.wants(1)) {
    const ValueId slope = c.times(c.output(0), c.add("Log", {a}));
    const ValueId at_zero = c.add("And", {c.add("Equal", {a, zero}), c.add("GreaterOrEqual", {b, zero})});
    c.set(1, c.cast(c.summed_to(c.times(g, c.choose(at_zero, zero, slope)), c.input(1)),
                    c.type(c.input(1)).dtype));
  }
  return {};
}

Status neg_rule(GradientContext& c) {
  c.set(0, c.negative(c.gradient()));
  return {};
}

Status sqrt_rule(GradientContext& c) {
  c.set(0, c.over(c.times(c.gradient(), 0.5), c.output(0)));
  return {};
}

Status exp_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.output(0)));
  return {};
}

Status log_rule(GradientContext& c) {
  c.set(0, c.over(c.gradient(), c.input(0)));
  return {};
}

Status abs_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.add("Sign", {c.input(0)})));
  return {};
}

Status reciprocal_rule(GradientContext& c) {
  c.set(0, c.negative(c.times(c.gradient(), c.times(c.output(0), c.output(0)))));
  return {};
}

// 2 / √π · exp(-x²)
Status erf_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const ValueId bell = c.add("Exp", {c.negative(c.times(x, x))});
  c.set(0, c.times(c.gradient(), c.times(bell, 2 / std::sqrt(M_PI))));
  return {};
}

Status sin_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.add("Cos", {c.input(0)})));
  return {};
}

Status cos_rule(GradientContext& c) {
  c.set(0, c.negative(c.times(c.gradient(), c.add("Sin", {c.input(0)}))));
  return {};
}

// 1 + y²
Status tan_rule(GradientContext& c) {
  const ValueId y = c.output(0);
  c.set(0, c.times(c.gradient(), c.plus(c.times(y, y), c.scalar(1, y))));
  return {};
}

Status sinh_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.add("Cosh", {c.input(0)})));
  return {};
}

Status cosh_rule(GradientContext& c) {
  c.set(0, c.times(c.gradient(), c.add("Sinh", {c.input(0)})));
  return {};
}

// The inverse functions: 1 / (a + b · x²), of its root where `root`, times `sign`.
template <int a, int b, bool root, int sign>
Status inverse_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const ValueId square = c.times(x, x);
  ValueId below = b == 1 ? c.plus(square, c.scalar(a, x)) : c.minus(c.scalar(a, x), square);
  if (root) below = c.add("Sqrt", {below});
  c.set(0, c.over(sign == 1 ? c.gradient() : c.negative(c.gradient()), below));
  return {};
}

// y = a - q · b, where the quotient q is a whole number: it is (a - y) / b.
Status mod_rule(GradientContext& c) {
  const ValueId g = c.gradient();
  if (c.wants(0)) c.set_summed(0, g);
  if (c.wants(1)) {
    const ValueId quotient = c.add("Round", {c.over(c.minus(c.input(0), c.output(0)), c.input(1))});
    c.set_summed(1, c.negative(c.times(g, quotient)));
  }
  return {};
}

Status where_rule(GradientContext& c) {
  const ValueId zero = c.scalar(0, c.gradient());
  if (c.wants(1)) c.set_summed(1, c.choose(c.input(0), c.gradient(), zero));
  if (c.wants(2)) c.set_summed(2, c.choose(c.input(0), zero, c.gradient()));
  return {};
}

Status mean_rule(GradientContext& c) {
  const ValueId part = c.times(c.gradient(), 1.0 / static_cast<double>(c.input_count()));
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.wants(i)) c.set_summed(i, part);
  return {};
}

// Max and Min: the input that was taken gets all; inputs that are equal there share it.
Status extremum_rule(GradientContext& c) {
  const DType dtype = c.type(c.output(0)).dtype;
  std::vector<ValueId> taken;
  ValueId count = kNoValue;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    taken.push_back(c.cast(c.add("Equal", {c.input(i), c.output(0)}), dtype));
    count = i == 0 ? taken[0] : c.plus(count, taken[i]);
  }
  const ValueId share = c.over(c.gradient(), count);
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.wants(i)) c.set_summed(i, c.times(share, taken[i]));
  return {};
}

Status cast_rule(GradientContext& c) {
  c.set(0, c.cast(c.gradient(), c.type(c.input(0)).dtype));
  return {};
}

}  // namespace

void add_pointwise_gradients(OpTable& table) {
  table.set_gradient("Add", add_rule);
  table.set_gradient("Sum", add_rule);
  table.set_gradient("Sub", sub_rule);
  table.set_gradient("Mul", mul_rule);
  table.set_gradient("Div", div_rule);
  table.set_gradient("Pow", pow_rule);
  table.set_gradient("Neg", neg_rule);
  table.set_gradient("Sqrt", sqrt_rule);
  table.set_gradient("Exp", exp_rule);
  table.set_gradient("Log", log_rule);
  table.set_gradient("Abs", abs_rule);
  table.set_gradient("Reciprocal", reciprocal_rule);
  table.set_gradient("Erf", erf_rule);
  table.set_gradient("Sin", sin_rule);
  table.set_gradient("Cos", cos_rule);
  table.set_gradient("Tan", tan_rule);
  table.set_gradient("Sinh", sinh_rule);
  table.set_gradient("Cosh", cosh_rule);
  table.set_gradient("Asin", inverse_rule<1, -1, true, 1>);
  table.set_gradient("Acos", inverse_rule<1, -1, true, -1>);
  table.set_gradient("Atan", inverse_rule<1, 1, false, 1>);
  table.set_gradient("Asinh", inverse_rule<1, 1, true, 1>);
  table.set_gradient("Acosh", inverse_rule<-1, 1, true, 1>);
  table.set_gradient("Atanh", inverse_rule<1, -1, false, 1>);
  table.set_gradient("Mod", mod_rule);
  table.set_gradient("Where", where_rule);
  table.set_gradient("Mean", mean_rule);
  table.set_gradient("Max", extremum_rule);
  table.set_gradient("Min", extremum_rule);
  table.set_gradient("Cast", cast_rule);
  table.set_gradient("CastLike", cast_rule);
  for (std::string_view op : {"Ceil", "Floor", "Round", "Sign", "Equal", "Greater", "GreaterOrEqual", "Less",
                              "LessOrEqual", "IsNaN", "IsInf", "And", "Or", "Xor", "Not"})
    table.set_gradient(op, no_gradient);
}

}  // namespace hone::graph
