// Resizing of images, nearest and linear, as a CUDA kernel: the tables that the CPU's kernel reads are constants of the
// source. f16 and bf16 are mixed in f32. A thread has a vector of neighbouring results: of channels where they lie last,
// else of a row. Nearest positions that only repeat each element are read once for all the rows that they become, and
// within a row in vectors; others are looked up.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/resize/resize_desc.h"

namespace hone::kernels::gpu {

inline constexpr const char* kResizeEntry = "hone_resize";
inline constexpr int kResizeBlock = 256;
// Of all axes together: more make a source that takes long to compile.
inline constexpr int64_t kMostTablePositions = 4096;

struct ResizeKernel {
  cuda::KernelSource source;
  // Parameters of kResizeEntry: input, output. Blocks have kResizeBlock threads.
  int64_t blocks = 0;
  int64_t bytes = 0;          // of input and output
  int64_t lanes = 1;          // results of one store
  int64_t repeated_rows = 1;  // stores of one load: nearest
  bool vector_loads = false;  // of the input
};

// f32, f16 and bf16, plain or with channels last; anything else is unsupported.
Result<ResizeKernel> generate_resize(const ResizeDesc& desc, DType dtype);

}  // namespace hone::kernels::gpu
