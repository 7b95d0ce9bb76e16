// Kernels that compute each row from the whole of it: softmax, layer and RMS normalisation over the last axes, group and
// instance normalisation. A row lies in the registers of its threads between one read and one write; one that does not fit
// is read again for each pass over it, mostly from the cache.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

// kGroupNorm: a row is what a group has of an image; scale and bias are one number a channel.
enum class RowFunction : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm, kRmsNorm, kGroupNorm };

struct RowProgram {
  RowFunction function = RowFunction::kSoftmax;
  DType dtype = DType::kF32;  // of all operands: f32, f16, bf16; computed in f32
  int64_t columns = 0;        // elements of a row
  float epsilon = 1e-5F;      // of norms
  bool has_bias = false;      // of norms: beside their scale; kGroupNorm has one
  int64_t groups = 1;         // kGroupNorm: rows of an image
  int64_t positions = 1;      // kGroupNorm: columns of a channel
  // Of layer and RMS norms of f32: f16 or bf16, in which the result is stored, too; kUndefined: it is not.
  DType narrow = DType::kUndefined;
  bool stores = true;  // the result in `dtype`; false only beside `narrow`
  bool spread =
      false;  // a load a thread, and a block a row: for so few rows that the device is not full of them
};

inline constexpr const char* kRowEntry = "hone_rows";
inline constexpr int64_t kMostColumnsInRegisters = 16384;
inline constexpr int64_t kMostColumns = (int64_t{1} << 31) - 2048;  // places are counted in 32 bits

struct RowKernel {
  cuda::KernelSource source;
  // Parameters of kRowEntry: x, y where it is stored, the narrow y where there is one; norms: scale, and bias where it has one;
  // then int64_t: rows.
  int threads = 0;  // of a block's x: those of a row
  int rows = 0;     // of a block's y
};

// Other types, and rows of no or of more than kMostColumns elements, are unsupported.
Result<RowKernel> generate_rows(const RowProgram& program);

}  // namespace hone::kernels::gpu
