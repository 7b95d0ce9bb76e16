// Normalisation. Statistics are taken tile by tile, mean first and then squared distances while the tile is
// in the L1 cache, and merged by the parallel-variance formula (Chan, Golub, LeVeque 1979): one pass over
// memory without the cancellation of E[x²] - E[x]².
#include "kernels/cpu/normalization/normalization.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalization/normalization.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

struct Moments {
  double mean = 0;
  double squares = 0;  // sum of squared distances from the mean
};

// The sum over i of f(x[i]); f(0-padded lanes) are masked away.
template <typename F>
HWY_INLINE float sum_map(const float* x, int64_t n, const F& f) {
  VF s0 = hn::Zero(kF32), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = hn::Add(s0, f(hn::LoadU(kF32, x + i)));
    s1 = hn::Add(s1, f(hn::LoadU(kF32, x + i + kLanes)));
    s2 = hn::Add(s2, f(hn::LoadU(kF32, x + i + 2 * kLanes)));
    s3 = hn::Add(s3, f(hn::LoadU(kF32, x + i + 3 * kLanes)));
  }
  for (; i + kLanes <= n; i += kLanes) s0 = hn::Add(s0, f(hn::LoadU(kF32, x + i)));
  if (i < n) s1 = hn::Add(s1, first_lanes(f(load_first(x + i, n - i)), n - i, hn::Zero(kF32)));
  return sum_of(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

double sum_squares(const float* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += 2048) {
    total += static_cast<double>(
        sum_map(x + i, std::min<int64_t>(2048, n - i), [](VF v) HWY_ATTR { return hn::Mul(v, v); }));
  }
  return total;
}

// The moments of `before` elements and of `count` others together.
HWY_INLINE void merge_moments(Moments& all, double before, double mean, double squares, double count) {
  const double delta = mean - all.mean;
  all.mean += delta * count / (before + count);
  all.squares += squares + delta * delta * before * count / (before + count);
}

Moments moments(const float* x, int64_t n) {
  Moments all;
  for (int64_t i = 0; i < n; i += 2048) {
    const int64_t count = std::min<int64_t>(2048, n - i);
    const auto tile = static_cast<double>(count);
    const double mean = static_cast<double>(sum_map(x + i, count, [](VF v) HWY_ATTR { return v; })) / tile;
    const VF center = splat(static_cast<float>(mean));
    // The centre is rounded to f32: what that adds is taken off again.
    const double off = mean - static_cast<double>(static_cast<float>(mean));
    const double squares = static_cast<double>(sum_map(x + i, count,
                                                       [=](VF v) HWY_ATTR {
                                                         const VF d = hn::Sub(v, center);
                                                         return hn::Mul(d, d);
                                                       })) -
                           tile * off * off;
    merge_moments(all, static_cast<double>(i), mean, squares, tile);
  }
  return all;
}

// y = x·a + b with one a and b for the whole run.
HWY_INLINE void scale_shift(const float* x, float* y, int64_t n, float a, float b) {
  const VF va = splat(a), vb = splat(b);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::MulAdd(hn::LoadU(kF32, x + i), va, vb), kF32, y + i);
  if (i < n) store_first(hn::MulAdd(load_first(x + i, n - i), va, vb), y + i, n - i);
}

HWY_INLINE void add_row(const float* a, const float* b, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(kF32, a + i), hn::LoadU(kF32, b + i)), kF32, out + i);
  }
  if (i < n) store_first(hn::Add(load_first(a + i, n - i), load_first(b + i, n - i)), out + i, n - i);
}

// y = (x - mean)·inverse·scale + bias along a row.
HWY_INLINE void affine_row(const float* x, const float* scale, const float* bias, float* y, int64_t n,
                           float mean, float inverse) {
  const VF vm = splat(mean), vi = splat(inverse);
  int64_t i = 0;
  for (; i < n; i += kLanes) {
    const int64_t left = std::min(kLanes, n - i);
    const auto load = [&](const float* p) HWY_ATTR { return load_up_to(p + i, left); };
    VF v = hn::Mul(hn::Sub(load(x), vm), vi);
    if (scale != nullptr) v = hn::Mul(v, load(scale));
    if (bias != nullptr) v = hn::Add(v, load(bias));
    store_up_to(v, y + i, left);
  }
}

void LayerNormRows(const LayerNormDesc& desc, const LayerNormArguments& a, int64_t begin, int64_t end) {
  const int64_t n = desc.length;
  for (int64_t row = begin; row < end; ++row) {
    const float* x = a.x + row * n;
    float* y = a.y + row * n;
    if (a.residual != nullptr) {
      float* sum = a.sum != nullptr ? a.sum + row * n : y;
      add_row(x, a.residual + row * n, sum, n);
      x = sum;
    }
    const auto count = static_cast<double>(n);
    const Moments m = desc.rms ? Moments{0, sum_squares(x, n)} : moments(x, n);
    const double inverse = 1 / std::sqrt(m.squares / count + static_cast<double>(desc.epsilon));
    affine_row(x, a.scale, a.bias, y, n, static_cast<float>(m.mean), static_cast<float>(inverse));
    if (a.mean != nullptr) a.mean[row] = static_cast<float>(m.mean);
    if (a.inverse_deviation != nullptr) a.inverse_deviation[row] = static_cast<float>(inverse);
  }
}

void GroupNormGroup(const GroupNormDesc& desc, const float* x, const float* scale, const float* bias,
                    float* y, int64_t group) {
  const int64_t channels = desc.channels / desc.groups;
  const int64_t size = channels * desc.spatial;
  const Moments m = moments(x + group * size, size);
  const double inverse =
      1 / std::sqrt(m.squares / static_cast<double>(size) + static_cast<double>(desc.epsilon));
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t channel = group % desc.groups * channels + c;
    const double a = inverse * (scale != nullptr ? static_cast<double>(scale[channel]) : 1.0);
    const double b = (bias != nullptr ? static_cast<double>(bias[channel]) : 0.0) - m.mean * a;
    const int64_t offset = group * size + c * desc.spatial;
    scale_shift(x + offset, y + offset, desc.spatial, static_cast<float>(a), static_cast<float>(b));
  }
}

// y = (x - mean)·a + bias: the difference first, so that a large mean costs no digits.
HWY_INLINE void center_scale(const float* x, float* y, int64_t n, float mean, float a, float bias) {
  const VF vm = splat(mean), va = splat(a), vb = splat(bias);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(kF32, x + i), vm), va, vb), kF32, y + i);
  if (i < n) store_first(hn::MulAdd(hn::Sub(load_first(x + i, n - i), vm), va, vb), y + i, n - i);
}

// Planes [begin, end) of batch × channels.
void BatchNormPlanes(const BatchNormDesc& desc, const BatchNormArguments& arguments, int64_t begin,
                     int64_t end) {
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t channel = plane % desc.channels;
    const double deviation =
        std::sqrt(static_cast<double>(arguments.variance[channel]) + static_cast<double>(desc.epsilon));
    center_scale(arguments.x + plane * desc.spatial, arguments.y + plane * desc.spatial, desc.spatial,
                 arguments.mean[channel],
                 static_cast<float>(static_cast<double>(arguments.scale[channel]) / deviation),
                 arguments.bias[channel]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(LayerNormRows);
HWY_EXPORT(GroupNormGroup);
HWY_EXPORT(BatchNormPlanes);
constexpr int64_t kParallelNormElements = 16384;

}  // namespace

Result<LayerNorm> LayerNorm::create(LayerNormDesc desc) {
  if (desc.rows < 0 || desc.length < 0) return invalid("layer norm: negative extent");
  LayerNorm kernel;
  kernel.desc_ = desc;
  return kernel;
}

void LayerNorm::execute(const LayerNormArguments& arguments) const noexcept {
  if (desc_.length == 0) return;
  parallel_for(desc_.rows, kParallelNormElements / desc_.length + 1, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(LayerNormRows)(desc_, arguments, begin, end);
  });
}

Result<GroupNorm> GroupNorm::create(GroupNormDesc desc) {
  if (desc.batch < 0 || desc.channels < 0 || desc.spatial < 0) return invalid("group norm: negative extent");
  if (desc.groups <= 0 || desc.channels % desc.groups != 0) {
    return invalid(fmt::format("group norm: {} channels in {} groups", desc.channels, desc.groups));
  }
  GroupNorm kernel;
  kernel.desc_ = desc;
  return kernel;
}

void GroupNorm::execute(const float* x, const float* scale, const float* bias, float* y) const noexcept {
  const int64_t size = desc_.channels / desc_.groups * desc_.spatial;
  if (size == 0) return;
  parallel_for(desc_.batch * desc_.groups, kParallelNormElements / size + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t group = begin; group < end; ++group) {
                   HWY_DYNAMIC_DISPATCH(GroupNormGroup)(desc_, x, scale, bias, y, group);
                 }
               });
}

Result<BatchNorm> BatchNorm::create(BatchNormDesc desc) {
  if (desc.batch < 0 || desc.channels < 0 || desc.spatial < 0) return invalid("batch norm: negative extent");
  BatchNorm kernel;
  kernel.desc_ = desc;
  return kernel;
}

void BatchNorm::execute(const BatchNormArguments& arguments) const noexcept {
  if (desc_.spatial == 0) return;
  parallel_for(desc_.batch * desc_.channels, kParallelNormElements / desc_.spatial + 1,
               [&](int64_t begin, int64_t end, int) {
                 HWY_DYNAMIC_DISPATCH(BatchNormPlanes)(desc_, arguments, begin, end);
               });
}

}  // namespace hone::kernels
#endif
