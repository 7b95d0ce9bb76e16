// The instructions of the pointwise interpreter on integers, f64 and bool, and conversions between types.
// Plain loops: index arithmetic and masks, never a model's bulk.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pointwise/interpret.h"

namespace hone::kernels::internal {
namespace {

using Op = PointwiseOp;

template <typename T>
struct Operand {
  const T* data;
  int64_t mask;
  explicit Operand(const TileOperand& operand)
      : data(static_cast<const T*>(operand.data)), mask(operand.mask) {}
  T operator[](int64_t i) const { return data[i & mask]; }
};

template <typename T, typename R, typename F>
void map1(const TileStep& step, int64_t n, const F& f) {
  const Operand<T> a(step.a);
  R* out = static_cast<R*>(step.result);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i]));
}

template <typename T, typename R, typename F>
void map2(const TileStep& step, int64_t n, const F& f) {
  const Operand<T> a(step.a), b(step.b);
  R* out = static_cast<R*>(step.result);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<R>(f(a[i], b[i]));
}

// Integers wrap: arithmetic goes through the unsigned type, where that is defined.
template <typename T>
struct Wrapping {
  using U = std::make_unsigned_t<T>;
  static T add(T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); }
  static T sub(T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); }
  static T mul(T x, T y) { return static_cast<T>(static_cast<U>(x) * static_cast<U>(y)); }
  static T neg(T x) { return sub(0, x); }
  static T div(T x, T y) { return y == 0 ? 0 : y == -1 ? neg(x) : x / y; }
  static T fmod(T x, T y) { return y == 0 || y == -1 ? 0 : x % y; }
  static T mod(T x, T y) {
    const T r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
  static T pow(T x, int64_t y) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
    T result = 1;
    for (; y > 0; y >>= 1, x = mul(x, x)) {
      if (y & 1) result = mul(result, x);
    }
    return result;
  }
};

// A float as an integer: saturated, NaN as 0, so that no input is undefined behaviour.
template <typename T, typename F>
T saturated(F x) {
  if (!(x == x)) return 0;
  if (x >= -static_cast<F>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::max();
  if (x <= static_cast<F>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

template <typename T>
void integer_power(const TileStep& step, int64_t n) {
  const Operand<T> a(step.a);
  T* out = static_cast<T*>(step.result);
  if (step.second == DType::kI32 || step.second == DType::kI64) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t y =
          step.second == DType::kI32 ? Operand<int32_t>(step.b)[i] : Operand<int64_t>(step.b)[i];
      out[i] = Wrapping<T>::pow(a[i], y);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double y = step.second == DType::kF32 ? Operand<float>(step.b)[i] : Operand<double>(step.b)[i];
    out[i] = saturated<T>(std::pow(static_cast<double>(a[i]), y));
  }
}

template <typename T>
bool compare_step(const TileStep& step, int64_t n) {
  switch (step.op) {
    case Op::kEqual:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x == y; }), true;
    case Op::kNotEqual:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x != y; }), true;
    case Op::kLess:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x < y; }), true;
    case Op::kLessEqual:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x <= y; }), true;
    case Op::kGreater:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x > y; }), true;
    case Op::kGreaterEqual:
      return map2<T, uint8_t>(step, n, [](T x, T y) { return x >= y; }), true;
    default:
      return false;
  }
}

template <typename T>
void integer_step(const TileStep& step, int64_t n) {
  using W = Wrapping<T>;
  using U = std::make_unsigned_t<T>;
  constexpr T kBits = sizeof(T) * 8;
  if (compare_step<T>(step, n)) return;
  switch (step.op) {
    case Op::kAdd:
      return map2<T, T>(step, n, W::add);
    case Op::kSub:
      return map2<T, T>(step, n, W::sub);
    case Op::kMul:
      return map2<T, T>(step, n, W::mul);
    case Op::kDiv:
      return map2<T, T>(step, n, W::div);
    case Op::kMod:
      return map2<T, T>(step, n, W::mod);
    case Op::kFmod:
      return map2<T, T>(step, n, W::fmod);
    case Op::kPow:
      return integer_power<T>(step, n);
    case Op::kMin:
      return map2<T, T>(step, n, [](T x, T y) { return std::min(x, y); });
    case Op::kMax:
      return map2<T, T>(step, n, [](T x, T y) { return std::max(x, y); });
    case Op::kNeg:
      return map1<T, T>(step, n, W::neg);
    case Op::kAbs:
      return map1<T, T>(step, n, [](T x) { return x < 0 ? W::neg(x) : x; });
    case Op::kSign:
      return map1<T, T>(step, n, [](T x) { return (x > 0) - (x < 0); });
    case Op::kSquare:
      return map1<T, T>(step, n, [](T x) { return W::mul(x, x); });
    case Op::kRelu:
      return map1<T, T>(step, n, [](T x) { return std::max<T>(x, 0); });
    case Op::kPRelu:
      return map2<T, T>(step, n, [](T x, T y) { return x < 0 ? W::mul(x, y) : x; });
    case Op::kClip: {
      const T low = saturated<T>(static_cast<double>(step.alpha));
      const T high = saturated<T>(static_cast<double>(step.beta));
      return map1<T, T>(step, n, [=](T x) { return std::min(high, std::max(low, x)); });
    }
    case Op::kBitAnd:
      return map2<T, T>(step, n, [](T x, T y) { return x & y; });
    case Op::kBitOr:
      return map2<T, T>(step, n, [](T x, T y) { return x | y; });
    case Op::kBitXor:
      return map2<T, T>(step, n, [](T x, T y) { return x ^ y; });
    case Op::kBitNot:
      return map1<T, T>(step, n, [](T x) { return ~x; });
    case Op::kShiftLeft:
      return map2<T, T>(step, n, [](T x, T y) {
        return y < 0 || y >= kBits ? T{0} : static_cast<T>(static_cast<U>(x) << y);
      });
    case Op::kShiftRight:
      // Signed numbers keep their sign (opset 28): past the last place it is all that is left.
      return map2<T, T>(step, n, [](T x, T y) {
        const bool beyond = y < 0 || y >= kBits;
        return static_cast<T>(beyond ? (x < 0 ? T(-1) : T{0}) : x >> y);
      });
    default:
      return;
  }
}

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
// Beyond 40 they are 0 or 1.
double gelu_erf_slope(double x) {
  x = x < -40 ? -40 : x > 40 ? 40 : x;
  return 0.5 * std::erfc(-x * 0.7071067811865476) + x * 0.3989422804014327 * std::exp(-0.5 * x * x);
}
double gelu_tanh_slope(double x) {
  x = x < -40 ? -40 : x > 40 ? 40 : x;
  const double s = 1 / (1 + std::exp(-1.5957691216057308 * x * (1 + 0.044715 * x * x)));
  return s + x * s * (1 - s) * 1.5957691216057308 * (1 + 0.134145 * x * x);
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Within [0, 1]; NaN stays NaN.
double gate(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

double float_function(const TileStep& step, double x) {
  const double alpha = static_cast<double>(step.alpha), beta = static_cast<double>(step.beta);
  switch (step.op) {
    case Op::kNeg:
      return -x;
    case Op::kAbs:
      return std::abs(x);
    case Op::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case Op::kSquare:
      return x * x;
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kReciprocal:
      return 1 / x;
    case Op::kExp:
      return std::exp(x);
    case Op::kExpm1:
      return std::expm1(x);
    case Op::kLog:
      return std::log(x);
    case Op::kLog1p:
      return std::log1p(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kAsin:
      return std::asin(x);
    case Op::kAcos:
      return std::acos(x);
    case Op::kAtan:
      return std::atan(x);
    case Op::kSinh:
      return std::sinh(x);
    case Op::kCosh:
      return std::cosh(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kAsinh:
      return std::asinh(x);
    case Op::kAcosh:
      return std::acosh(x);
    case Op::kAtanh:
      return std::atanh(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kRound:
      return std::nearbyint(x);
    case Op::kRelu:
      return x < 0 ? 0 : x;
    case Op::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case Op::kClip:
      return x < alpha ? alpha : x > beta ? beta : x;
    case Op::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Op::kHardSigmoid:
      return gate(alpha * x + beta);
    case Op::kSwish:
      return x / (1 + std::exp(-alpha * x));
    case Op::kHardSwish:
      return x * gate(x / 6 + 0.5);
    case Op::kMish:
      return x * std::tanh(softplus(x));
    case Op::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case Op::kCelu:
      return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case Op::kSelu:
      return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case Op::kSoftplus:
      return softplus(x);
    case Op::kSoftsign:
      return x / (1 + std::abs(x));
    case Op::kThresholdedRelu:
      return x <= alpha ? 0 : x;
    case Op::kShrink:
      return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
    case Op::kGeluErf:
      return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
    case Op::kGeluTanh:
      return gelu_tanh(x);
    case Op::kGeluErfSlope:
      return gelu_erf_slope(x);
    case Op::kGeluTanhSlope:
      return gelu_tanh_slope(x);
    default:
      return x;
  }
}

double float_binary(Op op, double x, double y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kFmod:
      return std::fmod(x, y);
    case Op::kMod: {
      const double r = std::fmod(x, y);
      if (r == 0) return std::copysign(r, y);
      return (r < 0) != (y < 0) ? r + y : r;
    }
    case Op::kMin:
      return x != x || x < y ? x : y;
    case Op::kMax:
      return x != x || x > y ? x : y;
    case Op::kPRelu:
      return x < 0 ? x * y : x;
    default:
      return std::pow(x, y);
  }
}

double held_float(const TileOperand& operand, DType type, int64_t i) {
  switch (type) {
    case DType::kF32:
      return static_cast<double>(Operand<float>(operand)[i]);
    case DType::kI32:
      return Operand<int32_t>(operand)[i];
    case DType::kI64:
      return static_cast<double>(Operand<int64_t>(operand)[i]);
    default:
      return Operand<double>(operand)[i];
  }
}

void f64_step(const TileStep& step, int64_t n) {
  if (compare_step<double>(step, n)) return;
  const bool negative = step.alpha != 0.0f, positive = step.beta != 0.0f;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (step.op == Op::kIsNaN) return map1<double, uint8_t>(step, n, [](double x) { return x != x; });
  if (step.op == Op::kIsInf) {
    return map1<double, uint8_t>(
        step, n, [=](double x) { return (negative && x == -kInfinity) || (positive && x == kInfinity); });
  }
  double* out = static_cast<double*>(step.result);
  const Operand<double> a(step.a);
  switch (pointwise_arity(step.op)) {
    case 1:
      for (int64_t i = 0; i < n; ++i) out[i] = float_function(step, a[i]);
      return;
    case 2:
      for (int64_t i = 0; i < n; ++i)
        out[i] = float_binary(step.op, a[i], held_float(step.b, step.second, i));
      return;
    default:
      for (int64_t i = 0; i < n; ++i) {
        out[i] = std::fma(a[i], Operand<double>(step.b)[i], Operand<double>(step.c)[i]);
      }
  }
}

// f32 to the power of another type: the only f32 instruction that comes here.
void f32_power(const TileStep& step, int64_t n) {
  const Operand<float> a(step.a);
  float* out = static_cast<float*>(step.result);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(std::pow(static_cast<double>(a[i]), held_float(step.b, step.second, i)));
  }
}

void bool_step(const TileStep& step, int64_t n) {
  switch (step.op) {
    case Op::kAnd:
      return map2<uint8_t, uint8_t>(step, n, [](uint8_t x, uint8_t y) { return x & y; });
    case Op::kOr:
      return map2<uint8_t, uint8_t>(step, n, [](uint8_t x, uint8_t y) { return x | y; });
    case Op::kXor:
      return map2<uint8_t, uint8_t>(step, n, [](uint8_t x, uint8_t y) { return x ^ y; });
    case Op::kNot:
      return map1<uint8_t, uint8_t>(step, n, [](uint8_t x) { return x ^ 1; });
    default:
      compare_step<uint8_t>(step, n);
  }
}

template <typename T>
void where_step(const TileStep& step, int64_t n) {
  const Operand<uint8_t> a(step.a);
  const Operand<T> b(step.b), c(step.c);
  T* out = static_cast<T*>(step.result);
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
}

// A held value of type T as dtype, held again.
template <typename T>
void cast_step(const TileStep& step, int64_t n) {
  constexpr bool kFromFloat = std::is_floating_point_v<T>;
  const auto as_int = [](T x, auto target) {
    using R = decltype(target);
    if constexpr (kFromFloat) {
      // Into the narrow type's range by way of int64, wrapping like the integer casts beyond 64 bits never
      // do.
      return static_cast<R>(saturated<int64_t>(x));
    } else {
      return static_cast<R>(x);
    }
  };
  const auto as_f32 = [](T x) { return static_cast<float>(x); };
  switch (step.to) {
    case DType::kBool:
      return map1<T, uint8_t>(step, n, [](T x) { return x != T{0}; });
    case DType::kI8:
      return map1<T, int32_t>(step, n, [&](T x) { return as_int(x, int8_t{}); });
    case DType::kU8:
      return map1<T, int32_t>(step, n, [&](T x) { return as_int(x, uint8_t{}); });
    case DType::kI16:
      return map1<T, int32_t>(step, n, [&](T x) { return as_int(x, int16_t{}); });
    case DType::kU16:
      return map1<T, int32_t>(step, n, [&](T x) { return as_int(x, uint16_t{}); });
    case DType::kI32:
      if constexpr (kFromFloat) return map1<T, int32_t>(step, n, saturated<int32_t, T>);
      return map1<T, int32_t>(step, n, [&](T x) { return as_int(x, int32_t{}); });
    case DType::kU32:
      return map1<T, int64_t>(step, n, [&](T x) { return as_int(x, uint32_t{}); });
    case DType::kI64:
      return map1<T, int64_t>(step, n, [&](T x) { return as_int(x, int64_t{}); });
    case DType::kF16:
      return map1<T, float>(step, n, [&](T x) { return f16_to_f32(f32_to_f16(as_f32(x))); });
    case DType::kBF16:
      if constexpr (std::is_same_v<T, float>) {
        constexpr int64_t kEachElement = -1;
        if (step.a.mask == kEachElement)
          return round_to_bf16(static_cast<const float*>(step.a.data), static_cast<float*>(step.result), n);
      }
      return map1<T, float>(step, n, [&](T x) { return bf16_to_f32(to_bf16(as_f32(x))); });
    case DType::kF32:
      return map1<T, float>(step, n, as_f32);
    default:
      return map1<T, double>(step, n, [](T x) { return static_cast<double>(x); });
  }
}

void cast(const TileStep& step, int64_t n) {
  switch (step.type) {
    case DType::kF32:
      return cast_step<float>(step, n);
    case DType::kF64:
      return cast_step<double>(step, n);
    case DType::kI32:
      return cast_step<int32_t>(step, n);
    case DType::kI64:
      return cast_step<int64_t>(step, n);
    default:
      return cast_step<uint8_t>(step, n);
  }
}

}  // namespace

bool is_f32_step(PointwiseOp op, DType type) { return type == DType::kF32 && op != Op::kCast; }

void run_typed_step(const TileStep& step, int64_t n) noexcept {
  if (step.op == Op::kCast) return cast(step, n);
  if (step.op == Op::kWhere) {
    switch (step.type) {
      case DType::kI32:
        return where_step<int32_t>(step, n);
      case DType::kI64:
        return where_step<int64_t>(step, n);
      case DType::kF64:
        return where_step<double>(step, n);
      default:
        return where_step<uint8_t>(step, n);
    }
  }
  switch (step.type) {
    case DType::kI32:
      return integer_step<int32_t>(step, n);
    case DType::kI64:
      return integer_step<int64_t>(step, n);
    case DType::kF32:
      return f32_power(step, n);
    case DType::kF64:
      return f64_step(step, n);
    default:
      return bool_step(step, n);
  }
}

}  // namespace hone::kernels::internal
