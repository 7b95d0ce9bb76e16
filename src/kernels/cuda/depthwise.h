// Convolutions of each channel alone, in two dimensions, as a CUDA kernel with all that follows them: a thread has some
// neighbouring results of a row and, where channels lie last, as many channels as one load holds. Summed in f32 in the order of
// the taps, rounded once.
#pragma once

#include <cstdint>

#include "cuda/cudnn_convolution.h"
#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "core/tensor.h"

namespace hone::kernels::gpu {

inline constexpr const char* kDepthwiseEntry = "hone_depthwise";
inline constexpr int kDepthwiseBlock = 128;

struct DepthwiseKernel {
  cuda::KernelSource source;
  // Parameters of kDepthwiseEntry: x, weights (as depthwise_weights lays them), the bias and what is added where `desc` has
  // them, y. Blocks of kDepthwiseBlock threads.
  int64_t blocks = 0;
  int64_t lanes = 1, strip = 1;  // channels and results of a thread
};

// Extents are constants of the source. Unsupported: other groups than of one channel and one filter, transposed ones, windows of
// more than 7 by 7, other types.
Result<DepthwiseKernel> generate_depthwise(const cuda::ConvolutionDesc& desc);

// The weights, [channels, 1, rows, columns], as the kernel reads them: channels last where `desc` has them last.
Tensor depthwise_weights(const cuda::ConvolutionDesc& desc, const Tensor& weights);

}  // namespace hone::kernels::gpu
