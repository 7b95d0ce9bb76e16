// How generated kernels call the floating-point elements of memory, and what brings them to f32 and back (prelude.h).
#pragma once

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

}  // namespace hone::kernels::gpu
