// For tests of kernels: numbers to work on, and memory as kernels ask for it. Not part of the product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace hone::kernels {

// Scratch memory is made of these.
struct alignas(64) CacheLine {
  std::byte bytes[64];
};

// Not inlined: GCC 12 otherwise sees a deallocation in it that is not there (-Wfree-nonheap-object).
[[gnu::noinline]] inline std::vector<float> normal_values(int64_t n, float mean, float deviation,
                                                          unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = normal(random);
  return values;
}

}  // namespace hone::kernels
