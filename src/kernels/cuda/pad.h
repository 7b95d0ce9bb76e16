// Pad as a CUDA kernel: a thread writes vectors of 16 bytes wherever the result has as many elements. Where extents and pads
// of the innermost axis are whole vectors, it reads vectors, too, and only what stands around the input is made of
// elements; elsewhere each element of a vector is looked up.
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
  int64_t lanes = 1;          // elements of one store
  bool vector_loads = false;  // of as many
};

// Extents are constants of the source. Other sizes of elements, and tensors without any, are unsupported.
Result<PadKernel> generate_pad(const PadProgram& program);

}  // namespace hone::kernels::gpu
