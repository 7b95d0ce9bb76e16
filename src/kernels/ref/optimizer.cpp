// Optimizers over many tensors (graph/ops/optimizer.cpp states the formulas and the order of inputs). All
// arithmetic is in double, with one rounding of each result, but two where it is rounded stochastically: to f32 before.
#include <cmath>

#include <fmt/core.h>

#include "core/stochastic_rounding.h"
#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using OptimizerOutputs = Result<std::vector<Tensor>>;

// The inputs behind the scalars, in groups of as many: parameters, gradients, moments.
struct TensorGroups {
  std::span<const Tensor> tensors;
  std::size_t count = 0;

  const Tensor& of(std::size_t group, std::size_t i) const { return tensors[group * count + i]; }
};

Result<TensorGroups> tensor_groups_of(const RefCall& call, std::size_t scalars, std::size_t groups) {
  const std::size_t tensors = call.inputs.size() - std::min(scalars, call.inputs.size());
  if (tensors == 0 || tensors % groups != 0)
    return bad_call(call, fmt::format("{} tensors are no {} groups", tensors, groups));
  TensorGroups found{call.inputs.subspan(scalars), tensors / groups};
  for (std::size_t i = 0; i < tensors; ++i) {
    const Tensor& tensor = found.tensors[i];
    if (!tensor.defined()) return bad_call(call, "a tensor is absent");
    HONE_CHECK(expect_real(call, tensor.dtype()));
    if (tensor.shape() != found.of(0, i % found.count).shape())
      return bad_call(call, "gradients and moments must have their parameter's shape");
  }
  return found;
}

double optimizer_scalar(const RefCall& call, std::size_t input, double otherwise) {
  return call.has(input) && call.inputs[input].size() == 1 ? call.inputs[input].at(0) : otherwise;
}

Tensor updated(const Tensor& tensor, const std::vector<double>& values) {
  return narrow(tensor.dtype(), tensor.shape(), values);
}

// The next value of parameter `i`, rounded as the call asks for.
Tensor updated_parameter(const RefCall& call, const Tensor& parameter, std::size_t i, int64_t updates,
                         const std::vector<double>& values) {
  const Ints numbers = call.attributes.ints("numbers");
  if (i >= numbers.size()) return updated(parameter, values);
  const RoundingBits bits(static_cast<uint64_t>(call.attributes.integer("seed", 0)), numbers[i], updates);
  Tensor next(DType::kBF16, parameter.shape());
  const std::span<uint16_t> to = next.as<uint16_t>();
  for (std::size_t j = 0; j < values.size(); ++j)
    to[j] = f32_to_bf16_stochastically(static_cast<float>(values[j]), bits.of(static_cast<int64_t>(j)));
  return next;
}

// Parameters and moments as they are: what a scale of NaN asks for.
std::vector<Tensor> as_they_are(const TensorGroups& groups, std::size_t moments) {
  std::vector<Tensor> kept;
  for (std::size_t group = 0; group <= moments; ++group)
    for (std::size_t i = 0; i < groups.count; ++i)
      kept.push_back(groups.of(group == 0 ? 0 : group + 1, i).clone());
  return kept;
}

OptimizerOutputs sgd(const RefCall& call) {
  const double momentum = call.attributes.real("momentum", 0);
  const double decay = call.attributes.real("weight_decay", 0);
  const bool nesterov = call.attributes.integer("nesterov", 0) != 0;
  const bool rounds = !call.attributes.ints("numbers").empty();
  HONE_ASSIGN(const TensorGroups groups, tensor_groups_of(call, rounds ? 3 : 2, momentum != 0 ? 3 : 2));
  const int64_t updates = rounds && call.has(2) ? call.inputs[2].int_at(0) : 0;
  const double rate = optimizer_scalar(call, 0, 0);
  const double scale = optimizer_scalar(call, 1, 1);
  if (std::isnan(scale)) return as_they_are(groups, momentum != 0 ? 1 : 0);
  std::vector<Tensor> parameters;
  std::vector<Tensor> velocities;
  for (std::size_t i = 0; i < groups.count; ++i) {
    auto x = widen<double>(groups.of(0, i));
    const auto gradient = widen<double>(groups.of(1, i));
    auto v = momentum != 0 ? widen<double>(groups.of(2, i)) : std::vector<double>();
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double g = scale * gradient[j] + decay * x[j];
      if (momentum != 0) v[j] = momentum * v[j] + g;
      x[j] -= rate * (momentum == 0 ? g : nesterov ? g + momentum * v[j] : v[j]);
    }
    parameters.push_back(updated_parameter(call, groups.of(0, i), i, updates, x));
    if (momentum != 0) velocities.push_back(updated(groups.of(2, i), v));
  }
  parameters.insert(parameters.end(), velocities.begin(), velocities.end());
  return parameters;
}

OptimizerOutputs adamw(const RefCall& call) {
  const double beta1 = call.attributes.real("beta1", 0.9F);
  const double beta2 = call.attributes.real("beta2", 0.999F);
  const double epsilon = call.attributes.real("epsilon", 1e-8F);
  const double decay = call.attributes.real("weight_decay", 0.01F);
  HONE_ASSIGN(const TensorGroups groups, tensor_groups_of(call, 3, 4));
  if (!call.has(1) || call.inputs[1].size() != 1)
    return bad_call(call, "the number of updates must be a scalar");
  const double rate = optimizer_scalar(call, 0, 0);
  const double scale = optimizer_scalar(call, 2, 1);
  if (std::isnan(scale)) return as_they_are(groups, 2);
  const double t = static_cast<double>(call.inputs[1].int_at(0)) + 1;
  const double correction1 = 1 - std::pow(beta1, t);
  const double correction2 = 1 - std::pow(beta2, t);
  std::vector<Tensor> parameters;
  std::vector<Tensor> first;
  std::vector<Tensor> second;
  for (std::size_t i = 0; i < groups.count; ++i) {
    auto x = widen<double>(groups.of(0, i));
    const auto gradient = widen<double>(groups.of(1, i));
    auto m = widen<double>(groups.of(2, i));
    auto v = widen<double>(groups.of(3, i));
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double g = scale * gradient[j];
      m[j] = beta1 * m[j] + (1 - beta1) * g;
      v[j] = beta2 * v[j] + (1 - beta2) * g * g;
      const double step = m[j] / correction1 / (std::sqrt(v[j] / correction2) + epsilon);
      x[j] = x[j] * (1 - rate * decay) - rate * step;
    }
    parameters.push_back(updated_parameter(call, groups.of(0, i), i, call.inputs[1].int_at(0), x));
    first.push_back(updated(groups.of(2, i), m));
    second.push_back(updated(groups.of(3, i), v));
  }
  parameters.insert(parameters.end(), first.begin(), first.end());
  parameters.insert(parameters.end(), second.begin(), second.end());
  return parameters;
}

OptimizerOutputs square_sum(const RefCall& call) {
  double sum = 0;
  DType result = DType::kF32;
  for (const Tensor& tensor : call.inputs) {
    if (!tensor.defined()) return bad_call(call, "a tensor is absent");
    HONE_CHECK(expect_real(call, tensor.dtype()));
    if (tensor.dtype() == DType::kF64) result = DType::kF64;
    for (const double x : widen<double>(tensor)) sum += x * x;
  }
  return std::vector<Tensor>{narrow(result, Shape{}, std::vector<double>{sum})};
}

}  // namespace

void add_optimizer_kernels(RefTable& table) {
  table.add("hone.Sgd", sgd);
  table.add("hone.AdamW", adamw);
  table.add("hone.SquareSum", square_sum);
}

}  // namespace hone::kernels::ref
