// The numbers by which ONNX names element types (TensorProto.DataType): in files, and in the attributes `to`,
// `dtype` and `output_dtype` of operators, which keep ONNX's numbers in hone's graphs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/dtype.h"

namespace hone {

inline constexpr std::array<DType, 27> kOnnxDTypes = {
    DType::kUndefined,  DType::kF32,    DType::kU8,         DType::kI8,   DType::kU16,  DType::kI16,
    DType::kI32,        DType::kI64,    DType::kString,     DType::kBool, DType::kF16,  DType::kF64,
    DType::kU32,        DType::kU64,    DType::kC64,        DType::kC128, DType::kBF16, DType::kF8E4M3FN,
    DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kU4,   DType::kI4,   DType::kF4E2M1,
    DType::kF8E8M0,     DType::kU2,     DType::kI2};

// The element type that ONNX calls `code`; nullopt for 0 (undefined) and numbers that it does not have.
constexpr std::optional<DType> dtype_from_onnx(int64_t code) {
  if (code <= 0 || code >= static_cast<int64_t>(kOnnxDTypes.size())) return std::nullopt;
  return kOnnxDTypes[static_cast<std::size_t>(code)];
}

// The inverse; 0 for kUndefined.
constexpr int64_t dtype_to_onnx(DType dtype) {
  for (std::size_t i = 0; i < kOnnxDTypes.size(); ++i) {
    if (kOnnxDTypes[i] == dtype) return static_cast<int64_t>(i);
  }
  return 0;
}

}  // namespace hone
