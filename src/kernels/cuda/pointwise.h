// Pointwise programs as CUDA kernels: the source of one is made from the program that the CPU's kernel runs
// (kernels/pointwise/program.h). 16 bytes of the widest element a thread and load, a guard for the tail alone.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "kernels/pointwise/program.h"

namespace hone::kernels::gpu {

inline constexpr const char* kPointwiseEntry = "hone_pointwise";
inline constexpr int kPointwiseBlock = 256;
// What addresses must be aligned to.
inline constexpr std::size_t kPointwiseAlignment = 16;

struct PointwiseKernel {
  cuda::KernelSource source;
  // Parameters of kPointwiseEntry: a pointer an input, a pointer an output, then int64_t: the elements of the iteration
  // space. Where every input lies as the result does, or is one number, the source is the same for every shape.
  int64_t elements = 0;
  int64_t elements_a_block = 0;
  // sin, cos and tan keep a table of their own in local memory, for arguments past 10^5.
  bool uses_local_memory = false;
};

// A program with reductions is unsupported: those are other kernels.
Result<PointwiseKernel> generate_pointwise(const PointwiseProgram& program);

}  // namespace hone::kernels::gpu
