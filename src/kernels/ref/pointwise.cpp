// Arithmetic, comparison, logic and bit operators. Activations are in activation.cpp, casts and quantization
// in quantization.cpp.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/core.h>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// f(element) for every element, in its wide type.
template <auto f>
Outputs unary(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto values = widen<W>(x);
    each_range(values.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) values[i] = convert<W>(f(values[i]));
    });
    return one(narrow(x.dtype(), x.shape(), values));
  });
}

// The same where only floats make sense.
template <auto f>
Outputs unary_float(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  if (!is_float(x.dtype())) return unsupported(fmt::format("{} of {}", call.op, dtype_name(x.dtype())));
  auto values = widen<double>(x);
  each_range(values.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values[i] = f(values[i]);
  });
  return one(narrow(x.dtype(), x.shape(), values));
}

// A bool for every element of a float tensor.
template <auto f>
Outputs classify(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  HONE_CHECK(expect_real(call, call.inputs[0].dtype()));
  std::vector<uint64_t> result;
  for (double value : widen<double>(call.inputs[0])) result.push_back(f(call.attributes, value) ? 1 : 0);
  return one(narrow(DType::kBool, call.inputs[0].shape(), result));
}

Result<Shape> broadcast_inputs(const RefCall& call) {
  Shape shape;
  for (const Tensor& input : call.inputs) {
    auto wider = broadcast_shapes(shape, input.shape());
    if (!wider.ok()) return wider.error().within(std::string(call.op));
    shape = *std::move(wider);
  }
  return shape;
}

// f(a, b) in the wide type of a, with broadcasting; stored as `dtype`.
template <auto f>
Outputs binary_as(const RefCall& call, DType dtype) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  HONE_CHECK(expect_real(call, a.dtype()));
  HONE_CHECK(expect_real(call, b.dtype()));
  HONE_ASSIGN(Shape shape, broadcast_inputs(call));
  const auto from_a = broadcast_offsets(a.shape(), shape);
  const auto from_b = broadcast_offsets(b.shape(), shape);
  return with_wide(a.dtype(), [&]<typename W>(W) -> Outputs {
    const auto x = widen<W>(a);
    const auto y = widen<W>(b);
    using R = decltype(f(W{}, W{}));
    std::vector<std::conditional_t<std::is_same_v<R, bool>, uint64_t, W>> result(from_a.size());
    each_range(result.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        result[i] = f(x[static_cast<std::size_t>(from_a[i])], y[static_cast<std::size_t>(from_b[i])]);
    });
    return one(narrow(dtype, std::move(shape), result));
  });
}

template <auto f>
Outputs binary(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  return binary_as<f>(call, call.inputs[0].dtype());
}

template <auto f>
Outputs compare(const RefCall& call) {
  return binary_as<f>(call, DType::kBool);
}

// Integer divisions by zero have no result; floats do.
Status expect_no_zero_divisor(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  if (!is_integer(call.inputs[1].dtype())) return {};
  const auto divisors = widen<int64_t>(call.inputs[1]);
  if (std::find(divisors.begin(), divisors.end(), 0) == divisors.end()) return {};
  return bad_call(call, "integer division by zero");
}

Outputs div(const RefCall& call) {
  HONE_CHECK(expect_no_zero_divisor(call));
  return binary<[](auto a, auto b) { return divide(a, b); }>(call);
}

// The remainder with the sign of the divisor, which a zero has, too, where zeros have a sign (ONNX's tests of
// opset 28; NumPy's mod).
template <typename W>
W floor_mod(W a, W b) {
  if constexpr (std::is_same_v<W, double>) {
    const double remainder = std::fmod(a, b);
    if (remainder == 0) return std::copysign(remainder, b);
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else if constexpr (std::is_same_v<W, int64_t>) {
    if (b == -1) return 0;
    const int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else {
    return a % b;
  }
}

// The remainder with the sign of the dividend.
template <typename W>
W truncated_mod(W a, W b) {
  if constexpr (std::is_same_v<W, double>) {
    return std::fmod(a, b);
  } else if constexpr (std::is_same_v<W, int64_t>) {
    return b == -1 ? 0 : a % b;
  } else {
    return a % b;
  }
}

Outputs mod(const RefCall& call) {
  HONE_CHECK(expect_no_zero_divisor(call));
  if (call.attributes.integer("fmod", 0) != 0) {
    return binary<[](auto a, auto b) { return truncated_mod(a, b); }>(call);
  }
  return binary<[](auto a, auto b) { return floor_mod(a, b); }>(call);
}

// Integer powers modulo 2^64; negative exponents truncate 1 / base^n towards zero.
template <typename W>
W integer_power(W base, int64_t exponent) {
  if (exponent < 0) {
    if (base == W{1}) return 1;
    if (base == static_cast<W>(-1)) return exponent % 2 == 0 ? W{1} : base;
    return 0;
  }
  W result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

// The result has the type of the base, whatever the exponent's.
Outputs power(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& base = call.inputs[0];
  const Tensor& exponent = call.inputs[1];
  HONE_CHECK(expect_real(call, base.dtype()));
  HONE_CHECK(expect_real(call, exponent.dtype()));
  HONE_ASSIGN(Shape shape, broadcast_inputs(call));
  const auto from_base = broadcast_offsets(base.shape(), shape);
  const auto from_exponent = broadcast_offsets(exponent.shape(), shape);
  auto apply = [&]<typename W, typename E>(W, E) -> Outputs {
    const auto x = widen<W>(base);
    const auto y = widen<E>(exponent);
    std::vector<W> result;
    for (std::size_t i = 0; i < from_base.size(); ++i) {
      const W b = x[static_cast<std::size_t>(from_base[i])];
      const E e = y[static_cast<std::size_t>(from_exponent[i])];
      if constexpr (std::is_integral_v<W> && std::is_integral_v<E>) {
        result.push_back(integer_power(b, e));
      } else {
        result.push_back(convert<W>(std::pow(b, e)));
      }
    }
    return one(narrow(base.dtype(), std::move(shape), result));
  };
  if (is_float(base.dtype()) || is_float(exponent.dtype())) return apply(double{}, double{});
  return is_signed(base.dtype()) ? apply(int64_t{}, int64_t{}) : apply(uint64_t{}, int64_t{});
}

// Folds all inputs with f, broadcast; then `finish(sum, count)`.
template <auto f, auto finish>
Outputs variadic(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, call.inputs.size()));
  if (call.inputs.empty()) return bad_call(call, "needs one input or more");
  const DType dtype = call.inputs[0].dtype();
  HONE_ASSIGN(Shape shape, broadcast_inputs(call));
  for (const Tensor& input : call.inputs) HONE_CHECK(expect_real(call, input.dtype()));
  return with_wide(dtype, [&]<typename W>(W) -> Outputs {
    std::vector<W> result;
    for (const Tensor& input : call.inputs) {
      const auto values = widen<W>(input);
      const auto from = broadcast_offsets(input.shape(), shape);
      const bool first = &input == call.inputs.data();
      if (first) result.resize(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        const W value = values[static_cast<std::size_t>(from[i])];
        result[i] = first ? value : f(result[i], value);
      }
    }
    for (W& value : result) value = finish(value, static_cast<W>(call.inputs.size()));
    return one(narrow(dtype, std::move(shape), result));
  });
}

constexpr auto kKeep = [](auto value, auto) { return value; };

// numpy's order: the lower bound first, so the upper one wins where they cross.
Outputs clip(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  for (std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    if (!call.has(bound)) continue;
    HONE_CHECK(expect_real(call, call.inputs[bound].dtype()));
    if (call.inputs[bound].size() != 1) return bad_call(call, "a bound must be a scalar");
  }
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto values = widen<W>(x);
    for (W& value : values) {
      if (call.has(1)) value = maximum(value, widen<W>(call.inputs[1])[0]);
      if (call.has(2)) value = minimum(value, widen<W>(call.inputs[2])[0]);
    }
    return one(narrow(x.dtype(), x.shape(), values));
  });
}

Outputs where(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  const Tensor& a = call.inputs[1];
  const Tensor& b = call.inputs[2];
  if (a.dtype() != b.dtype()) return bad_call(call, "the two choices differ in dtype");
  HONE_CHECK(expect_real(call, call.inputs[0].dtype()));
  HONE_ASSIGN(Shape shape, broadcast_inputs(call));
  const auto condition = widen<uint64_t>(call.inputs[0]);
  const auto from_condition = broadcast_offsets(call.inputs[0].shape(), shape);
  const auto from_a = broadcast_offsets(a.shape(), shape);
  const auto from_b = broadcast_offsets(b.shape(), shape);
  HONE_ASSIGN(Tensor result, make_tensor(call, a.dtype(), std::move(shape)));
  with_storage(a.dtype(), [&]<typename T>(T) {
    const auto to = elements<T>(result);
    for (std::size_t i = 0; i < from_condition.size(); ++i) {
      const bool holds = condition[static_cast<std::size_t>(from_condition[i])] != 0;
      to[i] = holds ? elements<T>(a)[static_cast<std::size_t>(from_a[i])]
                    : elements<T>(b)[static_cast<std::size_t>(from_b[i])];
    }
  });
  return one(std::move(result));
}

Outputs equal(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  if (a.dtype() != DType::kString) return compare<[](auto x, auto y) { return x == y; }>(call);
  if (b.dtype() != DType::kString) return bad_call(call, "compares strings with numbers");
  HONE_ASSIGN(Shape shape, broadcast_inputs(call));
  const auto from_a = broadcast_offsets(a.shape(), shape);
  const auto from_b = broadcast_offsets(b.shape(), shape);
  std::vector<uint64_t> result;
  for (std::size_t i = 0; i < from_a.size(); ++i) {
    const bool same =
        a.strings()[static_cast<std::size_t>(from_a[i])] == b.strings()[static_cast<std::size_t>(from_b[i])];
    result.push_back(same ? 1 : 0);
  }
  return one(narrow(DType::kBool, std::move(shape), result));
}

// f(a, b) on the bits of two integer tensors.
template <auto f>
Outputs bits(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  if (!is_integer(call.inputs[0].dtype())) {
    return unsupported(fmt::format("{} of {}", call.op, dtype_name(call.inputs[0].dtype())));
  }
  return binary<[](auto a, auto b) {
    return static_cast<decltype(a)>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }>(call);
}

Outputs bitwise_not(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  if (!is_integer(x.dtype())) return unsupported(fmt::format("{} of {}", call.op, dtype_name(x.dtype())));
  auto values = widen<uint64_t>(x);
  for (uint64_t& value : values) value = ~value;
  return one(narrow(x.dtype(), x.shape(), values));
}

uint64_t shift_left(uint64_t value, uint64_t places) { return places < 64 ? value << places : 0; }
uint64_t shift_right(uint64_t value, uint64_t places) { return places < 64 ? value >> places : 0; }
// The shift of signed numbers (opset 28): what the places leave free is filled with the sign. A negative number
// of places is a very large one.
uint64_t shift_right_signed(uint64_t value, uint64_t places) {
  return static_cast<uint64_t>(static_cast<int64_t>(value) >> std::min<uint64_t>(places, 63));
}

Outputs bit_shift(const RefCall& call) {
  const std::string direction = call.attributes.text("direction", "");
  if (direction == "LEFT") return bits<shift_left>(call);
  const bool arithmetic = !call.inputs.empty() && is_signed(call.inputs[0].dtype());
  if (direction == "RIGHT") return arithmetic ? bits<shift_right_signed>(call) : bits<shift_right>(call);
  return bad_call(call, fmt::format("direction '{}' is neither LEFT nor RIGHT", direction));
}

bool is_infinite(const Attributes& attributes, double value) {
  if (!std::isinf(value)) return false;
  return attributes.integer(value > 0 ? "detect_positive" : "detect_negative", 1) != 0;
}

void add_float_functions(RefTable& table) {
  table.add("Acos", unary_float<[](double x) { return std::acos(x); }>);
  table.add("Acosh", unary_float<[](double x) { return std::acosh(x); }>);
  table.add("Asin", unary_float<[](double x) { return std::asin(x); }>);
  table.add("Asinh", unary_float<[](double x) { return std::asinh(x); }>);
  table.add("Atan", unary_float<[](double x) { return std::atan(x); }>);
  table.add("Atanh", unary_float<[](double x) { return std::atanh(x); }>);
  table.add("Ceil", unary_float<[](double x) { return std::ceil(x); }>);
  table.add("Cos", unary_float<[](double x) { return std::cos(x); }>);
  table.add("Cosh", unary_float<[](double x) { return std::cosh(x); }>);
  table.add("Erf", unary<[](auto x) { return std::erf(static_cast<double>(x)); }>);
  table.add("Exp", unary_float<[](double x) { return std::exp(x); }>);
  table.add("Floor", unary_float<[](double x) { return std::floor(x); }>);
  table.add("Log", unary_float<[](double x) { return std::log(x); }>);
  table.add("Reciprocal", unary_float<[](double x) { return 1 / x; }>);
  table.add("Round", unary_float<[](double x) { return std::nearbyint(x); }>);  // ties to even
  table.add("Sin", unary_float<[](double x) { return std::sin(x); }>);
  table.add("Sinh", unary_float<[](double x) { return std::sinh(x); }>);
  table.add("Sqrt", unary_float<[](double x) { return std::sqrt(x); }>);
  table.add("Tan", unary_float<[](double x) { return std::tan(x); }>);
}

void add_arithmetic(RefTable& table) {
  table.add("Abs", unary<[](auto x) { return x < 0 ? negate(x) : x + 0; }>);
  table.add("Neg", unary<[](auto x) { return negate(x); }>);
  table.add("Sign", unary<[](auto x) { return sign(x); }>);
  table.add("Add", binary<[](auto a, auto b) { return add(a, b); }>);
  table.add("Sub", binary<[](auto a, auto b) { return subtract(a, b); }>);
  table.add("Mul", binary<[](auto a, auto b) { return multiply(a, b); }>);
  table.add("Div", div);
  table.add("Mod", mod);
  table.add("Pow", power);
  table.add("Max", variadic<[](auto a, auto b) { return maximum(a, b); }, kKeep>);
  table.add("Min", variadic<[](auto a, auto b) { return minimum(a, b); }, kKeep>);
  table.add("Sum", variadic<[](auto a, auto b) { return add(a, b); }, kKeep>);
  table.add("Mean", variadic<[](auto a, auto b) { return add(a, b); },
                             [](auto sum, auto count) { return divide(sum, count); }>);
  table.add("Clip", clip);
}

void add_logic(RefTable& table) {
  table.add("Not", unary<[](auto x) { return x == 0; }>);
  table.add("And", compare<[](auto a, auto b) { return a != 0 && b != 0; }>);
  table.add("Or", compare<[](auto a, auto b) { return a != 0 || b != 0; }>);
  table.add("Xor", compare<[](auto a, auto b) { return (a != 0) != (b != 0); }>);
  table.add("Equal", equal);
  table.add("Greater", compare<std::greater{}>);
  table.add("GreaterOrEqual", compare<std::greater_equal{}>);
  table.add("Less", compare<std::less{}>);
  table.add("LessOrEqual", compare<std::less_equal{}>);
  table.add("IsInf", classify<is_infinite>);
  table.add("IsNaN", classify<[](const Attributes&, double value) { return std::isnan(value); }>);
  table.add("Where", where);
}

void add_bits(RefTable& table) {
  table.add("BitwiseAnd", bits<std::bit_and<uint64_t>{}>);
  table.add("BitwiseOr", bits<std::bit_or<uint64_t>{}>);
  table.add("BitwiseXor", bits<std::bit_xor<uint64_t>{}>);
  table.add("BitwiseNot", bitwise_not);
  table.add("BitShift", bit_shift);
}

}  // namespace

void add_pointwise_kernels(RefTable& table) {
  add_float_functions(table);
  add_arithmetic(table);
  add_logic(table);
  add_bits(table);
  add_activation_kernels(table);
  add_quantization_kernels(table);
}

}  // namespace hone::kernels::ref
