// The gradients of maximum and average pooling over 1 to 3 spatial axes, in f32; of an average in plain layout. Planes are
// independent: each is one thread's, so that the sums have one order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"
#include "core/window.h"

namespace hone::kernels {

struct PoolingGradientDesc {
  bool maximum = true;       // else the average
  bool counts_pads = false;  // an average's padding is part of its windows
  int64_t planes = 0;        // pieces of memory: batch times channels, or times blocks of channels
  int64_t width = 1;         // channels side by side at each place of a plane; 1: plain layout
  std::vector<Window> axes;  // with their pads resolved
  Shape input;               // spatial extents
  Shape output;
};

// Which input elements the window at one place of an axis has: begin, begin + step, … below end.
struct PoolingRange {
  int64_t begin = 0, end = 0;
  int64_t counted = 0;  // of an average
};

// Three axes, outermost first; missing ones have one place.
struct PoolingPlaces {
  int64_t extents[3] = {1, 1, 1};  // of the input
  int64_t steps[3] = {1, 1, 1};
  std::vector<PoolingRange> ranges[3];
};

// dx, which holds zeros, of a plane with `width` channels side by side.
void max_pool_gradient_columns(const PoolingPlaces& places, int64_t width, const float* g, const float* x,
                               float* dx) noexcept;

class PoolingGradient {
 public:
  static Result<PoolingGradient> create(const PoolingGradientDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  // dx of g, and of x for a maximum (the first of equal elements was taken, as ONNX has it). dx may be neither.
  void execute(const float* g, const float* x, float* dx) const noexcept;

 private:
  void plane_of_maximum(const float* g, const float* x, float* dx) const noexcept;
  void plane_of_average(const float* g, float* dx) const noexcept;

  int64_t planes_ = 0, width_ = 1, in_size_ = 1, out_size_ = 1;
  bool maximum_ = true;
  PoolingPlaces places_;
};

}  // namespace hone::kernels
