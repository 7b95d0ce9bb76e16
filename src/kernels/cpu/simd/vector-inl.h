// Small Highway helpers shared by the kernels: partial vectors, horizontal sums, f32 math.
// Included once per target by foreach_target, hence the toggling guard. Everything works on f32 and keeps
// NaN.
#if defined(HONE_KERNELS_CPU_SIMD_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_SIMD_VECTOR_INL_H_
#undef HONE_KERNELS_CPU_SIMD_VECTOR_INL_H_
#else
#define HONE_KERNELS_CPU_SIMD_VECTOR_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
inline constexpr F32 kF32{};
inline constexpr I32 kI32{};
#if HWY_TARGET == HWY_SCALAR
inline constexpr int64_t kLanes = 1;
#else
inline constexpr int64_t kLanes = HWY_MAX_BYTES / 4;
#endif

HWY_INLINE VF splat(float x) { return hn::Set(kF32, x); }

// The first `n` < kLanes floats at p, zeros above. Touches nothing beyond them.
HWY_INLINE VF load_first(const float* p, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(kF32, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(kF32, static_cast<size_t>(n)), kF32, p);
#endif
}

HWY_INLINE void store_first(VF v, float* p, int64_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)];
  hn::Store(v, kF32, lanes);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(float));
#else
  hn::BlendedStore(v, hn::FirstN(kF32, static_cast<size_t>(n)), kF32, p);
#endif
}

// The first n <= kLanes floats at p, zeros above: a whole vector where n is kLanes.
HWY_INLINE VF load_up_to(const float* p, int64_t n) {
  return n == kLanes ? hn::LoadU(kF32, p) : load_first(p, n);
}

HWY_INLINE void store_up_to(VF v, float* p, int64_t n) {
  if (n == kLanes) {
    hn::StoreU(v, kF32, p);
  } else {
    store_first(v, p, n);
  }
}

// The first n lanes of v; `other` in the lanes above.
HWY_INLINE VF first_lanes(VF v, int64_t n, VF other) {
  return hn::IfThenElse(hn::FirstN(kF32, static_cast<size_t>(n)), v, other);
}

HWY_INLINE float sum_of(VF v) { return hn::GetLane(hn::SumOfLanes(kF32, v)); }
HWY_INLINE float max_of(VF v) { return hn::GetLane(hn::MaxOfLanes(kF32, v)); }
HWY_INLINE float min_of(VF v) { return hn::GetLane(hn::MinOfLanes(kF32, v)); }

// Max and min that keep a NaN of the second operand, as x86's instructions do.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE VF max_second(VF a, VF b) { return hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)); }
HWY_INLINE VF min_second(VF a, VF b) { return hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b)); }
#else
HWY_INLINE VF max_second(VF a, VF b) { return hn::Max(a, b); }
HWY_INLINE VF min_second(VF a, VF b) { return hn::Min(a, b); }
#endif

// Max and min that are NaN where either side is.
HWY_INLINE VF max_nan(VF a, VF b) { return hn::IfThenElse(hn::IsNaN(a), a, max_second(a, b)); }
HWY_INLINE VF min_nan(VF a, VF b) { return hn::IfThenElse(hn::IsNaN(a), a, min_second(a, b)); }

// x · 2^n for integral n: by scalef where there is one, else by two multiplications so that results down to
// the smallest subnormal and up to infinity come out right. |n| <= 254.
HWY_INLINE VF scale_by_power(VF x, VF n) {
#if HWY_TARGET == HWY_AVX3
  return VF{_mm512_scalef_ps(x.raw, n.raw)};
#else
  const VI whole = hn::NearestInt(n);
  const VI half = hn::ShiftRight<1>(whole);
  const VI bias = hn::Set(kI32, 127);
  const VF first = hn::BitCast(kF32, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF second = hn::BitCast(kF32, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::Mul(hn::Mul(x, first), second);
#endif
}

// e^r for |r| <= ln(2)/2, n the whole powers of two: the shared core of exp. Cody-Waite reduction; the
// polynomial is 1 + r + r²·q(r), q of degree 4 by minimax fit (own fit, relative error 3.1e-9).
HWY_INLINE VF exp_core(VF x, VF& n) {
  n = hn::Round(hn::Mul(x, splat(1.44269504f)));
  VF r = hn::NegMulAdd(n, splat(0.693145752f), x);
  r = hn::NegMulAdd(n, splat(1.42860677e-6f), r);
  VF q = hn::MulAdd(splat(0.00138144672f), r, splat(0.00836878084f));
  q = hn::MulAdd(q, r, splat(0.0416683927f));
  q = hn::MulAdd(q, r, splat(0.166665196f));
  q = hn::MulAdd(q, r, splat(0.49999994f));
  q = hn::MulAdd(q, r, splat(1.0f));
  return hn::MulAdd(q, r, splat(1.0f));
}

// e^x on the whole line, subnormal results and infinities included. At most 1 ulp + rounding (tested
// densely).
HWY_INLINE VF exp_f32(VF x) {
  x = max_second(splat(-105.0f), min_second(splat(90.0f), x));  // in this order both keep NaN of x
  VF n;
  const VF e = exp_core(x, n);
  return scale_by_power(e, n);
}

// e^x for x <= 0, as softmax needs it: results below 2^-126 are 0 (a subnormal one costs a hundred cycles, and masked scores
// are minus infinity); -infinity gives 0. NaN is kept.
HWY_INLINE VF exp_nonpositive(VF x) {
  VF n;
  const VF e = exp_core(max_second(splat(-87.0f), x), n);
#if HWY_TARGET == HWY_AVX3
  const VF scaled = scale_by_power(e, n);
#else
  const VI exponent = hn::Add(hn::NearestInt(n), hn::Set(kI32, 127));
  const VF scaled = hn::Mul(e, hn::BitCast(kF32, hn::ShiftLeft<23>(exponent)));
#endif
  return hn::IfThenElse(hn::Lt(x, splat(-87.0f)), hn::Zero(kF32), scaled);
}

HWY_INLINE VF expm1_f32(VF x) {
  // Near 0 the series, whose terms do not cancel; elsewhere exp(x) - 1 is exact enough.
  VF n;
  const VF clamped = max_second(splat(-30.0f), min_second(splat(90.0f), x));
  const VF e = hn::Sub(scale_by_power(exp_core(clamped, n), n), splat(1.0f));
  VF q = hn::MulAdd(splat(0.00138144672f), x, splat(0.00836878084f));
  q = hn::MulAdd(q, x, splat(0.0416683927f));
  q = hn::MulAdd(q, x, splat(0.166665196f));
  q = hn::MulAdd(q, x, splat(0.49999994f));
  const VF small = hn::MulAdd(hn::Mul(x, x), q, x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), splat(0.34f)), small, e);
}

// tanh: x·p(x²) near 0 (own minimax fit, 3.9e-9), else 1 - 2/(e^2|x| + 1) with x's sign.
HWY_INLINE VF tanh_f32(VF x) {
  const VF a = hn::Abs(x);
  const VF x2 = hn::Mul(x, x);
  VF p = hn::MulAdd(splat(-0.00566003378f), x2, splat(0.0205910373f));
  p = hn::MulAdd(p, x2, splat(-0.0537210852f));
  p = hn::MulAdd(p, x2, splat(0.133311272f));
  p = hn::MulAdd(p, x2, splat(-0.333332598f));
  const VF small = hn::MulAdd(hn::Mul(p, x2), x, x);
  VF n;
  const VF twice = min_second(splat(20.0f), hn::Add(a, a));  // tanh(10) rounds to 1; keeps NaN
  const VF e = scale_by_power(exp_core(twice, n), n);
  const VF large = hn::Sub(splat(1.0f), hn::Div(splat(2.0f), hn::Add(e, splat(1.0f))));
  return hn::IfThenElse(hn::Lt(a, splat(0.625f)), small, hn::CopySign(large, x));
}

HWY_INLINE VF sigmoid_f32(VF x) { return hn::Div(splat(1.0f), hn::Add(splat(1.0f), exp_f32(hn::Neg(x)))); }

// erf: x·p(x²) for |x| < 0.9, else 1 - e^q(|x|) with q a fit of log(erfc) on [0.9, 4]; both own minimax fits
// (weighted errors 1.2e-8 and 1.7e-9). Beyond 4 it is 1 in f32.
HWY_INLINE VF erf_f32(VF x) {
  const VF x2 = hn::Mul(x, x);
  VF p = hn::MulAdd(splat(-0.000609039795f), x2, splat(0.00501197157f));
  p = hn::MulAdd(p, x2, splat(-0.0267789159f));
  p = hn::MulAdd(p, x2, splat(0.112821408f));
  p = hn::MulAdd(p, x2, splat(-0.376125246f));
  p = hn::MulAdd(p, x2, splat(0.12837911f));  // 2/sqrt(pi) - 1: the rest of x·(1 + p) stays exact
  const VF small = hn::MulAdd(p, x, x);
  const VF a = min_second(splat(4.0f), hn::Abs(x));
  VF q = hn::MulAdd(splat(0.000198219728f), a, splat(-0.00306549086f));
  q = hn::MulAdd(q, a, splat(0.0223152153f));
  q = hn::MulAdd(q, a, splat(-0.104113683f));
  q = hn::MulAdd(q, a, splat(-0.636976063f));
  q = hn::MulAdd(q, a, splat(-1.12779725f));
  q = hn::MulAdd(q, a, splat(-0.000166447164f));
  const VF large = hn::CopySign(hn::Sub(splat(1.0f), exp_nonpositive(q)), x);
  return hn::IfThenElse(hn::Lt(a, splat(0.9f)), small, large);
}

// Highway's log is for positive finite values; the rest by IEEE 754's rules.
HWY_INLINE VF log_f32(VF x) {
  const VF infinity = splat(INFINITY);
  VF y = hn::Log(kF32, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(kF32)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(kF32)), y, splat(NAN));
}

// log(1 + e^x) without overflow.
HWY_INLINE VF softplus_f32(VF x) {
  const VF tail = hn::Log1p(kF32, exp_f32(hn::Neg(hn::Abs(x))));
  return hn::Add(max_second(hn::Zero(kF32), x), tail);
}

HWY_INLINE VF gelu_erf_f32(VF x) {
  const VF half = hn::Mul(x, splat(0.5f));
  return hn::MulAdd(half, erf_f32(hn::Mul(x, splat(0.707106781f))), half);
}

HWY_INLINE VF gelu_tanh_f32(VF x) {
  // 0.5·x·(1 + tanh(u)) = x·sigmoid(2u), u = sqrt(2/pi)·(x + 0.044715·x³)
  const VF x2 = hn::Mul(x, x);
  const VF u2 = hn::Mul(x, hn::MulAdd(x2, splat(0.0713548163f), splat(1.59576912f)));
  return hn::Div(x, hn::Add(splat(1.0f), exp_f32(hn::Neg(u2))));
}

// Beyond 20 both slopes are 0 or 1; within, nothing overflows. A NaN stays one.
HWY_INLINE VF within_slope_f32(VF x) {
  return max_second(splat(-20.0f), hn::IfThenElse(hn::Gt(x, splat(20.0f)), splat(20.0f), x));
}

HWY_INLINE VF gelu_erf_slope_f32(VF x) {
  // Φ(x) + x·φ(x)
  x = within_slope_f32(x);
  const VF half = splat(0.5f);
  const VF mass = hn::MulAdd(half, erf_f32(hn::Mul(x, splat(0.707106781f))), half);
  const VF density = hn::Mul(exp_f32(hn::Mul(hn::Mul(x, x), splat(-0.5f))), splat(0.398942280f));
  return hn::MulAdd(x, density, mass);
}

HWY_INLINE VF gelu_tanh_slope_f32(VF x) {
  // With s = sigmoid(2u), u as above: s + x·s·(1 - s)·(2u)'
  x = within_slope_f32(x);
  const VF x2 = hn::Mul(x, x), one = splat(1.0f);
  const VF u2 = hn::Mul(x, hn::MulAdd(x2, splat(0.0713548163f), splat(1.59576912f)));
  const VF du2 = hn::MulAdd(x2, splat(0.214064449f), splat(1.59576912f));
  const VF e = exp_f32(hn::Neg(hn::Abs(u2)));  // so that neither s nor 1 - s loses its last bits
  const VF most = hn::Div(one, hn::Add(one, e)), least = hn::Mul(e, most);
  const VF s = hn::IfThenElse(hn::Lt(u2, hn::Zero(kF32)), least, most);
  return hn::MulAdd(hn::Mul(hn::Mul(x, du2), most), least, s);
}

HWY_INLINE VF sin_f32(VF x) {
  // Highway's range ends at 39000: beyond it (and for infinities) lane by lane.
  const auto far = hn::Gt(hn::Abs(x), splat(39000.0f));
  if (HWY_LIKELY(hn::AllFalse(kF32, far))) return hn::Sin(kF32, x);
  HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)];
  hn::Store(x, kF32, lanes);
  for (float& lane : lanes) lane = std::sin(lane);
  return hn::Load(kF32, lanes);
}

HWY_INLINE VF cos_f32(VF x) {
  const auto far = hn::Gt(hn::Abs(x), splat(39000.0f));
  if (HWY_LIKELY(hn::AllFalse(kF32, far))) return hn::Cos(kF32, x);
  HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)];
  hn::Store(x, kF32, lanes);
  for (float& lane : lanes) lane = std::cos(lane);
  return hn::Load(kF32, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
