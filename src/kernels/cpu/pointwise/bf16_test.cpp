// bf16 to f32 and back, many at a time, as core's conversions do it one by one.
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/dtype.h"
#include "kernels/cpu/pointwise/interpret.h"

namespace hone::kernels::internal {
namespace {

// Every upper half with lower halves around the middle, and whatever random bits are: NaN, infinities and subnormals among them.
std::vector<float> all_kinds() {
  std::vector<float> list;
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      list.push_back(std::bit_cast<float>(upper << 16 | lower));
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) list.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return list;
}

TEST(Bf16, NarrowsAndRoundsAsCoreDoes) {
  const std::vector<float> from = all_kinds();
  const auto n = static_cast<int64_t>(from.size());
  std::vector<uint16_t> narrow(from.size());
  narrow_to_bf16(from.data(), narrow.data(), n);
  std::vector<float> rounded(from.size());
  round_to_bf16(from.data(), rounded.data(), n);
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(narrow[i], f32_to_bf16(from[i])) << std::bit_cast<uint32_t>(from[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(bf16_to_f32(narrow[i])));
  }
}

TEST(Bf16, WidensEveryNumber) {
  std::vector<uint16_t> from(0x10000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(i);
  std::vector<float> to(from.size());
  widen_bf16(from.data(), to.data(), static_cast<int64_t>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(to[i]), static_cast<uint32_t>(i) << 16);
}

TEST(Bf16, TouchesNothingBehindTheLast) {
  for (int64_t n = 0; n < 70; ++n) {
    const std::vector<float> from(static_cast<std::size_t>(n), 1.5F);
    std::vector<uint16_t> to(static_cast<std::size_t>(n) + 4, 7);
    narrow_to_bf16(from.data(), to.data(), n);
    std::vector<float> back(static_cast<std::size_t>(n) + 4, 7);
    widen_bf16(to.data(), back.data(), n);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool inside = i < static_cast<std::size_t>(n);
      ASSERT_EQ(to[i], inside ? f32_to_bf16(1.5F) : 7) << n;
      ASSERT_EQ(back[i], inside ? 1.5F : 7) << n;
    }
  }
}

}  // namespace
}  // namespace hone::kernels::internal
