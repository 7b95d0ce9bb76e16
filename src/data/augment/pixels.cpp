// One source for every instruction set (Highway); results of different sets differ in the last bit at most where a
// product and a sum are rounded once or twice.
#include "data/augment/pixels.h"

#include <algorithm>
#include <cmath>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/augment/pixels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "data/augment/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::data {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using U = hn::RebindToUnsigned<F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;

HWY_INLINE VF bilinear_at(const float* plane, int64_t width, int64_t height, VF x, VF y) {
  const F f;
  const I s;
  const auto zero = hn::Zero(f);
  x = hn::Min(hn::Max(x, zero), hn::Set(f, static_cast<float>(width - 1)));
  y = hn::Min(hn::Max(y, zero), hn::Set(f, static_cast<float>(height - 1)));
  // The left and upper neighbour: at most the last but one, so that all four are there.
  const auto x0 = hn::Min(hn::ConvertTo(s, x), hn::Set(s, static_cast<int32_t>(width - 2)));
  const auto y0 = hn::Min(hn::ConvertTo(s, y), hn::Set(s, static_cast<int32_t>(height - 2)));
  const auto fx = hn::Sub(x, hn::ConvertTo(f, x0)), fy = hn::Sub(y, hn::ConvertTo(f, y0));
  const auto at = hn::Add(hn::Mul(y0, hn::Set(s, static_cast<int32_t>(width))), x0);
  const auto a = hn::GatherIndex(f, plane, at), b = hn::GatherIndex(f, plane + 1, at);
  const auto c = hn::GatherIndex(f, plane + width, at), d = hn::GatherIndex(f, plane + width + 1, at);
  const auto upper = hn::MulAdd(fx, hn::Sub(b, a), a), lower = hn::MulAdd(fx, hn::Sub(d, c), c);
  return hn::MulAdd(fy, hn::Sub(lower, upper), upper);
}

void SampleBilinear(const float* plane, int64_t width, int64_t height, const float* x, const float* y,
                    std::size_t n, float* out) {
  const F f;
  const std::size_t lanes = hn::Lanes(f);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(bilinear_at(plane, width, height, hn::LoadU(f, x + i), hn::LoadU(f, y + i)), f, out + i);
  if (i == n) return;
  HWY_ALIGN float bx[HWY_MAX_BYTES / 4] = {}, by[HWY_MAX_BYTES / 4] = {};
  std::copy(x + i, x + n, bx);
  std::copy(y + i, y + n, by);
  hn::Store(bilinear_at(plane, width, height, hn::Load(f, bx), hn::Load(f, by)), f, bx);
  std::copy(bx, bx + (n - i), out + i);
}

void NearestIndices(int64_t width, int64_t height, const float* x, const float* y, std::size_t n,
                    int32_t* out) {
  const auto last_x = static_cast<float>(width - 1), last_y = static_cast<float>(height - 1);
  const auto stride = static_cast<int32_t>(width);
  for (std::size_t i = 0; i < n; ++i) {
    const float nx = std::min(std::max(x[i], 0.0f), last_x) + 0.5f,
                ny = std::min(std::max(y[i], 0.0f), last_y) + 0.5f;
    out[i] = static_cast<int32_t>(ny) * stride + static_cast<int32_t>(nx);
  }
}

void ScaleAndShift(float* values, std::size_t n, float gain, float offset) {
  for (std::size_t i = 0; i < n; ++i) values[i] = values[i] * gain + offset;
}

HWY_INLINE VF power_of(VF value, VF gamma) {
  const F f;
  const auto positive = hn::Max(value, hn::Set(f, 1e-30f));
  const auto power = hn::Exp(f, hn::Mul(gamma, hn::Log(f, positive)));
  return hn::IfThenElse(hn::Gt(value, hn::Zero(f)), power, hn::Zero(f));
}

void ApplyGamma(float* values, std::size_t n, float gamma) {
  const F f;
  const std::size_t lanes = hn::Lanes(f);
  const auto exponent = hn::Set(f, gamma);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(power_of(hn::LoadU(f, values + i), exponent), f, values + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / 4] = {};
  std::copy(values + i, values + n, rest);
  hn::Store(power_of(hn::Load(f, rest), exponent), f, rest);
  std::copy(rest, rest + (n - i), values + i);
}

// The upper halves of the 64-bit products of each lane with `factor`.
HWY_INLINE VU high_product(VU a, VU factor) {
  const U u;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(u, static_cast<uint32_t>(uint64_t{hn::GetLane(a)} * hn::GetLane(factor) >> 32));
#else
  const hn::RepartitionToWide<U> wide;
  const auto odd_lanes = hn::BitCast(u, hn::ShiftRight<32>(hn::BitCast(wide, a)));
  const auto even = hn::MulEven(a, factor), odd = hn::MulEven(odd_lanes, factor);
  return hn::OddEven(hn::BitCast(u, odd), hn::BitCast(u, hn::ShiftRight<32>(even)));
#endif
}

struct Words {
  VU w[4];
};

// Blocks low, low + 1, … of the stream; see core/philox.h.
HWY_INLINE Words philox_blocks(VU low, uint32_t high, uint64_t seed, uint64_t stream) {
  const U u;
  auto c0 = low, c1 = hn::Set(u, high);
  auto c2 = hn::Set(u, static_cast<uint32_t>(stream)), c3 = hn::Set(u, static_cast<uint32_t>(stream >> 32));
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  const auto m0 = hn::Set(u, 0xD2511F53u), m1 = hn::Set(u, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const auto high0 = high_product(c0, m0), low0 = hn::Mul(c0, m0);
    const auto high1 = high_product(c2, m1), low1 = hn::Mul(c2, m1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(u, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(u, k1));
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// A uniform number from the upper 23 bits of each lane: (bits + 0.5) / 2^23, never 0 or 1.
HWY_INLINE VF uniform_of(VU words) {
  const F f;
  const I s;
  const auto bits = hn::ConvertTo(f, hn::BitCast(s, hn::ShiftRight<9>(words)));
  return hn::MulAdd(bits, hn::Set(f, 0x1p-23f), hn::Set(f, 0x1p-24f));
}

void AddNoise(float* values, std::size_t n, float deviation, uint64_t seed, uint64_t stream, uint64_t first) {
  const F f;
  const U u;
  const std::size_t lanes = hn::Lanes(f);
  const auto spread = hn::Set(f, deviation), turn = hn::Set(f, 6.2831853071795865f);
  HWY_ALIGN float noise[4 * HWY_MAX_BYTES / 4];
  for (std::size_t i = 0; i < n; i += 4 * lanes) {
    const uint64_t block = first + i / 4;
    // The upper word changes only where a sum of the lower ones overflows: not within a step's numbers, which are
    // below 2^30 and start at a multiple of it.
    const auto low = hn::Iota(u, static_cast<uint32_t>(block));
    const Words words = philox_blocks(low, static_cast<uint32_t>(block >> 32), seed, stream);
    const auto r0 = hn::Mul(spread, hn::Sqrt(hn::Mul(hn::Set(f, -2.0f), hn::Log(f, uniform_of(words.w[0])))));
    const auto r1 = hn::Mul(spread, hn::Sqrt(hn::Mul(hn::Set(f, -2.0f), hn::Log(f, uniform_of(words.w[2])))));
    const auto a0 = hn::Mul(turn, uniform_of(words.w[1])), a1 = hn::Mul(turn, uniform_of(words.w[3]));
    hn::StoreInterleaved4(hn::Mul(r0, hn::Cos(f, a0)), hn::Mul(r0, hn::Sin(f, a0)),
                          hn::Mul(r1, hn::Cos(f, a1)), hn::Mul(r1, hn::Sin(f, a1)), f, noise);
    const std::size_t count = std::min(4 * lanes, n - i);
    for (std::size_t k = 0; k < count; ++k) values[i + k] += noise[k];
  }
}

double SumOf(const float* values, std::size_t n) {
  // Eight sums in f64, whatever the vectors: the same on every CPU.
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += static_cast<double>(values[i + k]);
  for (; i < n; ++i) sums[i % 8] += static_cast<double>(values[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::data {
HWY_EXPORT(SampleBilinear);
HWY_EXPORT(NearestIndices);
HWY_EXPORT(ScaleAndShift);
HWY_EXPORT(ApplyGamma);
HWY_EXPORT(AddNoise);
HWY_EXPORT(SumOf);

void sample_bilinear(const float* plane, int64_t width, int64_t height, const float* x, const float* y,
                     std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(SampleBilinear)(plane, width, height, x, y, n, out);
}
void nearest_indices(int64_t width, int64_t height, const float* x, const float* y, std::size_t n,
                     int32_t* out) {
  HWY_DYNAMIC_DISPATCH(NearestIndices)(width, height, x, y, n, out);
}
void scale_and_shift(float* values, std::size_t n, float gain, float offset) {
  HWY_DYNAMIC_DISPATCH(ScaleAndShift)(values, n, gain, offset);
}
void apply_gamma(float* values, std::size_t n, float gamma) {
  HWY_DYNAMIC_DISPATCH(ApplyGamma)(values, n, gamma);
}
void add_noise(float* values, std::size_t n, float deviation, uint64_t seed, uint64_t stream,
               uint64_t first) {
  HWY_DYNAMIC_DISPATCH(AddNoise)(values, n, deviation, seed, stream, first);
}
double sum_of(const float* values, std::size_t n) { return HWY_DYNAMIC_DISPATCH(SumOf)(values, n); }

}  // namespace hone::data
#endif
