// How generated kernels call the elements of memory, and what brings them to the type that is computed in and back.
#pragma once

#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace hone::kernels::gpu {

constexpr bool is_element_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}
// Of f32, f16 and bf16.
constexpr std::string_view element_memory(DType dtype) {
  return dtype == DType::kF32 ? "float" : "unsigned short";
}
constexpr std::string_view element_form(DType dtype) {
  return dtype == DType::kF32 ? "HoneIdentity<float>" : dtype == DType::kF16 ? "HoneF16" : "HoneBf16";
}

// Of any number that has at least a byte to itself: floats are computed in f32 or f64, integers in 64 bits, which they leave
// modulo their own. Behind kWideForms.
struct NumberForm {
  std::string_view memory;  // type in memory
  std::string_view wide;    // type that is computed in
  std::string_view form;    // with held() and stored()
};
inline constexpr std::string_view kWideForms = R"cuda(
template <typename Memory, typename Wide> struct HoneWide {
  HONE_FUNCTION static Wide held(Memory x) { return (Wide)x; }
  HONE_FUNCTION static Memory stored(Wide x) { return (Memory)x; }
};
struct HoneTruth {  // sums and products of 0 and 1
  HONE_FUNCTION static unsigned long long held(unsigned char x) { return x != 0; }
  HONE_FUNCTION static unsigned char stored(unsigned long long x) { return x != 0; }
};
)cuda";

// nullopt: strings, complex numbers, and what has less than 16 bits of a float or 8 of an integer.
constexpr std::optional<NumberForm> number_form(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return NumberForm{element_memory(dtype), "float", element_form(dtype)};
    case DType::kF64:
      return NumberForm{"double", "double", "HoneIdentity<double>"};
    case DType::kI8:
      return NumberForm{"signed char", "hone_i64", "HoneWide<signed char, hone_i64>"};
    case DType::kI16:
      return NumberForm{"short", "hone_i64", "HoneWide<short, hone_i64>"};
    case DType::kI32:
      return NumberForm{"int", "hone_i64", "HoneWide<int, hone_i64>"};
    case DType::kI64:
      return NumberForm{"hone_i64", "hone_i64", "HoneIdentity<hone_i64>"};
    case DType::kU8:
      return NumberForm{"unsigned char", "unsigned long long", "HoneWide<unsigned char, unsigned long long>"};
    case DType::kU16:
      return NumberForm{"unsigned short", "unsigned long long",
                        "HoneWide<unsigned short, unsigned long long>"};
    case DType::kU32:
      return NumberForm{"unsigned", "unsigned long long", "HoneWide<unsigned, unsigned long long>"};
    case DType::kU64:
      return NumberForm{"unsigned long long", "unsigned long long", "HoneIdentity<unsigned long long>"};
    case DType::kBool:
      return NumberForm{"unsigned char", "unsigned long long", "HoneTruth"};
    default:
      return std::nullopt;
  }
}

}  // namespace hone::kernels::gpu
