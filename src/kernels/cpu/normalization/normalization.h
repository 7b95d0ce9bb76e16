// Normalisation by mean and variance in f32: LayerNorm, RMSNorm, with a residual sum in front if wanted;
// GroupNorm, InstanceNorm, and BatchNorm by given statistics on the plain layout. BatchNorm in training is in
// batch_norm_training.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.h"

namespace hone::kernels {

// Rows of `length` elements, each normalised by itself: y = (x - mean) / sqrt(variance + epsilon) · scale +
// bias; for RMS without the mean: y = x / sqrt(mean(x²) + epsilon) · scale + bias.
struct LayerNormDesc {
  int64_t rows = 0;
  int64_t length = 0;
  float epsilon = 1e-5f;
  bool rms = false;
};

struct LayerNormArguments {
  const float* x = nullptr;
  const float* residual = nullptr;  // added to x first; null: none
  const float* scale = nullptr;     // [length]; null: 1
  const float* bias = nullptr;      // [length]; null: 0
  float* y = nullptr;               // may be x or residual
  float* sum = nullptr;   // x + residual, for the next residual; null: not wanted. May be x or residual
  float* mean = nullptr;  // [rows]; null: not wanted
  float* inverse_deviation = nullptr;  // [rows]: 1/sqrt(variance + epsilon); null: not wanted
};

class LayerNorm {
 public:
  static Result<LayerNorm> create(LayerNormDesc desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const LayerNormArguments& arguments) const noexcept;

 private:
  LayerNormDesc desc_;
};

// x: [batch, channels, spatial], row-major. Each group of channels / groups neighbouring channels of an image
// is normalised by itself. groups == channels: InstanceNorm.
struct GroupNormDesc {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t groups = 1;
  int64_t spatial = 0;
  float epsilon = 1e-5f;
};

class GroupNorm {
 public:
  static Result<GroupNorm> create(GroupNormDesc desc);
  static std::size_t scratch_bytes() { return 0; }
  // scale and bias: [channels], null for 1 and 0. y may be x.
  void execute(const float* x, const float* scale, const float* bias, float* y) const noexcept;

 private:
  GroupNormDesc desc_;
};

// x: [batch, channels, spatial], row-major. Channel c becomes (x - mean[c]) / sqrt(variance[c] + epsilon) ·
// scale[c] + bias[c]: BatchNorm at inference, which passes fold away where a product stands before it.
struct BatchNormDesc {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t spatial = 0;
  float epsilon = 1e-5f;
};

struct BatchNormArguments {
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels], these four
  const float* bias = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  float* y = nullptr;  // may be x
};

class BatchNorm {
 public:
  static Result<BatchNorm> create(BatchNormDesc desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const BatchNormArguments& arguments) const noexcept;

 private:
  BatchNormDesc desc_;
};

}  // namespace hone::kernels
