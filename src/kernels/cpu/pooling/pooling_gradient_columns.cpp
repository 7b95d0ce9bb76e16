// The gradient of maximum pooling where channels lie side by side: a vector of them at a time.
#include <algorithm>

#include "kernels/cpu/pooling/pooling_gradient.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/pooling_gradient_columns.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// Calls f(offset of a tap in the plane, number of the tap) for the window at one place.
template <typename F>
HWY_INLINE void each_tap(const PoolingPlaces& p, const PoolingRange& depth, const PoolingRange& rows,
                         const PoolingRange& columns, int64_t width, const F& f) {
  int32_t tap = 0;
  for (int64_t z = depth.begin; z < depth.end; z += p.steps[0])
    for (int64_t y = rows.begin; y < rows.end; y += p.steps[1])
      for (int64_t x = columns.begin; x < columns.end; x += p.steps[2])
        f(((z * p.extents[1] + y) * p.extents[2] + x) * width, tap++);
}

void MaxPoolColumns(const PoolingPlaces& p, int64_t width, const float* g, const float* x, float* dx) {
  for (const PoolingRange& depth : p.ranges[0])
    for (const PoolingRange& rows : p.ranges[1])
      for (const PoolingRange& columns : p.ranges[2]) {
        for (int64_t c = 0; c < width; c += kLanes) {
          const int64_t left = std::min(kLanes, width - c);
          VF best = hn::Zero(kF32);
          VI best_tap = hn::Set(kI32, -1);
          each_tap(p, depth, rows, columns, width, [&](int64_t at, int32_t tap) HWY_ATTR {
            const VF v = load_up_to(x + at + c, left);
            const VI number = hn::Set(kI32, tap);
            // The first is taken whatever it is, as where it is NaN.
            const auto larger = hn::Gt(v, best);
            best = tap == 0 ? v : hn::IfThenElse(larger, v, best);
            best_tap = tap == 0 ? number : hn::IfThenElse(hn::RebindMask(kI32, larger), number, best_tap);
          });
          const VF flow = load_up_to(g + c, left);
          each_tap(p, depth, rows, columns, width, [&](int64_t at, int32_t tap) HWY_ATTR {
            const auto taken = hn::RebindMask(kF32, hn::Eq(best_tap, hn::Set(kI32, tap)));
            float* to = dx + at + c;
            store_up_to(hn::Add(load_up_to(to, left), hn::IfThenElseZero(taken, flow)), to, left);
          });
        }
        g += width;
      }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {
HWY_EXPORT(MaxPoolColumns);
}  // namespace

void max_pool_gradient_columns(const PoolingPlaces& places, int64_t width, const float* g, const float* x,
                               float* dx) noexcept {
  HWY_DYNAMIC_DISPATCH(MaxPoolColumns)(places, width, g, x, dx);
}

}  // namespace hone::kernels
#endif
