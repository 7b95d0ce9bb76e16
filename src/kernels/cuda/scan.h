// Cumulative sums and products along an axis as a CUDA kernel: a block a line, or, where there are many short lines side by
// side, a thread a line. What is combined with what depends on shapes alone, so results are the same every time. f16 and
// bf16 are summed in f32; integers wrap.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct ScanProgram {
  DType dtype = DType::kF32;  // f32, f16, bf16, f64, i32, i64
  int64_t outer = 1, extent = 1, inner = 1;
  bool product = false;
  bool exclusive = false;  // each without itself
  bool reverse = false;    // from the end
};

inline constexpr const char* kScanEntry = "hone_scan";

struct ScanKernel {
  cuda::KernelSource source;
  // Parameters of kScanEntry: input, output, which may be the input.
  int64_t blocks = 0;
  int threads = 0;
};

// Extents are constants of the source. Other types and tensors without elements are unsupported.
Result<ScanKernel> generate_scan(const ScanProgram& program);

}  // namespace hone::kernels::gpu
