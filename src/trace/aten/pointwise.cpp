// Pointwise operators: each element of the output from the elements at the same place, after broadcasting.
// `flops` is an element's; `operands` are the tensors (or numbers) that it reads, the first in the schema.
#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

struct Output {
  Shape dims;
  DType dtype = DType::kUndefined;
};

// The output's shape, and the type by promotion; what works in place writes to its first operand.
std::optional<Output> broadcast(std::span<const CallInput> operands, bool in_place) {
  Output result;
  bool any = false;
  for (const CallInput& operand : operands) {
    if (operand.kind == CallInput::Kind::kList) return std::nullopt;
    if (operand.kind != CallInput::Kind::kTensor) continue;
    auto both = broadcast_shapes(result.dims, operand.dims);  // a scalar's with anything is the other
    if (!both.ok()) return std::nullopt;
    result.dims = std::move(*both);
    any = true;
  }
  if (!any) return std::nullopt;
  result.dtype = promote(operands);
  if (in_place && operands[0].kind == CallInput::Kind::kTensor)
    result = {operands[0].dims, operands[0].dtype};
  return result;
}

std::optional<OperatorCost> cost_of(const Args& args, const Entry& entry, DType arithmetic_or_result,
                                    DType out) {
  double read = 0;
  for (int i = 0; i < entry.operands; ++i) read += args.stored_bytes(static_cast<std::size_t>(i));
  const auto result = broadcast(args.first(entry.operands), args.in_place());
  if (!result) return std::nullopt;
  const DType dtype = arithmetic_or_result == DType::kUndefined ? result->dtype : arithmetic_or_result;
  const DType written = out == DType::kUndefined || args.in_place() ? result->dtype : out;
  return OperatorCost{entry.flops * elements(result->dims),
                      read,
                      tensor_bytes(result->dims, written),
                      dtype,
                      fmt::format("{} {}", dims_text(result->dims), dtype_name(dtype)),
                      kOther,
                      {elements(result->dims), written}};
}

// The result has the promoted type.
std::optional<OperatorCost> pointwise(const Args& args, const Entry& entry) {
  return cost_of(args, entry, DType::kUndefined, DType::kUndefined);
}

// Functions of real numbers: of integers they give f32.
std::optional<OperatorCost> real(const Args& args, const Entry& entry) {
  const DType dtype = promote(args.first(entry.operands));
  return cost_of(args, entry, DType::kUndefined, is_float(dtype) ? dtype : DType::kF32);
}

// Comparisons and tests give Booleans.
std::optional<OperatorCost> comparison(const Args& args, const Entry& entry) {
  return cost_of(args, entry, DType::kUndefined, DType::kBool);
}

// where(condition, a, b): the condition's type does not count.
std::optional<OperatorCost> where(const Args& args, const Entry& entry) {
  if (args.count() < 3) return std::nullopt;
  const DType dtype = promote(args.first(3).subspan(1));
  return cost_of(args, entry, dtype, dtype);
}

// copy_(to, from): reads one, writes the other. A cast where the types differ, a change of layout where only
// the strides do, else a copy: also where elements that are stored once are written many times.
std::optional<OperatorCost> copy(const Args& args, const Entry&) {
  const CallInput *to = args.tensor(0), *from = args.tensor(1);
  if (to == nullptr || from == nullptr) return std::nullopt;
  OperatorCost cost{0,         from->stored_bytes(),           to->bytes(), from->dtype, {},
                    kMovement, {elements(to->dims), to->dtype}};
  cost.geometry = fmt::format("{} {}", dims_text(to->dims), dtype_name(from->dtype));
  if (to->dtype != from->dtype) {
    cost.flops = elements(to->dims);
    cost.op_class = kPointwise;
    cost.geometry += fmt::format(" → {}", dtype_name(to->dtype));
  } else if (const double times = copies_of_each(*to, *from); times > 1) {
    cost.geometry += fmt::format(", each element {:.0f} times", times);
  } else if (to->strides != from->strides && to->dims == from->dims) {
    cost.op_class = kLayout;
    cost.geometry += " to another order";
  }
  return cost;
}

// native_dropout(x, p, train): a random number, a comparison and a product an element; keeps a mask
std::optional<OperatorCost> native_dropout(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{3 * elements(x->dims),
                      x->stored_bytes(),
                      x->bytes() + elements(x->dims),
                      x->dtype,
                      dims_text(x->dims),
                      kOther,
                      {elements(x->dims), x->dtype}};
}

// Half as long along the axis named by argument `axis_at`, which is even; nothing where it is not.
std::optional<Shape> halved(const Args& args, const CallInput& x, std::size_t axis_at) {
  const auto given = args.integers(axis_at);
  const auto axis =
      normalize_axis(given && given->size() == 1 ? given->front() : -1, static_cast<int64_t>(x.dims.size()));
  if (!axis.ok()) return std::nullopt;
  Shape half = x.dims;
  int64_t& dim = half[static_cast<std::size_t>(*axis)];
  if (dim % 2 != 0) return std::nullopt;
  dim /= 2;
  return half;
}

// glu(x, axis): a·sigmoid(b) of the two halves of x
std::optional<OperatorCost> glu(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const auto half = halved(args, *x, 1);
  if (!half) return std::nullopt;
  return OperatorCost{entry.flops * elements(*half),
                      x->stored_bytes(),
                      tensor_bytes(*half, x->dtype),
                      x->dtype,
                      fmt::format("{} → {} {}", dims_text(x->dims), dims_text(*half), dtype_name(x->dtype)),
                      kOther,
                      {elements(*half), x->dtype}};
}

// glu_backward(gradient, x, axis): gradients of both halves, g·s and g·s·a·(1 − s) with s = sigmoid(b)
std::optional<OperatorCost> glu_backward(const Args& args, const Entry& entry) {
  const CallInput *gradient = args.tensor(0), *x = args.tensor(1);
  if (gradient == nullptr || x == nullptr || halved(args, *x, 2) != gradient->dims) return std::nullopt;
  return OperatorCost{entry.flops * elements(gradient->dims),
                      gradient->stored_bytes() + x->stored_bytes(),
                      x->bytes(),
                      x->dtype,
                      fmt::format("gradient, {} {}", dims_text(x->dims), dtype_name(x->dtype)),
                      kOther,
                      {elements(x->dims), x->dtype}};
}

// _prelu_kernel_backward(gradient, x, weight): gradients of x and, before they are summed up, of the weight,
// each as large as x
std::optional<OperatorCost> prelu_backward(const Args& args, const Entry& entry) {
  auto cost = cost_of(args, entry, DType::kUndefined, DType::kUndefined);
  if (cost) cost->written *= 2;
  return cost;
}

constexpr Entry kPointwiseTable[] = {
    // one operand
    {"abs", kPointwise, pointwise, 1, 1},
    {"neg", kPointwise, pointwise, 1, 1},
    {"sign", kPointwise, pointwise, 1, 1},
    {"sgn", kPointwise, pointwise, 1, 1},
    {"ceil", kPointwise, pointwise, 1, 1},
    {"floor", kPointwise, pointwise, 1, 1},
    {"round", kPointwise, pointwise, 1, 1},
    {"relu", kPointwise, pointwise, 1, 1},
    {"clamp", kPointwise, pointwise, 2, 1},
    {"clamp_min", kPointwise, pointwise, 1, 1},
    {"clamp_max", kPointwise, pointwise, 1, 1},
    {"hardtanh", kPointwise, pointwise, 2, 1},
    {"threshold", kPointwise, pointwise, 1, 1},
    {"bitwise_not", kPointwise, pointwise, 1, 1},
    {"square", kPointwise, pointwise, 1, 1},
    {"exp", kPointwise, real, 1, 1},
    {"exp2", kPointwise, real, 1, 1},
    {"expm1", kPointwise, real, 1, 1},
    {"log", kPointwise, real, 1, 1},
    {"log2", kPointwise, real, 1, 1},
    {"log1p", kPointwise, real, 1, 1},
    {"sqrt", kPointwise, real, 1, 1},
    {"rsqrt", kPointwise, real, 2, 1},
    {"reciprocal", kPointwise, real, 1, 1},
    {"sin", kPointwise, real, 1, 1},
    {"cos", kPointwise, real, 1, 1},
    {"tanh", kPointwise, real, 1, 1},
    {"erf", kPointwise, real, 1, 1},
    {"erfc", kPointwise, real, 1, 1},
    {"sigmoid", kPointwise, real, 3, 1},   // exp, add, divide
    {"silu", kPointwise, real, 4, 1},      // x·sigmoid(x)
    {"gelu", kPointwise, real, 5, 1},      // x/2·(1 + erf(x/√2))
    {"mish", kPointwise, real, 5, 1},      // x·tanh(log(1 + exp(x)))
    {"softplus", kPointwise, real, 3, 1},  // log(1 + exp(x))
    {"log_sigmoid_forward", kPointwise, real, 4, 1},
    {"elu", kPointwise, real, 3, 1},  // x or α(exp(x) − 1)
    {"leaky_relu", kPointwise, pointwise, 2, 1},
    {"hardswish", kPointwise, pointwise, 4, 1},  // x·clamp(x + 3)/6
    {"hardsigmoid", kPointwise, pointwise, 3, 1},
    {"logical_not", kPointwise, comparison, 1, 1},
    {"isnan", kPointwise, comparison, 1, 1},
    {"isfinite", kPointwise, comparison, 2, 1},
    {"isinf", kPointwise, comparison, 1, 1},
    {"tril", kPointwise, pointwise, 1, 1},
    {"triu", kPointwise, pointwise, 1, 1},
    // two
    {"_transform_bias_rescale_qkv", kPointwise, pointwise, 4.0 / 3,
     2},  // x + bias, and the first third scaled
    {"add", kPointwise, pointwise, 1, 2},
    {"sub", kPointwise, pointwise, 1, 2},
    {"rsub", kPointwise, pointwise, 1, 2},
    {"mul", kPointwise, pointwise, 1, 2},
    {"div", kPointwise, real, 1, 2},
    {"floor_divide", kPointwise, pointwise, 1, 2},
    {"remainder", kPointwise, pointwise, 3, 2},
    {"fmod", kPointwise, pointwise, 3, 2},
    {"pow", kPointwise, pointwise, 1, 2},
    {"maximum", kPointwise, pointwise, 1, 2},
    {"minimum", kPointwise, pointwise, 1, 2},
    {"atan2", kPointwise, real, 1, 2},
    {"bitwise_and", kPointwise, pointwise, 1, 2},
    {"bitwise_or", kPointwise, pointwise, 1, 2},
    {"bitwise_xor", kPointwise, pointwise, 1, 2},
    {"eq", kPointwise, comparison, 1, 2},
    {"ne", kPointwise, comparison, 1, 2},
    {"lt", kPointwise, comparison, 1, 2},
    {"le", kPointwise, comparison, 1, 2},
    {"gt", kPointwise, comparison, 1, 2},
    {"ge", kPointwise, comparison, 1, 2},
    {"logical_and", kPointwise, comparison, 1, 2},
    {"logical_or", kPointwise, comparison, 1, 2},
    {"logical_xor", kPointwise, comparison, 1, 2},
    {"masked_fill", kPointwise, pointwise, 1, 2},    // x, mask
    {"_prelu_kernel", kPointwise, pointwise, 2, 2},  // x or w·x
    // three
    {"where", kPointwise, where, 1, 3},
    {"addcmul", kPointwise, pointwise, 3, 3},  // x + s·a·b
    {"addcdiv", kPointwise, pointwise, 3, 3},  // x + s·a/b
    {"lerp", kPointwise, pointwise, 3, 3},     // a + w·(b − a)
    // gradients: of the output, then what the forward operator kept
    {"threshold_backward", kPointwise, pointwise, 1, 2},
    {"hardtanh_backward", kPointwise, pointwise, 2, 2},
    {"leaky_relu_backward", kPointwise, pointwise, 2, 2},
    {"elu_backward", kPointwise, pointwise, 4, 1},      // the kept tensor stands last
    {"sigmoid_backward", kPointwise, pointwise, 3, 2},  // g·y·(1 − y)
    {"tanh_backward", kPointwise, pointwise, 3, 2},     // g·(1 − y²)
    {"silu_backward", kPointwise, pointwise, 8, 2},     // g·s·(1 + x·(1 − s)), s = sigmoid(x)
    {"gelu_backward", kPointwise, pointwise, 11, 2},    // g·(Φ(x) + x·φ(x))
    {"mish_backward", kPointwise, pointwise, 12, 2},
    {"softplus_backward", kPointwise, pointwise, 4, 2},
    {"hardswish_backward", kPointwise, pointwise, 4, 2},
    {"hardsigmoid_backward", kPointwise, pointwise, 3, 2},
    {"native_dropout_backward", kPointwise, pointwise, 2, 2},  // g·mask·scale
    {"mse_loss_backward", kPointwise, pointwise, 3, 3},
    {"smooth_l1_loss_backward", kPointwise, pointwise, 4, 3},
    {"binary_cross_entropy_backward", kPointwise, pointwise, 5, 3},
    {"glu_backward", kPointwise, glu_backward, 7},                 // sigmoid: 3; ·g; 1 − s, ·a, ·(g·s)
    {"_prelu_kernel_backward", kPointwise, prelu_backward, 3, 3},  // g or w·g; 0 or x·g
    // two halves of one
    {"glu", kPointwise, glu, 4},
    // copies, casts, random numbers
    {"copy", kPointwise, copy, 1},
    {"native_dropout", kPointwise, native_dropout},
    // call the ones above
    {"to", kPointwise},
    {"_to_copy", kPointwise},
    {"dropout", kPointwise},
    {"selu", kPointwise},
    {"relu6", kPointwise},
    {"prelu", kPointwise},
};

}  // namespace

std::span<const Entry> pointwise_operators() { return kPointwiseTable; }

}  // namespace hone::trace::aten
