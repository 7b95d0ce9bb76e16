// QuantizeLinear and DequantizeLinear of what pointwise programs do not hold (scales of blocks, elements of 2, 4 or 8 bits that
// are no integers of a byte), and DynamicQuantizeLinear, as CUDA kernels.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

inline constexpr int kQuantizeBlock = 256;

struct QuantizeProgram {
  bool dequantizes = false;
  DType in = DType::kF32;  // quantising: f32, f16, bf16, i32; dequantising: i32, or one that quantising gives
  DType scale = DType::kF32;  // f32, f16, bf16, f8e8m0
  DType out =
      DType::kU8;  // an integer of 16 bits or fewer, or a float of 8 or 4; dequantising: f32, f16, bf16
  DType precision = DType::kF32;  // f32, f16, bf16: what x, the scale and their quotient are rounded to
  bool zero = false;              // there are zero points, of type `out`, or `in` where it dequantises
  bool saturate = true;           // floats that leave their type become its largest
  int64_t elements = 0;
  // Elements as outer × extent × inner have scales as outer × ceil(extent / block) × inner where `block` is set, otherwise one
  // for each of `extent`, which is 1 where there is one for all.
  int64_t extent = 1, inner = 1, block = 0;
};

inline constexpr const char* kQuantizeEntry = "hone_quantize";  // x, scales, zero points (null: 0), y
struct QuantizeKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kQuantizeBlock threads
};
Result<QuantizeKernel> generate_quantize(const QuantizeProgram& program);

// Two kernels of one source: what blocks find as the ends of the range, and the elements by it.
inline constexpr const char* kRangeEntry = "hone_range";  // x, ends (float[2 * range_blocks])
// x, ends, y (u8), scale, zero point (u8)
inline constexpr const char* kQuantizeByRangeEntry = "hone_quantize_by_range";
struct DynamicQuantizeKernels {
  cuda::KernelSource source;
  int64_t range_blocks = 0, blocks = 0;  // of kQuantizeBlock threads
};
Result<DynamicQuantizeKernels> generate_dynamic_quantize(DType dtype, int64_t elements);

}  // namespace hone::kernels::gpu
