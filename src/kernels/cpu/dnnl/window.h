// Geometry that convolutions and poolings share. Internal to this folder.
#pragma once

#include "core/shape.h"
#include "kernels/cpu/dnnl/library.h"

namespace hone::kernels::onednn {

// Length of one side after a window slid over it (floor rounding).
inline int64_t window_output(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  const int64_t reach = dilation * (kernel - 1) + 1;
  return (input + pads - reach) / stride + 1;
}

// `extents` with defaults for an empty vector.
inline Shape or_default(const Shape& extents, std::size_t rank, int64_t value) {
  return extents.empty() ? Shape(rank, value) : extents;
}

// {1, channels, 1, 1…}: how a per-channel vector broadcasts to a tensor of this rank.
inline Shape with_spatial(int64_t batch, int64_t channels, const Shape& spatial) {
  Shape shape = {batch, channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

}  // namespace hone::kernels::onednn
