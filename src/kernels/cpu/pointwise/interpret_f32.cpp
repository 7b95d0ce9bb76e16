// The f32 instructions of the pointwise interpreter: one vectorised loop an operator over a tile.
#include "kernels/cpu/pointwise/interpret.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/interpret_f32.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;  // NOLINT: the helpers of this target
namespace hn = hwy::HWY_NAMESPACE;

template <typename F>
HWY_INLINE void map1(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  float* out = static_cast<float*>(step.result);
  const int64_t am = step.a.mask;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(f(hn::LoadU(kF32, a + (i & am))), kF32, out + i);
  if (i < n) store_first(f(load_first(a + (i & am), n - i)), out + i, n - i);
}

template <typename F>
HWY_INLINE void map2(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  const float* b = static_cast<const float*>(step.b.data);
  float* out = static_cast<float*>(step.result);
  const int64_t am = step.a.mask;
  const int64_t bm = step.b.mask;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(f(hn::LoadU(kF32, a + (i & am)), hn::LoadU(kF32, b + (i & bm))), kF32, out + i);
  }
  if (i < n) store_first(f(load_first(a + (i & am), n - i), load_first(b + (i & bm), n - i)), out + i, n - i);
}

template <typename F>
HWY_INLINE void map3(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  const float* b = static_cast<const float*>(step.b.data);
  const float* c = static_cast<const float*>(step.c.data);
  float* out = static_cast<float*>(step.result);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const VF x = hn::LoadU(kF32, a + (i & step.a.mask));
    const VF y = hn::LoadU(kF32, b + (i & step.b.mask));
    hn::StoreU(f(x, y, hn::LoadU(kF32, c + (i & step.c.mask))), kF32, out + i);
  }
  if (i < n) {
    const VF x = load_first(a + (i & step.a.mask), n - i);
    const VF y = load_first(b + (i & step.b.mask), n - i);
    store_first(f(x, y, load_first(c + (i & step.c.mask), n - i)), out + i, n - i);
  }
}

// Scalar functions, where speed is not worth a vector version.
template <typename F>
HWY_INLINE void each1(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  float* out = static_cast<float*>(step.result);
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i & step.a.mask]);
}

template <typename F>
HWY_INLINE void each2(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  const float* b = static_cast<const float*>(step.b.data);
  float* out = static_cast<float*>(step.result);
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i & step.a.mask], b[i & step.b.mask]);
}

// Comparisons: written so that the compiler vectorises each case.
template <typename F>
HWY_INLINE void compare(const TileStep& step, int64_t n, const F& f) {
  const float* a = static_cast<const float*>(step.a.data);
  const float* b = static_cast<const float*>(step.b.data);
  uint8_t* HWY_RESTRICT out = static_cast<uint8_t*>(step.result);
  if (step.b.mask == 0) {
    const float y = b[0];
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i & step.a.mask], y) ? 1 : 0;
  } else if (step.a.mask == 0) {
    const float x = a[0];
    for (int64_t i = 0; i < n; ++i) out[i] = f(x, b[i]) ? 1 : 0;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]) ? 1 : 0;
  }
}

void select(const TileStep& step, int64_t n) {
  const uint8_t* a = static_cast<const uint8_t*>(step.a.data);
  const float* b = static_cast<const float*>(step.b.data);
  const float* c = static_cast<const float*>(step.c.data);
  float* out = static_cast<float*>(step.result);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Rebind<uint8_t, F32> bytes;
  for (; i + kLanes <= n; i += kLanes) {
    const VI chosen = hn::PromoteTo(kI32, hn::LoadU(bytes, a + (i & step.a.mask)));
    const auto mask = hn::RebindMask(kF32, hn::Ne(chosen, hn::Zero(kI32)));
    const VF yes = hn::LoadU(kF32, b + (i & step.b.mask));
    hn::StoreU(hn::IfThenElse(mask, yes, hn::LoadU(kF32, c + (i & step.c.mask))), kF32, out + i);
  }
#endif
  for (; i < n; ++i) out[i] = a[i & step.a.mask] != 0 ? b[i & step.b.mask] : c[i & step.c.mask];
}

// x^y: the common whole and half exponents exactly as repeated multiplication, the rest by the C library.
void power(const TileStep& step, int64_t n) {
  if (step.b.mask == 0) {
    const float y = static_cast<const float*>(step.b.data)[0];
    if (y == 2.0f) return map1(step, n, [](VF x) HWY_ATTR { return hn::Mul(x, x); });
    if (y == 3.0f) return map1(step, n, [](VF x) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); });
    if (y == 1.0f) return map1(step, n, [](VF x) HWY_ATTR { return x; });
    if (y == -1.0f) return map1(step, n, [](VF x) HWY_ATTR { return hn::Div(splat(1.0f), x); });
  }
  each2(step, n, [](float x, float y) HWY_ATTR { return std::pow(x, y); });
}

void arithmetic(const TileStep& step, int64_t n) {
  using Op = PointwiseOp;
  switch (step.op) {
    case Op::kAdd:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return hn::Add(x, y); });
    case Op::kSub:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return hn::Sub(x, y); });
    case Op::kMul:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return hn::Mul(x, y); });
    case Op::kDiv:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return hn::Div(x, y); });
    case Op::kMin:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return min_nan(x, y); });
    case Op::kMax:
      return map2(step, n, [](VF x, VF y) HWY_ATTR { return max_nan(x, y); });
    case Op::kMulAdd:
      return map3(step, n, [](VF x, VF y, VF z) HWY_ATTR { return hn::MulAdd(x, y, z); });
    case Op::kPow:
      return power(step, n);
    case Op::kMod:
      return each2(step, n, [](float x, float y) HWY_ATTR {
        const float r = std::fmod(x, y);
        if (r == 0.0f) return std::copysign(r, y);
        return (r < 0.0f) != (y < 0.0f) ? r + y : r;
      });
    case Op::kFmod:
      return each2(step, n, [](float x, float y) HWY_ATTR { return std::fmod(x, y); });
    case Op::kNeg:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Neg(x); });
    case Op::kAbs:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Abs(x); });
    case Op::kSquare:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Mul(x, x); });
    case Op::kSign:
      return map1(step, n, [](VF x) HWY_ATTR {
        const VF sign = hn::IfThenElseZero(hn::Ne(x, hn::Zero(kF32)), hn::CopySign(splat(1.0f), x));
        return hn::IfThenElse(hn::IsNaN(x), x, sign);
      });
    default:
      return;
  }
}

void function(const TileStep& step, int64_t n) {
  using Op = PointwiseOp;
  switch (step.op) {
    case Op::kSqrt:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Sqrt(x); });
    case Op::kRsqrt:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Div(splat(1.0f), hn::Sqrt(x)); });
    case Op::kReciprocal:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Div(splat(1.0f), x); });
    case Op::kExp:
      return map1(step, n, [](VF x) HWY_ATTR { return exp_f32(x); });
    case Op::kExpm1:
      return map1(step, n, [](VF x) HWY_ATTR { return expm1_f32(x); });
    case Op::kLog:
      return map1(step, n, [](VF x) HWY_ATTR { return log_f32(x); });
    case Op::kLog1p:
      return each1(step, n, [](float x) HWY_ATTR { return std::log1p(x); });
    case Op::kSin:
      return map1(step, n, [](VF x) HWY_ATTR { return sin_f32(x); });
    case Op::kCos:
      return map1(step, n, [](VF x) HWY_ATTR { return cos_f32(x); });
    case Op::kTan:
      return each1(step, n, [](float x) HWY_ATTR { return std::tan(x); });
    case Op::kAsin:
      return each1(step, n, [](float x) HWY_ATTR { return std::asin(x); });
    case Op::kAcos:
      return each1(step, n, [](float x) HWY_ATTR { return std::acos(x); });
    case Op::kAtan:
      return each1(step, n, [](float x) HWY_ATTR { return std::atan(x); });
    case Op::kSinh:
      return each1(step, n, [](float x) HWY_ATTR { return std::sinh(x); });
    case Op::kCosh:
      return each1(step, n, [](float x) HWY_ATTR { return std::cosh(x); });
    case Op::kAsinh:
      return each1(step, n, [](float x) HWY_ATTR { return std::asinh(x); });
    case Op::kAcosh:
      return each1(step, n, [](float x) HWY_ATTR { return std::acosh(x); });
    case Op::kAtanh:
      return each1(step, n, [](float x) HWY_ATTR { return std::atanh(x); });
    case Op::kTanh:
      return map1(step, n, [](VF x) HWY_ATTR { return tanh_f32(x); });
    case Op::kErf:
      return map1(step, n, [](VF x) HWY_ATTR { return erf_f32(x); });
    case Op::kFloor:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Floor(x); });
    case Op::kCeil:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Ceil(x); });
    case Op::kRound:
      return map1(step, n, [](VF x) HWY_ATTR { return hn::Round(x); });
    default:
      return;
  }
}

void activation(const TileStep& step, int64_t n) {
  using Op = PointwiseOp;
  const VF alpha = splat(step.alpha);
  const VF beta = splat(step.beta);
  const VF zero = hn::Zero(kF32);
  const VF one = splat(1.0f);
  switch (step.op) {
    case Op::kRelu:  // Max(0, x) in this order keeps NaN
      return map1(step, n, [=](VF x) HWY_ATTR { return max_second(zero, x); });
    case Op::kLeakyRelu:
      return map1(step, n,
                  [=](VF x) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, alpha), x); });
    case Op::kPRelu:
      return map2(step, n,
                  [=](VF x, VF y) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, y), x); });
    case Op::kClip:
      return map1(step, n, [=](VF x) HWY_ATTR { return min_second(beta, max_second(alpha, x)); });
    case Op::kSigmoid:
      return map1(step, n, [=](VF x) HWY_ATTR { return sigmoid_f32(x); });
    case Op::kHardSigmoid:
      return map1(step, n, [=](VF x) HWY_ATTR {
        return min_second(one, max_second(zero, hn::MulAdd(alpha, x, beta)));
      });
    case Op::kSwish:
      return map1(step, n, [=](VF x) HWY_ATTR {
        return hn::Div(x, hn::Add(one, exp_f32(hn::Neg(hn::Mul(alpha, x)))));
      });
    case Op::kHardSwish:
      return map1(step, n, [=](VF x) HWY_ATTR {
        const VF gate = hn::MulAdd(x, splat(1.0f / 6.0f), splat(0.5f));
        return hn::Mul(x, min_second(one, max_second(zero, gate)));
      });
    case Op::kMish:
      return map1(step, n, [=](VF x) HWY_ATTR { return hn::Mul(x, tanh_f32(softplus_f32(x))); });
    case Op::kElu:
      return map1(step, n, [=](VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, expm1_f32(x)), x);
      });
    case Op::kCelu:
      return map1(step, n, [=](VF x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, expm1_f32(hn::Div(x, alpha))), x);
      });
    case Op::kSelu:
      return map1(step, n, [=](VF x) HWY_ATTR {
        return hn::Mul(beta, hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, expm1_f32(x)), x));
      });
    case Op::kSoftplus:
      return map1(step, n, [=](VF x) HWY_ATTR { return softplus_f32(x); });
    case Op::kSoftsign:
      return map1(step, n, [=](VF x) HWY_ATTR { return hn::Div(x, hn::Add(one, hn::Abs(x))); });
    case Op::kThresholdedRelu:
      return map1(step, n, [=](VF x) HWY_ATTR { return hn::IfThenElse(hn::Le(x, alpha), zero, x); });
    case Op::kShrink:
      return map1(step, n, [=](VF x) HWY_ATTR {
        const VF low = hn::IfThenElseZero(hn::Lt(x, hn::Neg(alpha)), hn::Add(x, beta));
        return hn::IfThenElse(hn::Gt(x, alpha), hn::Sub(x, beta), low);
      });
    case Op::kGeluErf:
      return map1(step, n, [=](VF x) HWY_ATTR { return gelu_erf_f32(x); });
    case Op::kGeluTanh:
      return map1(step, n, [=](VF x) HWY_ATTR { return gelu_tanh_f32(x); });
    case Op::kGeluErfSlope:
      return map1(step, n, [=](VF x) HWY_ATTR { return gelu_erf_slope_f32(x); });
    case Op::kGeluTanhSlope:
      return map1(step, n, [=](VF x) HWY_ATTR { return gelu_tanh_slope_f32(x); });
    default:
      return;
  }
}

void to_bool(const TileStep& step, int64_t n) {
  using Op = PointwiseOp;
  TileStep unary = step;  // a test of one operand is a comparison with something that is not read
  unary.b = step.a;
  const bool negative = step.alpha != 0.0f;
  const bool positive = step.beta != 0.0f;
  switch (step.op) {
    case Op::kEqual:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x == y; });
    case Op::kNotEqual:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x != y; });
    case Op::kLess:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x < y; });
    case Op::kLessEqual:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x <= y; });
    case Op::kGreater:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x > y; });
    case Op::kGreaterEqual:
      return compare(step, n, [](float x, float y) HWY_ATTR { return x >= y; });
    case Op::kIsNaN:
      return compare(unary, n, [](float x, float) HWY_ATTR { return x != x; });
    case Op::kIsInf:
      return compare(unary, n, [=](float x, float) HWY_ATTR {
        return (negative && x == -INFINITY) || (positive && x == INFINITY);
      });
    default:
      return;
  }
}

// Folds f over a tile in four independent chains, which hide the latency of the additions.
template <typename F, typename G>
HWY_INLINE VF fold(const float* in, int64_t n, VF identity, const F& combine, const G& map) {
  VF s0 = identity, s1 = identity, s2 = identity, s3 = identity;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = combine(s0, map(hn::LoadU(kF32, in + i)));
    s1 = combine(s1, map(hn::LoadU(kF32, in + i + kLanes)));
    s2 = combine(s2, map(hn::LoadU(kF32, in + i + 2 * kLanes)));
    s3 = combine(s3, map(hn::LoadU(kF32, in + i + 3 * kLanes)));
  }
  for (; i + kLanes <= n; i += kLanes) s0 = combine(s0, map(hn::LoadU(kF32, in + i)));
  if (i < n) s1 = combine(s1, first_lanes(map(load_first(in + i, n - i)), n - i, identity));
  return combine(combine(s0, s1), combine(s2, s3));
}

// Tiles are summed in f32 (at most 1024 terms, 64 chains), tiles among each other in double.
void ReduceTile(ReduceOp op, const float* in, int64_t n, double* accumulator) {
  const VF zero = hn::Zero(kF32);
  const auto add = [](VF x, VF y) HWY_ATTR { return hn::Add(x, y); };
  const auto same = [](VF x) HWY_ATTR { return x; };
  double& total = *accumulator;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      total += static_cast<double>(sum_of(fold(in, n, zero, add, same)));
      return;
    case ReduceOp::kSumSquare:
      total +=
          static_cast<double>(sum_of(fold(in, n, zero, add, [](VF x) HWY_ATTR { return hn::Mul(x, x); })));
      return;
    case ReduceOp::kL1:
      total += static_cast<double>(sum_of(fold(in, n, zero, add, [](VF x) HWY_ATTR { return hn::Abs(x); })));
      return;
    case ReduceOp::kProd:
      for (int64_t i = 0; i < n; ++i) total *= static_cast<double>(in[i]);
      return;
    case ReduceOp::kMax:
    case ReduceOp::kMin: {
      const bool max = op == ReduceOp::kMax;
      const VF v = max ? fold(
                             in, n, splat(-INFINITY), [](VF x, VF y) HWY_ATTR { return max_nan(x, y); }, same)
                       : fold(
                             in, n, splat(INFINITY), [](VF x, VF y) HWY_ATTR { return min_nan(x, y); }, same);
      const bool nan = !hn::AllFalse(kF32, hn::IsNaN(v));
      const double found = nan ? static_cast<double>(NAN) : static_cast<double>(max ? max_of(v) : min_of(v));
      if (nan || (max ? found > total : found < total)) total = found;
      return;
    }
    case ReduceOp::kNone:
      return;
  }
}

void RunStep(const TileStep& step, int64_t n) {
  using Op = PointwiseOp;
  if (step.op == Op::kWhere) return select(step, n);
  if (step.op >= Op::kEqual) return to_bool(step, n);
  if (step.op >= Op::kRelu) return activation(step, n);
  if (step.op >= Op::kSqrt) return function(step, n);
  arithmetic(step, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::internal {
HWY_EXPORT(RunStep);
HWY_EXPORT(ReduceTile);

void run_f32_step(const TileStep& step, int64_t n) noexcept { HWY_DYNAMIC_DISPATCH(RunStep)(step, n); }

void reduce_f32(ReduceOp op, const float* from, int64_t n, double* accumulator) noexcept {
  HWY_DYNAMIC_DISPATCH(ReduceTile)(op, from, n, accumulator);
}

}  // namespace hone::kernels::internal
#endif
