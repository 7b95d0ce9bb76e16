// NaN is looked for in every run and found in almost none: as fast as memory gives the numbers.
#include "kernels/cpu/dnnl/pooling_nans.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dnnl/pooling_nans.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

bool HoldsNan(const float* values, int64_t count) {
  auto any = hn::IsNaN(hn::Zero(kF32));
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    const auto a =
        hn::Or(hn::IsNaN(hn::LoadU(kF32, values + i)), hn::IsNaN(hn::LoadU(kF32, values + i + kLanes)));
    const auto b = hn::Or(hn::IsNaN(hn::LoadU(kF32, values + i + 2 * kLanes)),
                          hn::IsNaN(hn::LoadU(kF32, values + i + 3 * kLanes)));
    any = hn::Or(any, hn::Or(a, b));
  }
  for (; i < count; i += kLanes)
    any = hn::Or(any, hn::IsNaN(load_up_to(values + i, std::min(kLanes, count - i))));
  return !hn::AllFalse(kF32, any);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(HoldsNan);

bool holds_nan(const float* values, int64_t count) noexcept {
  std::atomic<bool> found = false;
  parallel_for(count, 32'768, [&](int64_t begin, int64_t end, int) {
    if (HWY_DYNAMIC_DISPATCH(HoldsNan)(values + begin, end - begin)) found = true;
  });
  return found;
}

// One of three spatial axes; those that a tensor lacks are of extent 1.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

std::array<Axis, 3> axes_of(const PoolingDesc& desc) {
  std::array<Axis, 3> axes;
  const Shape output = desc.output();
  const std::size_t rank = desc.input.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const auto given = [i](const Shape& shape, int64_t otherwise) {
      return shape.empty() ? otherwise : shape[i];
    };
    axes[3 - rank + i] = {desc.input[i],
                          output[i],
                          desc.kernel[i],
                          given(desc.strides, 1),
                          given(desc.dilations, 1),
                          given(desc.pads_begin, 0)};
  }
  return axes;
}

// Calls f(position in the input) for each tap of the window at `place` that lies in the image.
template <typename F>
void for_each_tap(const std::array<Axis, 3>& axes, const std::array<int64_t, 3>& place, const F& f) {
  const auto at = [&](std::size_t axis, int64_t tap) {
    return place[axis] * axes[axis].stride + tap * axes[axis].dilation - axes[axis].pad;
  };
  const auto inside = [&](std::size_t axis, int64_t x) { return x >= 0 && x < axes[axis].in; };
  for (int64_t k0 = 0; k0 < axes[0].kernel; ++k0) {
    if (!inside(0, at(0, k0))) continue;
    for (int64_t k1 = 0; k1 < axes[1].kernel; ++k1) {
      if (!inside(1, at(1, k1))) continue;
      for (int64_t k2 = 0; k2 < axes[2].kernel; ++k2)
        if (inside(2, at(2, k2))) f((at(0, k0) * axes[1].in + at(1, k1)) * axes[2].in + at(2, k2));
    }
  }
}

}  // namespace

void give_nans(const PoolingDesc& desc, const float* src, float* dst) noexcept {
  const int64_t elements = storage_elements(desc.src_shape(), desc.layout);
  if (!holds_nan(src, elements)) return;
  const std::array<Axis, 3> axes = axes_of(desc);
  const int64_t in = axes[0].in * axes[1].in * axes[2].in, out = axes[0].out * axes[1].out * axes[2].out;
  const int64_t lanes = desc.layout == Layout::kChannelsLast ? desc.channels : channel_block(desc.layout);
  parallel_for(elements / (in * lanes) * out, 256, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i % out;
      const std::array<int64_t, 3> place = {p / (axes[1].out * axes[2].out), p / axes[2].out % axes[1].out,
                                            p % axes[2].out};
      const float* const plane = src + i / out * in * lanes;
      for_each_tap(axes, place, [&](int64_t position) {
        for (int64_t lane = 0; lane < lanes; ++lane)
          if (std::isnan(plane[position * lanes + lane]))
            dst[i * lanes + lane] = std::numeric_limits<float>::quiet_NaN();
      });
    }
  });
}

}  // namespace hone::kernels
#endif
