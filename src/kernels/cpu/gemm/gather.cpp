#include "kernels/cpu/gemm/gather.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/gather.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::gemm {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;

HWY_INLINE void copy_pixel(const float* from, float* to) {
  for (int64_t lane = 0; lane < kBlock; lane += kLanes)
    hn::StoreU(hn::LoadU(kF32, from + lane), kF32, to + lane);
}

HWY_INLINE float* zero_pixels(float* to, int64_t pixels) {
  std::fill_n(to, pixels * kBlock, 0.0F);
  return to + pixels * kBlock;
}

// The first output column whose input column is not left of `column`.
HWY_INLINE int64_t first_reaching(const GatherShape& shape, int64_t offset, int64_t column) {
  const int64_t distance = column - offset;
  return distance <= 0 ? 0 : (distance + shape.column_stride - 1) / shape.column_stride;
}

void GatherUnit(const GatherShape& shape, const float* image, int64_t unit, int64_t pixel, int64_t pixels,
                float* to) {
  const int64_t tap = unit / shape.in_blocks;
  const int64_t down = tap / shape.kernel_columns * shape.row_dilation - shape.top;
  const int64_t right = tap % shape.kernel_columns * shape.column_dilation - shape.left;
  const float* plane = image + unit % shape.in_blocks * shape.in_rows * shape.in_columns * kBlock;
  // Output columns whose input lies inside the image.
  const int64_t inside = first_reaching(shape, right, 0);
  const int64_t outside = first_reaching(shape, right, shape.in_columns);
  for (int64_t row = pixel / shape.out_columns; pixels > 0; ++row) {
    const int64_t begin = pixel - row * shape.out_columns;
    const int64_t end = std::min(shape.out_columns, begin + pixels);
    pixel += end - begin;
    pixels -= end - begin;
    const int64_t y = row * shape.row_stride + down;
    if (y < 0 || y >= shape.in_rows) {
      to = zero_pixels(to, end - begin);
      continue;
    }
    const int64_t first = std::clamp(inside, begin, end);
    const int64_t last = std::clamp(outside, first, end);
    to = zero_pixels(to, first - begin);
    const float* from = plane + (y * shape.in_columns + first * shape.column_stride + right) * kBlock;
    for (int64_t x = first; x < last; ++x, from += shape.column_stride * kBlock, to += kBlock)
      copy_pixel(from, to);
    to = zero_pixels(to, end - last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::gemm {
namespace {

HWY_EXPORT(GatherUnit);

}  // namespace

void gather_unit(const GatherShape& shape, const float* image, int64_t unit, int64_t pixel, int64_t pixels,
                 float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(GatherUnit)(shape, image, unit, pixel, pixels, to);
}

}  // namespace hone::kernels::gemm
#endif
