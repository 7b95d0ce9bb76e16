// MaxPool and AveragePool over one to three spatial axes as a CUDA kernel: a thread a result, or, where channels lie last,
// a thread for as many neighbouring channels as one load holds. f16 and bf16 are computed in f32.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"
#include "core/window.h"

namespace hone::kernels::gpu {

struct PoolProgram {
  enum class Kind : uint8_t { kMax, kAverage, kAverageWithPadding };  // the last counts padding as zeros
  Kind kind = Kind::kMax;
  DType dtype = DType::kF32;  // f32, f16, bf16
  int64_t batch = 1, channels = 1;
  bool channels_last = false;
  std::vector<Window> windows;  // one a spatial axis
  Shape in, out;                // spatial extents
};

inline constexpr const char* kPoolEntry = "hone_pool";
inline constexpr int kPoolBlock = 256;

struct PoolKernel {
  cuda::KernelSource source;
  // Parameters of kPoolEntry: input, output. Blocks have kPoolBlock threads.
  int64_t blocks = 0;
  int64_t bytes = 0;  // read once and written
};

// Extents are constants of the source. Other types, and more than three axes, are unsupported.
Result<PoolKernel> generate_pooling(const PoolProgram& program);

}  // namespace hone::kernels::gpu
