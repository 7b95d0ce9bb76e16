// MaxPool and AveragePool over one to three spatial axes as a CUDA kernel. f16 and bf16 are computed in f32. Where channels lie
// last, a thread has as many neighbouring channels as one load holds. Else, where rows of the image are vectors of which
// strides take whole ones, a thread reads a vector of each row, and the few elements beside it that windows reach, for as
// many neighbouring results. Anything else is a thread a result.
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

enum class PoolPath : uint8_t { kResults, kChannels, kRows };

struct PoolKernel {
  cuda::KernelSource source;
  // Parameters of kPoolEntry: input, output. Blocks have kPoolBlock threads.
  int64_t blocks = 0;
  int64_t bytes = 0;  // read once and written
  PoolPath path = PoolPath::kResults;
  int64_t lanes = 1;  // results of a thread
};

// Extents are constants of the source. Other types, and more than three axes, are unsupported.
Result<PoolKernel> generate_pooling(const PoolProgram& program);

}  // namespace hone::kernels::gpu
