#include "kernels/cpu/optimizer/bf16_weights.h"

#include <cstring>

#include "core/stochastic_rounding.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer/bf16_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

inline constexpr int64_t kTileBlocks = kRoundedTile / 8;  // of random bits

#if HWY_TARGET == HWY_SCALAR

void RandomTile(uint64_t seed, uint64_t stream, uint64_t first_block, uint32_t* words) {
  const Philox philox(seed, stream);
  for (int64_t block = 0; block < kTileBlocks; ++block)
    std::memcpy(words + 4 * block, philox.block(first_block + static_cast<uint64_t>(block)).data(), 16);
}

void RoundTile(const float* from, const uint16_t* halves, uint16_t* to) {
  for (int64_t i = 0; i < kRoundedTile; ++i) to[i] = f32_to_bf16_stochastically(from[i], halves[i]);
}

#else

using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, U32>;
using VU = hn::Vec<U32>;
inline constexpr U32 kU32{};
inline constexpr hn::RepartitionToWide<U32> kU64{};
inline constexpr U16 kU16{};

// Products of 32 bits each, in halves.
struct Product {
  VU high, low;
};
HWY_INLINE Product product_of(VU a, VU b) {
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(kU32, hn::ShiftRight<32>(hn::BitCast(kU64, a))), b);
  return {hn::OddEven(hn::BitCast(kU32, odd), hn::BitCast(kU32, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(kU32, hn::ShiftLeft<32>(odd)), hn::BitCast(kU32, even))};
}

// Philox (core/philox.h), a block a lane; blocks of a tile differ in the lower half of their number alone, since it begins at
// a multiple of how many it has, which is a power of two.
void RandomTile(uint64_t seed, uint64_t stream, uint64_t first_block, uint32_t* words) {
  const VU a_factor = hn::Set(kU32, 0xD2511F53U), b_factor = hn::Set(kU32, 0xCD9E8D57U);
  const VU lanes = hn::Iota(kU32, 0);
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  for (int64_t block = 0; block < kTileBlocks; block += kLanes) {
    VU c0 = hn::Add(lanes, hn::Set(kU32, low(first_block) + low(static_cast<uint64_t>(block))));
    VU c1 = hn::Set(kU32, low(first_block >> 32));
    VU c2 = hn::Set(kU32, low(stream)), c3 = hn::Set(kU32, low(stream >> 32));
    uint32_t k0 = low(seed), k1 = low(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Product a = product_of(c0, a_factor), b = product_of(c2, b_factor);
      c0 = hn::Xor(hn::Xor(b.high, c1), hn::Set(kU32, k0));
      c1 = b.low;
      c2 = hn::Xor(hn::Xor(a.high, c3), hn::Set(kU32, k1));
      c3 = a.low;
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, kU32, words + 4 * block);
  }
}

void RoundTile(const float* from, const uint16_t* halves, uint16_t* to) {
  const VU exponent = hn::Set(kU32, 0x7f800000U);
  for (int64_t i = 0; i < kRoundedTile; i += kLanes) {
    const VU bits = hn::BitCast(kU32, hn::LoadU(kF32, from + i));
    const VU random = hn::PromoteTo(kU32, hn::LoadU(kU16, halves + i));
    // A NaN keeps a bit that bf16 has, an infinity has nothing to be rounded.
    const auto is_special = hn::Eq(hn::And(bits, exponent), exponent);
    const auto is_nan = hn::Gt(hn::And(bits, hn::Set(kU32, 0x7fffffffU)), exponent);
    const VU special = hn::Or(bits, hn::IfThenElseZero(is_nan, hn::Set(kU32, 0x400000U)));
    const VU rounded = hn::IfThenElse(is_special, special, hn::Add(bits, random));
    hn::StoreU(hn::TruncateTo(kU16, hn::ShiftRight<16>(rounded)), kU16, to + i);
  }
}

#endif

void WidenBf16Range(const uint16_t* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

void RoundInTile(const float* from, int64_t first, int64_t count, uint64_t seed, uint64_t stream,
                 uint16_t* to) {
  alignas(64) uint32_t words[4 * kTileBlocks];
  alignas(64) uint16_t halves[kRoundedTile];
  RandomTile(seed, stream, static_cast<uint64_t>(first / kRoundedTile * kTileBlocks), words);
  std::memcpy(halves, words,
              sizeof words);  // the lower half of a word comes first: hone's machines are little-endian
  if (count == kRoundedTile) return RoundTile(from, halves, to);
  alignas(64) float values[kRoundedTile] = {};
  alignas(64) uint16_t rounded[kRoundedTile];
  const int64_t at = first % kRoundedTile;
  std::memcpy(values + at, from, static_cast<size_t>(count) * sizeof(float));
  RoundTile(values, halves, rounded);
  std::memcpy(to, rounded + at, static_cast<size_t>(count) * sizeof(uint16_t));
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(WidenBf16Range);
HWY_EXPORT(RoundInTile);

}  // namespace

void widen_bf16(const uint16_t* from, float* to, int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(WidenBf16Range)(from, to, count);
}

void round_stochastically(const float* from, int64_t first, int64_t count, uint64_t seed, uint64_t stream,
                          uint16_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(RoundInTile)(from, first, count, seed, stream, to);
}

}  // namespace hone::kernels
#endif
