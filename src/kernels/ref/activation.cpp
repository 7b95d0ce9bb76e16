// Activation functions, computed in double precision and rounded once. Defaults of attributes are ONNX's.
#include <cmath>
#include <functional>
#include <numbers>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;
using Function = std::function<double(double)>;

Outputs map(const RefCall& call, const Function& f) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  auto values = widen<double>(x);
  each_range(values.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values[i] = f(values[i]);
  });
  return one(narrow(x.dtype(), x.shape(), values));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// log(1 + e^x), without overflow for large x.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// The standard normal's cumulative distribution.
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

Outputs gelu(const RefCall& call) {
  if (call.attributes.text("approximate", "none") == "tanh") return map(call, gelu_tanh);
  return map(call, [](double x) { return x * normal_cdf(x); });
}

// Φ(x) + x · φ(x); its form by tanh: with t = tanh u, (1 + t) / 2 + x / 2 · (1 - t²) · u'. Beyond 40, 0 or 1.
Outputs gelu_slope(const RefCall& call) {
  const bool by_tanh = call.attributes.text("approximate", "none") == "tanh";
  const double k = std::sqrt(2 / std::numbers::pi);
  return map(call, [=](double at) {
    const double x = at < -40 ? -40 : at > 40 ? 40 : at;
    if (!by_tanh) return normal_cdf(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double t = std::tanh(k * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
  });
}

Outputs celu(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 1.0F);
  return map(call, [=](double x) { return maximum(0.0, x) + minimum(0.0, alpha * std::expm1(x / alpha)); });
}

Outputs elu(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 1.0F);
  return map(call, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Outputs selu(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 1.67326319217681884765625F);
  const double gamma = call.attributes.real("gamma", 1.05070102214813232421875F);
  return map(call, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

double clamp_unit(double x) { return maximum(0.0, minimum(1.0, x)); }

Outputs hard_sigmoid(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 0.2F);
  const double beta = call.attributes.real("beta", 0.5F);
  return map(call, [=](double x) { return clamp_unit(alpha * x + beta); });
}

Outputs leaky_relu(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 0.01F);
  return map(call, [=](double x) { return x < 0 ? alpha * x : x; });
}

Outputs thresholded_relu(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 1.0F);
  return map(call, [=](double x) { return x > alpha ? x : not_a_number(x) ? x : 0.0; });
}

Outputs shrink(const RefCall& call) {
  const double lambda = call.attributes.real("lambd", 0.5F);
  const double bias = call.attributes.real("bias", 0.0F);
  return map(call, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0.0; });
}

Outputs swish(const RefCall& call) {
  const double alpha = call.attributes.real("alpha", 1.0F);
  return map(call, [=](double x) { return x * sigmoid(alpha * x); });
}

Outputs relu(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto values = widen<W>(x);
    for (W& value : values) value = maximum(value, W{0});
    return one(narrow(x.dtype(), x.shape(), values));
  });
}

Outputs prelu(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Tensor& slope = call.inputs[1];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_CHECK(expect_real(call, slope.dtype()));
  HONE_ASSIGN(const Shape shape, broadcast_shapes(x.shape(), slope.shape()));
  if (shape != x.shape()) return bad_call(call, "the slope does not broadcast to the input");
  const auto from = broadcast_offsets(slope.shape(), x.shape());
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto values = widen<W>(x);
    const auto slopes = widen<W>(slope);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) values[i] = multiply(values[i], slopes[static_cast<std::size_t>(from[i])]);
    }
    return one(narrow(x.dtype(), x.shape(), values));
  });
}

template <auto f>
Outputs plain(const RefCall& call) {
  return map(call, f);
}

}  // namespace

void add_activation_kernels(RefTable& table) {
  table.add("Celu", celu);
  table.add("Elu", elu);
  table.add("Gelu", gelu);
  table.add("hone.GeluSlope", gelu_slope);
  table.add("HardSigmoid", hard_sigmoid);
  table.add("HardSwish", plain<[](double x) { return x * clamp_unit(x / 6 + 0.5); }>);
  table.add("LeakyRelu", leaky_relu);
  table.add("Mish", plain<[](double x) { return x * std::tanh(softplus(x)); }>);
  table.add("PRelu", prelu);
  table.add("Relu", relu);
  table.add("Selu", selu);
  table.add("Shrink", shrink);
  table.add("Sigmoid", plain<[](double x) { return sigmoid(x); }>);
  table.add("Softplus", plain<[](double x) { return softplus(x); }>);
  table.add("Softsign", plain<[](double x) { return x / (1 + std::fabs(x)); }>);
  table.add("Swish", swish);
  table.add("Tanh", plain<[](double x) { return std::tanh(x); }>);
  table.add("ThresholdedRelu", thresholded_relu);
}

}  // namespace hone::kernels::ref
