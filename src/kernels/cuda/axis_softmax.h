// Softmax and LogSoftmax along an axis that is not the innermost, as a CUDA kernel. A block has a strip of neighbouring lines,
// 64 bytes wide or wider, whose rows its threads share out: each loads whole vectors of neighbouring lines, and what the
// threads have of a line is joined by shuffles and through shared memory, in an order that shapes alone decide. Lines of up
// to kMostAxisInRegisters elements are read once and stay in registers; longer ones are read twice, the first time with a
// running maximum. Those of the innermost axis: rows.h.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct AxisSoftmaxProgram {
  DType dtype = DType::kF32;  // f32, f16, bf16; computed in f32
  int64_t outer = 1, extent = 1, inner = 1;
  bool log = false;
};

inline constexpr const char* kAxisSoftmaxEntry = "hone_axis_softmax";
inline constexpr int kAxisSoftmaxBlock = 256;
inline constexpr int64_t kMostAxisInRegisters = 1024;

struct AxisSoftmaxKernel {
  cuda::KernelSource source;
  // Parameters of kAxisSoftmaxEntry: input, output, which may be the input. Blocks of kAxisSoftmaxBlock threads.
  int64_t blocks = 0;
  bool in_registers = false;
};

// Extents are constants of the source. Other types and tensors without elements are unsupported.
Result<AxisSoftmaxKernel> generate_axis_softmax(const AxisSoftmaxProgram& program);

}  // namespace hone::kernels::gpu
