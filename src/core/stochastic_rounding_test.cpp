#include "core/stochastic_rounding.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace hone {
namespace {

double rounded(float value, uint32_t bits) { return bf16_to_f32(f32_to_bf16_stochastically(value, bits)); }

TEST(StochasticRounding, OfAllBitsTheMeanIsTheNumberItself) {
  const Philox random(3);
  for (uint64_t i = 0; i < 50; ++i) {
    const auto value = static_cast<float>(std::ldexp(random.normal(i), static_cast<int>(i % 40) - 20));
    double sum = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) sum += rounded(value, bits);
    EXPECT_NEAR(sum / 65536, value, 1e-12 * std::abs(value));
  }
}

TEST(StochasticRounding, TheDrawnBitsAreUnbiased) {
  // A third of the way from 1 to its neighbour above, which is 2^-7 away.
  const float value = 1 + 0x1p-7F / 3;
  constexpr int64_t kElements = 200'000;
  for (const int64_t updates : {int64_t{0}, int64_t{1}, int64_t{1} << 33}) {
    const RoundingBits bits(5, 17, updates);
    int64_t up = 0;
    for (int64_t e = 0; e < kElements; ++e) up += rounded(value, bits.of(e)) > 1;
    EXPECT_NEAR(static_cast<double>(up) / kElements, 1.0 / 3,
                5 * std::sqrt(2.0 / 9 / static_cast<double>(kElements)));
  }
}

TEST(StochasticRounding, WhatBf16HoldsStaysAsItIs) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0F, -0.0F, 1.0F, -1.5F, 0x1p-126F, 0x1p-133F, infinity, -infinity})
    for (const uint32_t bits : {0U, 1U, 0x7fffU, 0xffffU}) {
      EXPECT_EQ(rounded(value, bits), value);
      EXPECT_EQ(std::signbit(rounded(value, bits)), std::signbit(value));
    }
  for (const uint32_t bits : {0U, 0xffffU})
    EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001U), bits)));
}

TEST(StochasticRounding, BitsDependOnSeedParameterUpdateAndElement) {
  const auto first_bits = [](uint64_t seed, int64_t parameter, int64_t updates, int64_t element) {
    const RoundingBits bits(seed, parameter, updates);
    uint64_t word = 0;
    for (int64_t e = 0; e < 4; ++e) word = word << 16 | bits.of(element + e);
    return word;
  };
  EXPECT_EQ(first_bits(1, 2, 3, 4), first_bits(1, 2, 3, 4));
  const std::set<uint64_t> others = {first_bits(1, 2, 3, 4), first_bits(2, 2, 3, 4), first_bits(1, 3, 3, 4),
                                     first_bits(1, 2, 4, 4), first_bits(1, 2, 3, 8)};
  EXPECT_EQ(others.size(), 5u);
}

}  // namespace
}  // namespace hone
