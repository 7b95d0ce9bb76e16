// Softmax and log-softmax in f32 along one axis, with the scale and additive mask of attention scores fused
// in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

struct SoftmaxDesc {
  Shape outer = {};    // axes before the one that is normalised; empty: one row
  int64_t length = 1;  // extent of that axis
  int64_t inner = 1;   // product of the axes after it
  bool log = false;
  float scale = 1;  // of x, before the mask is added
  // With a mask (inner must be 1): its stride in elements along each outer axis, 0 where it is broadcast; its
  // `length` elements of a row lie one after the other.
  bool masked = false;
  std::vector<int64_t> mask_strides = {};
};

class Softmax {
 public:
  static Result<Softmax> create(SoftmaxDesc desc);
  static std::size_t scratch_bytes() { return 0; }
  // y = softmax(scale·x + mask). y may be x. mask is not read unless the description says so. A row whose
  // every score is -infinity comes out as NaN, as the formula has it.
  void execute(const float* x, const float* mask, float* y) const noexcept;

 private:
  SoftmaxDesc desc_;
  int64_t rows_ = 0;
};

}  // namespace hone::kernels
