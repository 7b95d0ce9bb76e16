// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC11): block i of a stream is a pure function of (seed, stream, i), so any thread or device can make any
// part of it, and the numbers do not depend on how the work was divided.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hone {

class Philox {
 public:
  explicit Philox(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  // Four words of 32 random bits: block `index` of the stream.
  std::array<uint32_t, 4> block(uint64_t index) const {
    std::array<uint32_t, 4> counter = {low(index), high(index), low(stream_), high(stream_)};
    std::array<uint32_t, 2> key = {low(seed_), high(seed_)};
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * counter[0];
      const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
      counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
      key[0] += 0x9E3779B9;  // Weyl sequences: the golden ratio, and √3 - 1
      key[1] += 0xBB67AE85;
    }
    return counter;
  }

  // Number `index` of the stream, uniform in [0, 1), with 53 random bits.
  double uniform(uint64_t index) const {
    const auto words = block(index);
    return static_cast<double>((static_cast<uint64_t>(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
  }

  // Number `index` of the stream, from the standard normal distribution (Box and Muller's transform).
  double normal(uint64_t index) const {
    const auto words = block(index);
    const double radius = (static_cast<double>(words[0]) + 1) * 0x1p-32;  // in (0, 1]
    const double angle = static_cast<double>(words[1]) * 0x1p-32;
    return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
  }

 private:
  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

  uint64_t seed_;
  uint64_t stream_;
};

}  // namespace hone
