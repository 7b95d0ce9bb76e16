// Blocks of convolutional networks, in the operators that exporters write: nothing folded, nothing fused.
#pragma once

#include "model/zoo/network.h"

namespace hone::model::zoo {

struct Convolution {
  int64_t channels = 0;  // of the output
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t groups = 1;
  bool padded = true;  // with zeros, so that stride 1 keeps the extents (odd kernels)
  bool bias = false;
  float gain = 2;  // see he(): 1 where the input is not rectified
};

// Parameters "weight" and "bias".
ValueId convolve(const Module& at, ValueId x, const Convolution& convolution);

// Doubles both extents; the weights of each place of the 2 x 2 kernel are a layer of their own.
ValueId convolve_transposed(const Module& at, ValueId x, int64_t channels);

// In inference form, with running statistics near those of unit activations. `scale` sets the size of the
// output: residual branches stay small, as training leaves them, so that deep sums do not grow.
ValueId batch_norm(const Module& at, ValueId x, Initial scale = kScale);
inline constexpr Initial kResidualScale{0.3f, 0.05f};

ValueId relu(const Module& at, ValueId x);
ValueId relu6(const Module& at, ValueId x);  // Clip to [0, 6]
ValueId max_pool(const Module& at, ValueId x, int64_t kernel, int64_t stride, int64_t padding);

// Mean over all places, then a fully connected layer: GlobalAveragePool, Flatten, Gemm.
ValueId classify(const Module& pool, const Module& dense, ValueId x, int64_t classes);

// Where the channel axis of an [N, C, H, W] value is known, its extent.
int64_t channels_of(const Module& at, ValueId x);

}  // namespace hone::model::zoo
