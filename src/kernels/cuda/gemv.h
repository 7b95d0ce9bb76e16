// A row times a matrix as a CUDA kernel, with what follows it: the weights are read once, 16 bytes a thread and load, which is all
// that counts where there is one row (decoding). Where results are few the depth is computed in parts, which a second kernel adds.
// Sums are of f32, and what is added to what depends on shapes alone, so results are the same every time.
#pragma once

#include <cstdint>

#include "cuda/blas_lt.h"
#include "cuda/kernel_cache.h"

#include "core/result.h"

namespace hone::kernels::gpu {

inline constexpr const char* kGemvEntry = "hone_gemv";
inline constexpr const char* kGemvJoinEntry = "hone_gemv_join";
inline constexpr int kGemvBlock = 256;

struct GemvKernel {
  cuda::KernelSource source;
  // Parameters of both kernels: a, b, the row and what is added (null where there is none), d, and the parts' scratch. The
  // second runs where parts > 1. Blocks of kGemvBlock threads.
  int64_t blocks = 0, parts = 1;
  int64_t join_blocks = 0;
  std::size_t scratch_bytes = 0;
};

// Extents are constants of the source. Unsupported: more rows or products than one, other types.
Result<GemvKernel> generate_gemv(const cuda::ProductDesc& desc);

}  // namespace hone::kernels::gpu
