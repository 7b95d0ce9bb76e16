// Blocked, in-register f32 transposition.
#include "kernels/cpu/movement/transpose2d.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/movement/transpose2d.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// Blocks of 32 × 64: whole cache lines on both sides, and few enough lines for L1 even where strides collide.
void Transpose2d(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                 int64_t out_stride) {
  constexpr int64_t kRows = 32, kColumns = 64;
  for (int64_t j = 0; j < columns; j += kColumns) {
    for (int64_t i = 0; i < rows; i += kRows) {
      transpose_block(in + i * in_stride + j, in_stride, std::min(kRows, rows - i),
                      std::min(kColumns, columns - j), out + j * out_stride + i, out_stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
HWY_EXPORT(Transpose2d);

namespace internal {

void transpose_2d(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                  int64_t out_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(Transpose2d)(in, in_stride, rows, columns, out, out_stride);
}

}  // namespace internal
}  // namespace hone::kernels
#endif
