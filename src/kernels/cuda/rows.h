// Kernels that compute each row from the whole of it: softmax and layer normalisation over the last axes. A row lies in the
// registers of its threads between one read and one write.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

enum class RowFunction : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm };

struct RowProgram {
  RowFunction function = RowFunction::kSoftmax;
  DType dtype = DType::kF32;  // of all operands: f32, f16, bf16; computed in f32
  int64_t columns = 0;        // elements of a row
  float epsilon = 1e-5F;      // kLayerNorm
  bool has_bias = false;      // kLayerNorm: beside its scale
};

inline constexpr const char* kRowEntry = "hone_rows";
inline constexpr int64_t kMostColumns = 16384;

struct RowKernel {
  cuda::KernelSource source;
  // Parameters of kRowEntry: x, y; kLayerNorm: scale, and bias where it has one; then int64_t: rows.
  int threads = 0;  // of a block's x: those of a row
  int rows = 0;     // of a block's y
};

// A row that registers do not hold, and other types, are unsupported.
Result<RowKernel> generate_rows(const RowProgram& program);

}  // namespace hone::kernels::gpu
