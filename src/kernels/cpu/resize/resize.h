// Resizing of f32 images (kernels/resize/resize_desc.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"
#include "kernels/resize/resize_desc.h"

namespace hone::kernels {

class Resize {
 public:
  static Result<Resize> create(const ResizeDesc& desc);
  std::size_t scratch_bytes() const { return row_bytes_ * static_cast<std::size_t>(threads_); }
  // Channel padding of a blocked layout is carried along.
  void execute(const float* in, float* out, void* scratch) const noexcept;

 private:
  std::vector<ResizeTable> tables_;
  Shape in_spatial_, out_spatial_;
  int64_t images_ = 0, inner_ = 1;  // inner: floats at one position
  bool linear_ = false;
  std::size_t row_bytes_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels
