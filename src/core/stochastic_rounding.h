// Rounding of f32 to bf16, up or down with the probabilities that make the mean the number itself, so that a weight of bf16
// gathers steps that are much smaller than its last place. Which way an element goes is a function of (seed, parameter,
// update, element), by whoever rounds it: kernels of every device draw the same bits.
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"
#include "core/philox.h"

namespace hone {

// The bits of the elements of one parameter in one update: 16 for each, half e % 8 of block e / 8, the lower half of a word
// before the upper.
class RoundingBits {
 public:
  RoundingBits(uint64_t seed, int64_t parameter, int64_t updates)
      : philox_(seed, stream(parameter, updates)) {}

  uint32_t of(int64_t element) const {
    const auto block = philox_.block(static_cast<uint64_t>(element) / 8);
    const auto half = static_cast<std::size_t>(element % 8);
    return block[half / 2] >> (half % 2 * 16) & 0xffff;
  }

  // Of the generator: no stream 0, which dropout draws from. Parameters up to 2^23, updates up to 2^40.
  static uint64_t stream(int64_t parameter, int64_t updates) {
    return (static_cast<uint64_t>(parameter) + 1) << 40 | static_cast<uint64_t>(updates);
  }

 private:
  Philox philox_;
};

// `bits`, of [0, 65536), uniform: what is cut off makes a carry with its own share as probability. What bf16 holds stays,
// infinities do, and a NaN stays one.
inline uint16_t f32_to_bf16_stochastically(float value, uint32_t bits) {
  const auto word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7f800000u) == 0x7f800000u) return f32_to_bf16(value);
  return static_cast<uint16_t>((word + bits) >> 16);
}

}  // namespace hone
