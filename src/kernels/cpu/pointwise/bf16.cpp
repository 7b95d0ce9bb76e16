// Between f32 and bf16, a vector at a time: to the nearest, ties to even; NaN stays NaN.
#include "kernels/cpu/pointwise/interpret.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/bf16.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using Narrow = hn::Rebind<uint16_t, F>;
constexpr F kFloats{};
constexpr U kBits{};

// The upper halves of what rounds to them.
HWY_INLINE hn::Vec<U> rounded_halves(hn::Vec<F> x) {
  const auto bits = hn::BitCast(kBits, x);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(kBits, 1));
  const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(kBits, 0x7fff))));
  const auto quiet = hn::Or(upper, hn::Set(kBits, 0x40));
  return hn::IfThenElse(hn::RebindMask(kBits, hn::IsNaN(x)), quiet, nearest);
}

void NarrowBf16(const float* from, uint16_t* to, int64_t n) {
  constexpr Narrow kNarrow{};
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto halves = rounded_halves(hn::LoadU(kFloats, from + i));
    hn::StoreU(hn::DemoteTo(kNarrow, hn::BitCast(I(), halves)), kNarrow, to + i);
  }
  for (; i < n; ++i) to[i] = to_bf16(from[i]);
}

void WidenBf16(const uint16_t* from, float* to, int64_t n) {
  constexpr Narrow kNarrow{};
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto bits = hn::PromoteTo(kBits, hn::LoadU(kNarrow, from + i));
    hn::StoreU(hn::BitCast(kFloats, hn::ShiftLeft<16>(bits)), kFloats, to + i);
  }
  for (; i < n; ++i) to[i] = from_bf16(from[i]);
}

void RoundToBf16(const float* from, float* to, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto halves = rounded_halves(hn::LoadU(kFloats, from + i));
    hn::StoreU(hn::BitCast(kFloats, hn::ShiftLeft<16>(halves)), kFloats, to + i);
  }
  for (; i < n; ++i) to[i] = from_bf16(to_bf16(from[i]));
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::internal {

HWY_EXPORT(NarrowBf16);
HWY_EXPORT(WidenBf16);
HWY_EXPORT(RoundToBf16);

void narrow_to_bf16(const float* from, uint16_t* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(NarrowBf16)(from, to, n);
}
void widen_bf16(const uint16_t* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(from, to, n);
}
void round_to_bf16(const float* from, float* to, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(RoundToBf16)(from, to, n);
}

}  // namespace hone::kernels::internal
#endif
