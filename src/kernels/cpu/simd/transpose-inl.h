// In-register transposition of f32 strips. Included once per target by foreach_target, hence the toggling
// guard.
#if defined(HONE_KERNELS_CPU_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_SIMD_TRANSPOSE_INL_H_
#undef HONE_KERNELS_CPU_SIMD_TRANSPOSE_INL_H_
#else
#define HONE_KERNELS_CPU_SIMD_TRANSPOSE_INL_H_
#endif

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// kLanes rows × kStrip columns at `in` become kStrip rows × kLanes columns at `out`; strides in elements.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
inline constexpr int64_t kStrip = 4;

// Rows i, i+4, i+8… of four columns, one row a 128-bit block: interleaving the blocks of four such vectors
// then leaves the rows in order.
HWY_INLINE VF gather_blocks(const float* in, int64_t stride) {
#if HWY_TARGET == HWY_AVX3
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(in));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(in + 4 * stride), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(in + 8 * stride), 2);
  return VF{_mm512_insertf32x4(v, _mm_loadu_ps(in + 12 * stride), 3)};
#else
  return VF{_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in)), _mm_loadu_ps(in + 4 * stride), 1)};
#endif
}

HWY_INLINE void transpose_strip(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  const hn::RepartitionToWide<F32> wide;
  const VF a = gather_blocks(in, in_stride);
  const VF b = gather_blocks(in + in_stride, in_stride);
  const VF c = gather_blocks(in + 2 * in_stride, in_stride);
  const VF d = gather_blocks(in + 3 * in_stride, in_stride);
  const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(a, b));
  const auto cd_low = hn::BitCast(wide, hn::InterleaveLower(c, d));
  const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(kF32, a, b));
  const auto cd_high = hn::BitCast(wide, hn::InterleaveUpper(kF32, c, d));
  hn::StoreU(hn::BitCast(kF32, hn::InterleaveLower(ab_low, cd_low)), kF32, out);
  hn::StoreU(hn::BitCast(kF32, hn::InterleaveUpper(wide, ab_low, cd_low)), kF32, out + out_stride);
  hn::StoreU(hn::BitCast(kF32, hn::InterleaveLower(ab_high, cd_high)), kF32, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(kF32, hn::InterleaveUpper(wide, ab_high, cd_high)), kF32, out + 3 * out_stride);
}
#else
inline constexpr int64_t kStrip = 1;

HWY_INLINE void transpose_strip(const float* in, int64_t in_stride, float* out, int64_t /*out_stride*/) {
  for (int64_t i = 0; i < kLanes; ++i) out[i] = in[i * in_stride];
}
#endif

// rows × columns at `in` become columns × rows at `out`.
HWY_INLINE void transpose_block(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                                int64_t out_stride) {
  int64_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    int64_t j = 0;
    for (; j + kStrip <= columns; j += kStrip) {
      transpose_strip(in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
    }
    for (; j < columns; ++j) {
      for (int64_t k = i; k < i + kLanes; ++k) out[j * out_stride + k] = in[k * in_stride + j];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[j * out_stride + i] = in[i * in_stride + j];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
