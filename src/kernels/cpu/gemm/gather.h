// Gathers what lies under a convolution's window: rows of a matrix, in blocks of 16 channels of one tap.
#pragma once

#include <cstdint>

namespace hone::kernels::gemm {

// The geometry of one blocked16 image.
struct GatherShape {
  int64_t in_blocks = 0;  // of 16 channels
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t kernel_columns = 1;
  int64_t row_stride = 1, column_stride = 1;
  int64_t row_dilation = 1, column_dilation = 1;
  int64_t top = 0, left = 0;  // padding
};

// Unit u is block u % in_blocks under tap u / in_blocks. Its 16 channels for output pixels
// [pixel, pixel + pixels) go to to[0], to[16], …; zeros for what lies outside the image.
void gather_unit(const GatherShape& shape, const float* image, int64_t unit, int64_t pixel, int64_t pixels,
                 float* to) noexcept;

}  // namespace hone::kernels::gemm
