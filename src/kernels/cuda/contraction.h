// Einsum as a CUDA kernel: sums of products of any number of tensors along any axes. Of two tensors with axes of their own it is a
// product of matrices by tiles in shared memory, otherwise a thread computes a result. Floats are summed in f32 (f64 in f64),
// integers in 64 bits. No tensor cores.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct ContractionAxis {
  int64_t extent = 1;
  std::vector<int64_t> steps;  // of each operand, in elements; 0 where it does not have the axis
  bool summed = false;
};

struct ContractionProgram {
  DType dtype = DType::kF32;          // of all tensors; any number but bool
  std::size_t operands = 1;           // 1…kMostContracted
  std::vector<ContractionAxis> axes;  // those of the result first, in its order
};
inline constexpr std::size_t kMostContracted = 6;

inline constexpr const char* kContractionEntry = "hone_contraction";  // operands, result
inline constexpr int kContractionBlock = 256;

struct ContractionKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kContractionBlock threads
};
Result<ContractionKernel> generate_contraction(const ContractionProgram& program);

}  // namespace hone::kernels::gpu
