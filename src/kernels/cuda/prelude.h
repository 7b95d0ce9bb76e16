// CUDA C++ that generated kernels begin with: how values lie in memory, and what each pointwise instruction computes, in
// the meaning that kernels/pointwise/program.h gives it. Needs no header of NVIDIA's. With HONE_ON_HOST it is C++ for the
// host, so that tests can run what is generated where there is no GPU.
#pragma once

#include <string>
#include <string_view>

namespace hone::kernels::gpu {

// Types, and how values lie in memory: all that kernels need which compute little.
inline constexpr std::string_view kBasePrelude = R"cuda(
#ifndef HONE_ON_HOST
#define HONE_FUNCTION __device__ __forceinline__
HONE_FUNCTION float hone_from_f16(unsigned short x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
// Two at a time where there is such an instruction: that of one is a quarter as fast.
#if __CUDA_ARCH__ >= 800
#define HONE_PAIRS_OF_HALVES
HONE_FUNCTION unsigned hone_to_f16_pair(float high, float low) { unsigned y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y; }
HONE_FUNCTION unsigned short hone_to_f16(float x) { return (unsigned short)hone_to_f16_pair(0.0f, x); }
HONE_FUNCTION unsigned hone_to_bf16_pair(float high, float low) { unsigned y; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y; }
#else
HONE_FUNCTION unsigned short hone_to_f16(float x) { unsigned short y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
#endif
HONE_FUNCTION float hone_float_of_bits(unsigned x) { return __uint_as_float(x); }
HONE_FUNCTION unsigned hone_bits_of_float(float x) { return __float_as_uint(x); }
HONE_FUNCTION float hone_near_exp2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
HONE_FUNCTION float hone_near_reciprocal(float x) { float y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
// Of numbers from 1 on: without what the one above does for subnormal ones, which is six instructions.
HONE_FUNCTION float hone_near_part(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
HONE_FUNCTION float hone_near_sqrt(float x) { float y; asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
HONE_FUNCTION float hone_near_rsqrt(float x) { float y; asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
HONE_FUNCTION float hone_near_div(float x, float y) { float z; asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y)); return z; }
#else
HONE_FUNCTION float hone_near_exp2(float x) { return exp2(x); }
HONE_FUNCTION float hone_near_reciprocal(float x) { return 1.0f / x; }
HONE_FUNCTION float hone_near_part(float x) { return 1.0f / x; }
HONE_FUNCTION float hone_near_sqrt(float x) { return sqrt(x); }
HONE_FUNCTION float hone_near_rsqrt(float x) { return 1.0f / sqrt(x); }
HONE_FUNCTION float hone_near_div(float x, float y) { return x / y; }
#endif
typedef long long hone_i64;
typedef unsigned char hone_bool;

// No load takes more than 16 bytes, nor are tensors aligned to more.
template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) HoneVector { T at[N]; };

// --- between memory and the values that are computed with ---
template <typename Memory> struct HoneIdentity {
  HONE_FUNCTION static Memory held(Memory x) { return x; }
  HONE_FUNCTION static Memory stored(Memory x) { return x; }
};
struct HoneF16 {
  HONE_FUNCTION static float held(unsigned short x) { return hone_from_f16(x); }
  HONE_FUNCTION static unsigned short stored(float x) { return hone_to_f16(x); }
#ifdef HONE_PAIRS_OF_HALVES
  HONE_FUNCTION static unsigned stored_pair(float high, float low) { return hone_to_f16_pair(high, low); }
#else
  HONE_FUNCTION static unsigned stored_pair(float high, float low) { return (unsigned)stored(high) << 16 | stored(low); }
#endif
};
struct HoneBf16 {  // halves to even; a NaN stays one
  HONE_FUNCTION static float held(unsigned short x) { return hone_float_of_bits((unsigned)x << 16); }
#ifdef HONE_PAIRS_OF_HALVES
  HONE_FUNCTION static unsigned short stored(float x) { return (unsigned short)hone_to_bf16_pair(0.0f, x); }
  HONE_FUNCTION static float rounded(float x) { return hone_float_of_bits(hone_to_bf16_pair(x, 0.0f)); }
  HONE_FUNCTION static unsigned stored_pair(float high, float low) { return hone_to_bf16_pair(high, low); }
#else
  HONE_FUNCTION static unsigned short stored(float x) {
    const unsigned bits = hone_bits_of_float(x);
    return (unsigned short)(x == x ? (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16 : (bits >> 16) | 0x40u);
  }
  HONE_FUNCTION static float rounded(float x) { return held(stored(x)); }
  HONE_FUNCTION static unsigned stored_pair(float high, float low) { return (unsigned)stored(high) << 16 | stored(low); }
#endif
  HONE_FUNCTION static unsigned short stored_rounded(float x) { return (unsigned short)(hone_bits_of_float(x) >> 16); }
};
template <typename Memory> struct HoneNarrow {
  HONE_FUNCTION static int held(Memory x) { return (int)x; }
  HONE_FUNCTION static Memory stored(int x) { return (Memory)x; }
};
struct HoneU32 {
  HONE_FUNCTION static hone_i64 held(unsigned x) { return (hone_i64)x; }
  HONE_FUNCTION static unsigned stored(hone_i64 x) { return (unsigned)x; }
};
struct HoneBool {
  HONE_FUNCTION static hone_bool held(hone_bool x) { return x != 0; }
  HONE_FUNCTION static hone_bool stored(hone_bool x) { return x; }
};

// --- one store of neighbours, which the compiler takes apart where it is conditional ---
#ifndef HONE_ON_HOST
HONE_FUNCTION void hone_put(void* to, HoneVector<unsigned, 4> x) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]) : "memory");
}
HONE_FUNCTION void hone_put(void* to, HoneVector<unsigned, 2> x) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(x.at[0]), "r"(x.at[1]) : "memory");
}
#endif
template <typename Vector> HONE_FUNCTION void hone_put(void* to, Vector x) { *(Vector*)to = x; }
// Halves become pairs.
template <typename Form, typename Memory, int N> HONE_FUNCTION void hone_store(Memory* to, const float (&x)[N]) {
  if constexpr (sizeof(Memory) == 2 && N % 2 == 0) {
    HoneVector<unsigned, N / 2> pairs;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) pairs.at[i] = Form::stored_pair(x[2 * i + 1], x[2 * i]);
    hone_put(to, pairs);
  } else if constexpr (sizeof(Memory) == 4) {
    HoneVector<unsigned, N> all;
#pragma unroll
    for (int i = 0; i < N; ++i) all.at[i] = hone_bits_of_float(x[i]);
    hone_put(to, all);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = Form::stored(x[i]);
  }
}

)cuda";

// What each pointwise instruction computes.
inline constexpr std::string_view kArithmetic = R"cuda(
// --- conversions: floats saturate (NaN to 0), integers wrap ---
template <typename F> HONE_FUNCTION hone_i64 hone_to_i64(F x) {
  if (!(x == x)) return 0;
  if (x >= (F)9223372036854775808.0) return 0x7fffffffffffffffLL;
  if (x <= (F)-9223372036854775808.0) return -0x7fffffffffffffffLL - 1;
  return (hone_i64)x;
}
HONE_FUNCTION hone_i64 hone_to_i64(int x) { return x; }
HONE_FUNCTION hone_i64 hone_to_i64(hone_i64 x) { return x; }
HONE_FUNCTION hone_i64 hone_to_i64(hone_bool x) { return x; }
template <typename F> HONE_FUNCTION int hone_to_i32(F x) {
  if (!(x == x)) return 0;
  if (x >= (F)2147483648.0) return 0x7fffffff;
  if (x <= (F)-2147483648.0) return -0x7fffffff - 1;
  return (int)x;
}
HONE_FUNCTION int hone_to_i32(int x) { return x; }
HONE_FUNCTION int hone_to_i32(hone_i64 x) { return (int)x; }
HONE_FUNCTION int hone_to_i32(hone_bool x) { return x; }

// --- arithmetic: floats, and integers that wrap ---
#define HONE_EACH_FLOAT(X) X(float) X(double)
#define HONE_EACH_INTEGER(X) X(int, unsigned) X(hone_i64, unsigned long long)

#define X(T) \
  HONE_FUNCTION T hone_add(T a, T b) { return a + b; } \
  HONE_FUNCTION T hone_sub(T a, T b) { return a - b; } \
  HONE_FUNCTION T hone_mul(T a, T b) { return a * b; } \
  HONE_FUNCTION T hone_div(T a, T b) { return a / b; } \
  HONE_FUNCTION T hone_fmod(T a, T b) { return fmod(a, b); } \
  HONE_FUNCTION T hone_mod(T a, T b) { \
    const T r = fmod(a, b); \
    if (r == 0) return copysign(r, b); \
    return (r < 0) != (b < 0) ? r + b : r; \
  } \
  HONE_FUNCTION T hone_min(T a, T b) { return a != a || a < b ? a : b; } \
  HONE_FUNCTION T hone_max(T a, T b) { return a != a || a > b ? a : b; } \
  HONE_FUNCTION T hone_mul_add(T a, T b, T c) { return fma(a, b, c); } \
  HONE_FUNCTION T hone_neg(T a) { return -a; } \
  HONE_FUNCTION T hone_abs(T a) { return fabs(a); } \
  HONE_FUNCTION T hone_sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a; } \
  HONE_FUNCTION T hone_square(T a) { return a * a; } \
  HONE_FUNCTION T hone_pow(T a, T b) { \
    if (b == (T)2) return a * a; \
    if (b == (T)3) return a * a * a; \
    if (b == (T)1) return a; \
    if (b == (T)-1) return (T)1 / a; \
    return pow(a, b); \
  } \
  HONE_FUNCTION T hone_sqrt(T a) { return sqrt(a); } \
  HONE_FUNCTION T hone_rsqrt(T a) { return (T)1 / sqrt(a); } \
  HONE_FUNCTION T hone_reciprocal(T a) { return (T)1 / a; } \
  HONE_FUNCTION T hone_exp(T a) { return exp(a); } \
  HONE_FUNCTION T hone_expm1(T a) { return expm1(a); } \
  HONE_FUNCTION T hone_log(T a) { return log(a); } \
  HONE_FUNCTION T hone_log1p(T a) { return log1p(a); } \
  HONE_FUNCTION T hone_sin(T a) { return sin(a); } \
  HONE_FUNCTION T hone_cos(T a) { return cos(a); } \
  HONE_FUNCTION T hone_tan(T a) { return tan(a); } \
  HONE_FUNCTION T hone_asin(T a) { return asin(a); } \
  HONE_FUNCTION T hone_acos(T a) { return acos(a); } \
  HONE_FUNCTION T hone_atan(T a) { return atan(a); } \
  HONE_FUNCTION T hone_sinh(T a) { return sinh(a); } \
  HONE_FUNCTION T hone_cosh(T a) { return cosh(a); } \
  HONE_FUNCTION T hone_tanh(T a) { return tanh(a); } \
  HONE_FUNCTION T hone_asinh(T a) { return asinh(a); } \
  HONE_FUNCTION T hone_acosh(T a) { return acosh(a); } \
  HONE_FUNCTION T hone_atanh(T a) { return atanh(a); } \
  HONE_FUNCTION T hone_erf(T a) { return erf(a); } \
  HONE_FUNCTION T hone_floor(T a) { return floor(a); } \
  HONE_FUNCTION T hone_ceil(T a) { return ceil(a); } \
  HONE_FUNCTION T hone_round(T a) { return rint(a); } \
  HONE_FUNCTION T hone_relu(T a) { return a < 0 ? (T)0 : a; } \
  HONE_FUNCTION T hone_prelu(T a, T b) { return a < 0 ? a * b : a; } \
  HONE_FUNCTION T hone_leaky_relu(T a, T alpha, T) { return a < 0 ? alpha * a : a; } \
  HONE_FUNCTION T hone_clip(T a, T low, T high) { return a < low ? low : a > high ? high : a; } \
  HONE_FUNCTION T hone_sigmoid(T a) { return (T)1 / ((T)1 + exp(-a)); } \
  HONE_FUNCTION T hone_gate(T x) { return x < 0 ? (T)0 : x > 1 ? (T)1 : x; } \
  HONE_FUNCTION T hone_hard_sigmoid(T a, T alpha, T beta) { return hone_gate(alpha * a + beta); } \
  HONE_FUNCTION T hone_swish(T a, T alpha, T) { return a / ((T)1 + exp(-alpha * a)); } \
  HONE_FUNCTION T hone_hard_swish(T a) { return a * hone_gate(a * ((T)1 / (T)6) + (T)0.5); } \
  HONE_FUNCTION T hone_softplus(T a) { return (a > 0 ? a : a < 0 ? (T)0 : a) + log1p(exp(-fabs(a))); } \
  HONE_FUNCTION T hone_mish(T a) { return a * tanh(hone_softplus(a)); } \
  HONE_FUNCTION T hone_elu(T a, T alpha, T) { return a < 0 ? alpha * expm1(a) : a; } \
  HONE_FUNCTION T hone_celu(T a, T alpha, T) { return a < 0 ? alpha * expm1(a / alpha) : a; } \
  HONE_FUNCTION T hone_selu(T a, T alpha, T gamma) { return gamma * (a < 0 ? alpha * expm1(a) : a); } \
  HONE_FUNCTION T hone_softsign(T a) { return a / ((T)1 + fabs(a)); } \
  HONE_FUNCTION T hone_thresholded_relu(T a, T alpha, T) { return a <= alpha ? (T)0 : a; } \
  HONE_FUNCTION T hone_shrink(T a, T lambd, T bias) { return a < -lambd ? a + bias : a > lambd ? a - bias : (T)0; } \
  HONE_FUNCTION T hone_gelu_erf(T a) { return (T)0.5 * a * ((T)1 + erf(a * (T)0.7071067811865476)); } \
  HONE_FUNCTION T hone_gelu_tanh(T a) { \
    return (T)0.5 * a * ((T)1 + tanh((T)0.7978845608028654 * (a + (T)0.044715 * a * a * a))); \
  } \
  HONE_FUNCTION T hone_within_slope(T a) { return a < (T)-20 ? (T)-20 : a > (T)20 ? (T)20 : a; } \
  HONE_FUNCTION T hone_gelu_erf_slope(T a) { \
    const T x = hone_within_slope(a); \
    return (T)0.5 * erfc(-x * (T)0.7071067811865476) + x * (T)0.3989422804014327 * exp((T)-0.5 * x * x); \
  } \
  HONE_FUNCTION T hone_gelu_tanh_slope(T a) { \
    const T x = hone_within_slope(a); \
    const T u = (T)1.5957691216057308 * x * ((T)1 + (T)0.044715 * x * x), e = exp(-fabs(u)); \
    const T most = (T)1 / ((T)1 + e), least = e * most; \
    return (u < 0 ? least : most) + x * most * least * (T)1.5957691216057308 * ((T)1 + (T)0.134145 * x * x); \
  } \
  HONE_FUNCTION hone_bool hone_is_nan(T a) { return a != a; } \
  HONE_FUNCTION hone_bool hone_is_inf(T a, T negative, T positive) { \
    return a == a && a - a != a - a && (a < 0 ? negative != 0 : positive != 0); \
  }
HONE_EACH_FLOAT(X)
#undef X

#define X(T, U) \
  HONE_FUNCTION T hone_add(T a, T b) { return (T)((U)a + (U)b); } \
  HONE_FUNCTION T hone_sub(T a, T b) { return (T)((U)a - (U)b); } \
  HONE_FUNCTION T hone_mul(T a, T b) { return (T)((U)a * (U)b); } \
  HONE_FUNCTION T hone_neg(T a) { return (T)((U)0 - (U)a); } \
  HONE_FUNCTION T hone_div(T a, T b) { return b == 0 ? 0 : b == -1 ? hone_neg(a) : a / b; } \
  HONE_FUNCTION T hone_fmod(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; } \
  HONE_FUNCTION T hone_mod(T a, T b) { const T r = hone_fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; } \
  HONE_FUNCTION T hone_min(T a, T b) { return b < a ? b : a; } \
  HONE_FUNCTION T hone_max(T a, T b) { return a < b ? b : a; } \
  HONE_FUNCTION T hone_abs(T a) { return a < 0 ? hone_neg(a) : a; } \
  HONE_FUNCTION T hone_sign(T a) { return (a > 0) - (a < 0); } \
  HONE_FUNCTION T hone_square(T a) { return hone_mul(a, a); } \
  HONE_FUNCTION T hone_relu(T a) { return a < 0 ? 0 : a; } \
  HONE_FUNCTION T hone_prelu(T a, T b) { return a < 0 ? hone_mul(a, b) : a; } \
  HONE_FUNCTION T hone_clip(T a, T low, T high) { return hone_min(high, hone_max(low, a)); } \
  HONE_FUNCTION T hone_bit_and(T a, T b) { return a & b; } \
  HONE_FUNCTION T hone_bit_or(T a, T b) { return a | b; } \
  HONE_FUNCTION T hone_bit_xor(T a, T b) { return a ^ b; } \
  HONE_FUNCTION T hone_bit_not(T a) { return ~a; } \
  HONE_FUNCTION T hone_shift_left(T a, T b) { return b < 0 || b >= (T)sizeof(T) * 8 ? 0 : (T)((U)a << b); } \
  HONE_FUNCTION T hone_shift_right(T a, T b) { return b < 0 || b >= (T)sizeof(T) * 8 ? (a < 0 ? (T)-1 : 0) : a >> b; } \
  HONE_FUNCTION T hone_integer_pow(T a, hone_i64 b) { \
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0; \
    T result = 1; \
    for (; b > 0; b >>= 1, a = hone_mul(a, a)) \
      if (b & 1) result = hone_mul(result, a); \
    return result; \
  } \
  HONE_FUNCTION T hone_pow(T a, int b) { return hone_integer_pow(a, (hone_i64)b); } \
  HONE_FUNCTION T hone_pow(T a, hone_i64 b) { return hone_integer_pow(a, b); }
HONE_EACH_INTEGER(X)
#undef X

// --- functions whose value becomes f16 or bf16 at once: within 2^-16 of the value, relative, which moves few of the results
// that are rounded to 2^-12 or 2^-9, and those to their neighbour. A fraction of the instructions of the exact ones. ---
HONE_FUNCTION float hone_near_exp(float a) { return hone_near_exp2(a * 1.44269504f); }
HONE_FUNCTION float hone_near_sigmoid(float a) { return hone_near_part(1.0f + hone_near_exp(-a)); }
HONE_FUNCTION float hone_near_swish(float a, float alpha, float) { return a * hone_near_sigmoid(alpha * a); }
HONE_FUNCTION float hone_near_tanh(float a) {
  const float square = a * a, size = fabs(a);
  const float near = fma(a * square, fma(square, 0.1287718f, -0.3332461f), a);
  const float far = 1.0f - 2.0f * hone_near_part(1.0f + hone_near_exp2(size * 2.88539008f));
  return size < 0.25f ? near : copysign(far, a);
}
// a · P(a²), up to where the result rounds to 1.
HONE_FUNCTION float hone_near_erf(float a) {
  const float x = a > 3.2f ? 3.2f : a < -3.2f ? -3.2f : a;
  const float square = x * x;
  float p = fma(square, -2.6592201e-9f, 1.54834309e-7f);
  p = fma(p, square, -4.0120954e-6f);
  p = fma(p, square, 6.1622713e-5f);
  p = fma(p, square, -6.33168391e-4f);
  p = fma(p, square, 4.67661922e-3f);
  p = fma(p, square, -2.60469809e-2f);
  p = fma(p, square, 0.112186814f);
  p = fma(p, square, -0.375916256f);
  p = fma(p, square, 1.12836728f);
  return x * p;
}
// The normal distribution's mass beyond |a|, exact in its tail too: exp(-a²/2) · P(1 / (1 + c |a|)).
HONE_FUNCTION float hone_near_tail(float a) {
  const float t = hone_near_part(fma(fabs(a), 0.282842712f, 1.0f));
  float p = fma(t, -0.0772337138f, 0.27832967527f);
  p = fma(p, t, -0.08711523550f);
  p = fma(p, t, 0.17301960848f);
  p = fma(p, t, 0.09909861986f);
  p = fma(p, t, 0.11390814680f);
  return hone_near_exp2(a * a * -0.721347520f) * (p * t);
}
// What is positive of the number, less what the tail takes of it; past 20, where numbers may be infinite, that is nothing.
HONE_FUNCTION float hone_near_gelu_erf(float a) {
  const float size = fmin(fabs(a), 20.0f), positive = fma(a, 0.5f, 0.5f * fabs(a));
  return fma(-size, hone_near_tail(size), positive);
}
HONE_FUNCTION float hone_near_gelu_tanh(float a) {
  return a * hone_near_sigmoid(1.59576912f * a * fma(a * a, 0.044715f, 1.0f));
}

HONE_FUNCTION float hone_near_gelu_erf_slope(float a) {
  const float x = hone_within_slope(a), tail = hone_near_tail(x);
  return fma(x * 0.398942280f, hone_near_exp2(x * x * -0.721347520f), x < 0.0f ? tail : 1.0f - tail);
}
HONE_FUNCTION float hone_near_gelu_tanh_slope(float a) {
  const float x = hone_within_slope(a), square = x * x;
  const float u = 1.59576912f * x * fma(square, 0.044715f, 1.0f), e = hone_near_exp2(fabs(u) * -1.44269504f);
  const float most = hone_near_part(1.0f + e), least = e * most;
  return fma(x * most * least, fma(square, 0.214064449f, 1.59576912f), u < 0.0f ? least : most);
}

// A power whose exponent is of another type.
HONE_FUNCTION float hone_pow(float a, double b) { return (float)pow((double)a, b); }
HONE_FUNCTION float hone_pow(float a, int b) { return (float)pow((double)a, (double)b); }
HONE_FUNCTION float hone_pow(float a, hone_i64 b) { return (float)pow((double)a, (double)b); }
HONE_FUNCTION double hone_pow(double a, float b) { return pow(a, (double)b); }
HONE_FUNCTION double hone_pow(double a, int b) { return pow(a, (double)b); }
HONE_FUNCTION double hone_pow(double a, hone_i64 b) { return pow(a, (double)b); }

HONE_FUNCTION int hone_pow(int a, float b) { return hone_to_i32(pow((double)a, (double)b)); }
HONE_FUNCTION int hone_pow(int a, double b) { return hone_to_i32(pow((double)a, b)); }
HONE_FUNCTION hone_i64 hone_pow(hone_i64 a, float b) { return hone_to_i64(pow((double)a, (double)b)); }
HONE_FUNCTION hone_i64 hone_pow(hone_i64 a, double b) { return hone_to_i64(pow((double)a, b)); }

// --- to bool ---
#define X(T) \
  HONE_FUNCTION hone_bool hone_equal(T a, T b) { return a == b; } \
  HONE_FUNCTION hone_bool hone_not_equal(T a, T b) { return a != b; } \
  HONE_FUNCTION hone_bool hone_less(T a, T b) { return a < b; } \
  HONE_FUNCTION hone_bool hone_less_equal(T a, T b) { return a <= b; } \
  HONE_FUNCTION hone_bool hone_greater(T a, T b) { return a > b; } \
  HONE_FUNCTION hone_bool hone_greater_equal(T a, T b) { return a >= b; } \
  HONE_FUNCTION T hone_where(hone_bool a, T b, T c) { return a ? b : c; }
X(float) X(double) X(int) X(hone_i64) X(hone_bool)
#undef X
HONE_FUNCTION hone_bool hone_and(hone_bool a, hone_bool b) { return a & b; }
HONE_FUNCTION hone_bool hone_or(hone_bool a, hone_bool b) { return a | b; }
HONE_FUNCTION hone_bool hone_xor(hone_bool a, hone_bool b) { return a ^ b; }
HONE_FUNCTION hone_bool hone_not(hone_bool a) { return a ^ 1; }

// --- casts ---
template <typename T> HONE_FUNCTION hone_bool hone_cast_bool(T x) { return x != (T)0; }
template <typename T> HONE_FUNCTION int hone_cast_i8(T x) { return (signed char)hone_to_i64(x); }
template <typename T> HONE_FUNCTION int hone_cast_u8(T x) { return (unsigned char)hone_to_i64(x); }
template <typename T> HONE_FUNCTION int hone_cast_i16(T x) { return (short)hone_to_i64(x); }
template <typename T> HONE_FUNCTION int hone_cast_u16(T x) { return (unsigned short)hone_to_i64(x); }
template <typename T> HONE_FUNCTION int hone_cast_i32(T x) { return hone_to_i32(x); }
template <typename T> HONE_FUNCTION hone_i64 hone_cast_u32(T x) { return (unsigned)hone_to_i64(x); }
template <typename T> HONE_FUNCTION hone_i64 hone_cast_i64(T x) { return hone_to_i64(x); }
template <typename T> HONE_FUNCTION float hone_cast_f16(T x) { return hone_from_f16(hone_to_f16((float)x)); }
template <typename T> HONE_FUNCTION float hone_cast_bf16(T x) { return HoneBf16::rounded((float)x); }
template <typename T> HONE_FUNCTION float hone_cast_f32(T x) { return (float)x; }
template <typename T> HONE_FUNCTION double hone_cast_f64(T x) { return (double)x; }
)cuda";

inline std::string full_prelude() { return std::string(kBasePrelude) + std::string(kArithmetic); }

}  // namespace hone::kernels::gpu
