// The gradient of LayerNormalization over the last axes as CUDA kernels: a row in the registers of its threads, dx of it, and
// what it adds to the gradients of scale and bias, which stay in registers over many rows and are joined by a second kernel,
// in an order that depends on shapes alone.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct LayerNormGradientProgram {
  DType dtype = DType::kF32;           // of x, dx and `added`: f32, f16, bf16; computed in f32
  DType gradient = DType::kUndefined;  // of the gradient; kUndefined: dtype
  DType scale = DType::kF32;           // of the scale, its gradient and the bias's
  int64_t rows = 0, columns = 0;
  float epsilon = 1e-5F;
  bool added = false;  // a tensor like x is added to dx
  // f16 or bf16, in which what becomes of dx is stored, too; kUndefined: it is not.
  DType narrow = DType::kUndefined;
  bool stores = true;  // it in `dtype`; false only beside `narrow`
};

// Parameters: the gradient, x, scale, what is added or null, dx or null, the narrow dx or null, partial sums.
inline constexpr const char* kLayerNormGradientEntry = "hone_layer_norm_gradient";
inline constexpr const char* kJoinColumnsEntry = "hone_join_columns";  // partial sums, dscale, dbias
inline constexpr int64_t kMostGradientColumns = 4096;

struct LayerNormGradientKernels {
  cuda::KernelSource source;
  int64_t blocks = 0;
  int threads_x = 0, threads_y = 0;
  int64_t join_blocks = 0;  // of 32 × 8 threads
  std::size_t partial_bytes = 0;
};

// Rows of more than kMostGradientColumns elements are unsupported.
Result<LayerNormGradientKernels> generate_layer_norm_gradient(const LayerNormGradientProgram& program);

}  // namespace hone::kernels::gpu
