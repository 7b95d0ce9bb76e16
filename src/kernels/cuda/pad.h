// Pad as a CUDA kernel: a thread a result, or as many neighbours as one load holds where the innermost axis is not padded.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels::gpu {

struct PadProgram {
  enum class Mode : uint8_t { kConstant, kEdge, kReflect, kWrap };
  Mode mode = Mode::kConstant;
  std::size_t element_size = 4;  // bytes: 1, 2, 4 or 8
  Shape shape;                   // of the input
  Shape before, after;           // of each axis; negative: so many are left out
};

inline constexpr const char* kPadEntry = "hone_pad";
inline constexpr int kPadBlock = 256;

struct PadKernel {
  cuda::KernelSource source;
  // Parameters of kPadEntry: input, output, the element that stands where the input has none (null: zero). Blocks of kPadBlock
  // threads.
  int64_t blocks = 0;
};

// Extents are constants of the source. Other sizes of elements, and tensors without any, are unsupported.
Result<PadKernel> generate_pad(const PadProgram& program);

}  // namespace hone::kernels::gpu
