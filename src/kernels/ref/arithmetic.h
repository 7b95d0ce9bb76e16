// Arithmetic that is defined for every value: integers wrap instead of overflowing, NaN is passed on by
// minimum and maximum. W is double, int64_t or uint64_t.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace hone::kernels::ref {

// A number as another type: floats become integers by truncation, out of range clamped (negative to unsigned:
// wrapped), NaN as 0.
template <typename W, typename V>
W convert(V value) {
  if constexpr (std::is_floating_point_v<V> && std::is_integral_v<W>) {
    constexpr double kLimit = std::is_signed_v<W> ? 0x1p63 : 0x1p64;
    if (std::isnan(value)) return 0;
    if (value >= kLimit) return std::numeric_limits<W>::max();
    if constexpr (std::is_signed_v<W>) {
      if (value < -kLimit) return std::numeric_limits<W>::min();
    } else {
      // Negative values wrap as they would through a signed integer.
      if (value < 0) return static_cast<W>(convert<int64_t>(value));
    }
    return static_cast<W>(value);
  } else {
    return static_cast<W>(value);
  }
}

template <typename W>
W add(W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename W>
W subtract(W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    return static_cast<W>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename W>
W negate(W a) {
  if constexpr (std::is_floating_point_v<W>) {
    return -a;
  } else {
    return subtract(W{0}, a);
  }
}

template <typename W>
W multiply(W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Integers towards zero; b must not be an integer 0.
template <typename W>
W divide(W a, W b) {
  if constexpr (std::is_same_v<W, int64_t>) {
    return b == -1 ? negate(a) : a / b;
  } else {
    return a / b;
  }
}

template <typename W>
bool not_a_number([[maybe_unused]] W value) {
  if constexpr (std::is_floating_point_v<W>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

// -1, 0 or 1; NaN stays.
template <typename W>
W sign(W value) {
  if (not_a_number(value)) return value;
  if (value > 0) return 1;
  return value < 0 ? static_cast<W>(-1) : W{0};
}

template <typename W>
W maximum(W a, W b) {
  if (not_a_number(a)) return a;
  return b > a || not_a_number(b) ? b : a;
}

template <typename W>
W minimum(W a, W b) {
  if (not_a_number(a)) return a;
  return b < a || not_a_number(b) ? b : a;
}

}  // namespace hone::kernels::ref
