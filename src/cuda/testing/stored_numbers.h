// Half types as the fakes of NVIDIA's libraries store them: bits to numbers and back, rounded to the nearest even. And what
// matrix units read of f32 that is to be multiplied in tf32: 10 bits of mantissa.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace hone::cuda::testing {

inline double f16_number(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<double>(half);
}

inline double bf16_number(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float x;
  std::memcpy(&x, &wide, sizeof x);
  return static_cast<double>(x);
}

inline uint16_t f16_bits(float x) {
  const auto half = static_cast<_Float16>(x);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

inline double tf32_number(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1): one bit before the ten
  return std::ldexp(std::round(std::ldexp(mantissa, 11)), exponent - 11);
}

inline uint16_t bf16_bits(float x) {
  uint32_t wide;
  std::memcpy(&wide, &x, sizeof wide);
  return static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
}

}  // namespace hone::cuda::testing
