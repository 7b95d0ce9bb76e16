// What the compiler must not do: leave out loads (their values are combined and the result made opaque), run
// a pass once instead of `passes` times (forget_memory between them), or turn the copy into a call of memcpy
// (vector loads and stores that it can't recognise, and which make the kind of store explicit).
#include "kernels/cpu/roof/traffic.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/roof/traffic.cpp"
#include <hwy/foreach_target.h>
// foreach_target has to come before highway.h
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/cpu/roof/opaque.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::roof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint32_t>;
constexpr Words kWords{};
using Vector = hn::Vec<Words>;
constexpr int kUnroll = 8;  // vectors a round: enough loads in flight, little loop overhead

// XOR and not addition: one cycle, no rounding, and every bit of every load matters to the result.
void read_all(const void* source, std::size_t bytes, int passes) {
  const auto* words = static_cast<const uint32_t*>(source);
  const std::size_t count = bytes / sizeof(uint32_t), lanes = hn::Lanes(kWords);
  Vector sums[kUnroll];
  for (int k = 0; k < kUnroll; ++k) sums[k] = hn::Zero(kWords);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < count; i += kUnroll * lanes) {
#pragma GCC unroll 8
      for (int k = 0; k < kUnroll; ++k)
        sums[k] = hn::Xor(sums[k], hn::Load(kWords, words + i + static_cast<std::size_t>(k) * lanes));
    }
    forget_memory();
  }
  for (int k = 1; k < kUnroll; ++k) sums[0] = hn::Xor(sums[0], sums[k]);
  uint32_t result = hn::GetLane(sums[0]);
  make_opaque(result);
}

template <bool kStreaming>
HWY_INLINE void put(Vector value, uint32_t* target) {
  if constexpr (kStreaming) {
    hn::Stream(value, kWords, target);
  } else {
    hn::Store(value, kWords, target);
  }
}

template <bool kStreaming>
HWY_INLINE void write_to(void* target, std::size_t bytes, int passes) {
  auto* words = static_cast<uint32_t*>(target);
  const std::size_t count = bytes / sizeof(uint32_t), lanes = hn::Lanes(kWords);
  for (int pass = 0; pass < passes; ++pass) {
    const Vector value = hn::Set(kWords, static_cast<uint32_t>(pass));
    for (std::size_t i = 0; i < count; i += kUnroll * lanes) {
#pragma GCC unroll 8
      for (int k = 0; k < kUnroll; ++k)
        put<kStreaming>(value, words + i + static_cast<std::size_t>(k) * lanes);
    }
    forget_memory();
  }
  if constexpr (kStreaming) hwy::FlushStream();
}

template <bool kStreaming>
HWY_INLINE void copy_to(void* target, const void* source, std::size_t bytes, int passes) {
  auto* to = static_cast<uint32_t*>(target);
  const auto* from = static_cast<const uint32_t*>(source);
  const std::size_t count = bytes / sizeof(uint32_t), lanes = hn::Lanes(kWords);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < count; i += kUnroll * lanes) {
#pragma GCC unroll 8
      for (int k = 0; k < kUnroll; ++k) {
        const std::size_t at = i + static_cast<std::size_t>(k) * lanes;
        put<kStreaming>(hn::Load(kWords, from + at), to + at);
      }
    }
    forget_memory();
  }
  if constexpr (kStreaming) hwy::FlushStream();
}

void write_all(void* target, std::size_t bytes, int passes) { write_to<false>(target, bytes, passes); }
void stream_all(void* target, std::size_t bytes, int passes) { write_to<true>(target, bytes, passes); }
void copy_all(void* target, const void* source, std::size_t bytes, int passes) {
  copy_to<false>(target, source, bytes, passes);
}
void copy_all_streaming(void* target, const void* source, std::size_t bytes, int passes) {
  copy_to<true>(target, source, bytes, passes);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::roof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::roof {

HWY_EXPORT(read_all);
HWY_EXPORT(write_all);
HWY_EXPORT(stream_all);
HWY_EXPORT(copy_all);
HWY_EXPORT(copy_all_streaming);

void read_memory(const void* source, std::size_t bytes, int passes) {
  HWY_DYNAMIC_DISPATCH(read_all)(source, bytes, passes);
}
void write_memory(void* target, std::size_t bytes, int passes) {
  HWY_DYNAMIC_DISPATCH(write_all)(target, bytes, passes);
}
void stream_memory(void* target, std::size_t bytes, int passes) {
  HWY_DYNAMIC_DISPATCH(stream_all)(target, bytes, passes);
}
void copy_memory(void* target, const void* source, std::size_t bytes, int passes) {
  HWY_DYNAMIC_DISPATCH(copy_all)(target, source, bytes, passes);
}
void copy_streaming(void* target, const void* source, std::size_t bytes, int passes) {
  HWY_DYNAMIC_DISPATCH(copy_all_streaming)(target, source, bytes, passes);
}

}  // namespace hone::kernels::roof
#endif
