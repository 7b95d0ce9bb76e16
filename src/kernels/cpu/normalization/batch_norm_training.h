// BatchNorm in training, f32, in every layout: each channel by the mean and variance of all its elements, and the gradient
// of that. Both read what they need of the statistics' inputs once, write their result once, and give the same numbers for
// any number of threads: sums are taken by tiles whose size depends on the shape alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/layout.h"
#include "core/result.h"

namespace hone::kernels {

// x: [batch, channels, spatial] in `layout`; channel padding of a blocked one holds zeros, in the results, too.
struct TrainingBatchNormDesc {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t spatial = 0;
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // of the running statistics: momentum · old + (1 - momentum) · the batch's
  Layout layout = Layout::kPlain;
};

// How a tensor divides: planes of `rows` positions with `width` channels side by side; plane p holds the channels from
// p % groups · width on. A tile is some rows of a plane.
struct BatchNormTiles {
  int64_t planes = 0, groups = 0, rows = 0, width = 0;
  int64_t tile = 0;   // rows of one
  int64_t tiles = 0;  // of a plane

  int64_t channels() const { return groups * width; }  // padding included
  int64_t units() const { return planes * tiles; }
};

// Of a tile, one of each a channel: mean of x, sum of squared distances from it; sum of g, sum of g times the distance.
inline constexpr int64_t kBatchNormTileSums = 4;

// Of each channel, in arrays of t.channels(): result = (x - mean) · slope + flow · gain + shift.
struct BatchNormFactors {
  const float* mean = nullptr;
  const float* slope = nullptr;
  const float* gain = nullptr;  // of the gradient alone
  const float* shift = nullptr;
};

struct TrainingBatchNormArguments {
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels], as all below
  const float* bias = nullptr;
  const float* old_mean = nullptr;
  const float* old_variance = nullptr;
  float* y = nullptr;     // may be x
  float* mean = nullptr;  // the running ones; null: not wanted. May be the old ones
  float* variance = nullptr;
};

class TrainingBatchNorm {
 public:
  static Result<TrainingBatchNorm> create(const TrainingBatchNormDesc& desc);
  std::size_t scratch_bytes() const;
  void execute(const TrainingBatchNormArguments& arguments, void* scratch) const noexcept;

 private:
  TrainingBatchNormDesc desc_;
  BatchNormTiles tiles_;
};

struct BatchNormGradientArguments {
  const float* g = nullptr;  // of the result; as x, y and dx
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels], as dscale and dbias
  const float* y = nullptr;      // null, or g counts only where y > 0: a Relu stands behind
  float* dx = nullptr;           // may be g, x or y
  float* dscale = nullptr;
  float* dbias = nullptr;
};

class BatchNormGradient {
 public:
  static Result<BatchNormGradient> create(const TrainingBatchNormDesc& desc);
  std::size_t scratch_bytes() const;
  void execute(const BatchNormGradientArguments& arguments, void* scratch) const noexcept;

 private:
  TrainingBatchNormDesc desc_;
  BatchNormTiles tiles_;
};

}  // namespace hone::kernels
