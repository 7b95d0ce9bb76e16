// BatchNorm in training and its gradient: sums by tiles, what they say of each channel, the result. Within a tile the mean is
// taken first and distances from it while the tile is in the L1 cache, without the cancellation of E[x²] - E[x]².
#include "kernels/cpu/normalization/batch_norm_training.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalization/batch_norm_training.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE VF passed(VF g, const float* y, int64_t left) {
  return y == nullptr ? g : hn::IfThenElseZero(hn::Gt(load_up_to(y, left), hn::Zero(kF32)), g);
}

// Sums of `left` neighbouring channels over `rows` rows that lie `stride` apart. g: null where only x is looked at.
HWY_INLINE void column_sums(const float* x, const float* g, const float* y, int64_t rows, int64_t stride,
                            int64_t left, float* sums, int64_t width) {
  VF s0 = hn::Zero(kF32), s1 = s0;
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    s0 = hn::Add(s0, load_up_to(x + r * stride, left));
    s1 = hn::Add(s1, load_up_to(x + (r + 1) * stride, left));
  }
  if (r < rows) s0 = hn::Add(s0, load_up_to(x + r * stride, left));
  const VF mean = hn::Mul(hn::Add(s0, s1), splat(1.0F / static_cast<float>(rows)));
  VF squares = hn::Zero(kF32), sum_g = squares, sum_gx = squares, squares1 = squares;
  if (g == nullptr) {
    for (r = 0; r + 2 <= rows; r += 2) {
      const VF d0 = hn::Sub(load_up_to(x + r * stride, left), mean);
      const VF d1 = hn::Sub(load_up_to(x + (r + 1) * stride, left), mean);
      squares = hn::MulAdd(d0, d0, squares);
      squares1 = hn::MulAdd(d1, d1, squares1);
    }
    for (; r < rows; ++r) {
      const VF d = hn::Sub(load_up_to(x + r * stride, left), mean);
      squares = hn::MulAdd(d, d, squares);
    }
  } else {
    for (r = 0; r < rows; ++r) {
      const int64_t at = r * stride;
      const VF d = hn::Sub(load_up_to(x + at, left), mean);
      const VF flow = passed(load_up_to(g + at, left), y == nullptr ? nullptr : y + at, left);
      squares = hn::MulAdd(d, d, squares);
      sum_g = hn::Add(sum_g, flow);
      sum_gx = hn::MulAdd(flow, d, sum_gx);
    }
  }
  store_up_to(mean, sums, left);
  store_up_to(hn::Add(squares, squares1), sums + width, left);
  store_up_to(sum_g, sums + 2 * width, left);
  store_up_to(sum_gx, sums + 3 * width, left);
}

// The same of one channel whose elements lie together.
HWY_INLINE void run_sums(const float* x, const float* g, const float* y, int64_t n, float* sums) {
  VF s0 = hn::Zero(kF32), s1 = s0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    s0 = hn::Add(s0, hn::LoadU(kF32, x + i));
    s1 = hn::Add(s1, hn::LoadU(kF32, x + i + kLanes));
  }
  for (; i < n; i += kLanes) s0 = hn::Add(s0, load_up_to(x + i, std::min(kLanes, n - i)));
  const float mean = sum_of(hn::Add(s0, s1)) / static_cast<float>(n);
  const VF center = splat(mean);
  VF squares = hn::Zero(kF32), sum_g = squares, sum_gx = squares;
  for (i = 0; i < n; i += kLanes) {
    const int64_t left = std::min(kLanes, n - i);
    VF d = hn::Sub(load_up_to(x + i, left), center);
    if (left < kLanes) d = first_lanes(d, left, hn::Zero(kF32));
    squares = hn::MulAdd(d, d, squares);
    if (g == nullptr) continue;
    const VF flow = passed(load_up_to(g + i, left), y == nullptr ? nullptr : y + i, left);
    sum_g = hn::Add(sum_g, flow);
    sum_gx = hn::MulAdd(flow, d, sum_gx);
  }
  sums[0] = mean;
  sums[1] = sum_of(squares);
  sums[2] = sum_of(sum_g);
  sums[3] = sum_of(sum_gx);
}

// Tiles [begin, end) of all planes.
void BatchNormSums(const BatchNormTiles& t, const float* x, const float* g, const float* y, float* sums,
                   int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit % t.tiles * t.tile;
    const int64_t rows = std::min(t.tile, t.rows - first);
    const int64_t at = (unit / t.tiles * t.rows + first) * t.width;
    float* to = sums + unit * kBatchNormTileSums * t.width;
    const auto from = [&](const float* p, int64_t c) { return p == nullptr ? nullptr : p + at + c; };
    if (t.width == 1) {
      run_sums(x + at, from(g, 0), from(y, 0), rows, to);
      continue;
    }
    for (int64_t c = 0; c < t.width; c += kLanes)
      column_sums(x + at + c, from(g, c), from(y, c), rows, t.width, std::min(kLanes, t.width - c), to + c,
                  t.width);
  }
}

void BatchNormResult(const BatchNormTiles& t, const BatchNormFactors& f, const float* x, const float* g,
                     const float* y, float* result, int64_t begin, int64_t end) {
  const auto step = [&](int64_t at, int64_t left, VF mean, VF slope, VF gain, VF shift) HWY_ATTR {
    VF v = hn::MulAdd(hn::Sub(load_up_to(x + at, left), mean), slope, shift);
    if (g != nullptr)
      v = hn::MulAdd(passed(load_up_to(g + at, left), y == nullptr ? nullptr : y + at, left), gain, v);
    store_up_to(v, result + at, left);
  };
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t plane = unit / t.tiles, first = unit % t.tiles * t.tile;
    const int64_t rows = std::min(t.tile, t.rows - first);
    const int64_t at = (plane * t.rows + first) * t.width;
    const int64_t channel = plane % t.groups * t.width;
    if (t.width == 1) {
      const VF mean = splat(f.mean[channel]), slope = splat(f.slope[channel]),
               shift = splat(f.shift[channel]);
      const VF gain = splat(f.gain == nullptr ? 0.0F : f.gain[channel]);
      for (int64_t i = 0; i < rows; i += kLanes)
        step(at + i, std::min(kLanes, rows - i), mean, slope, gain, shift);
      continue;
    }
    for (int64_t c = 0; c < t.width; c += kLanes) {
      const int64_t left = std::min(kLanes, t.width - c);
      const VF mean = load_up_to(f.mean + channel + c, left), slope = load_up_to(f.slope + channel + c, left);
      const VF shift = load_up_to(f.shift + channel + c, left);
      const VF gain = f.gain == nullptr ? mean : load_up_to(f.gain + channel + c, left);
      for (int64_t r = 0; r < rows; ++r) step(at + r * t.width + c, left, mean, slope, gain, shift);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(BatchNormSums);
HWY_EXPORT(BatchNormResult);

constexpr int64_t kTileElements = 4096;  // 16 KiB each of x, g and y: they are read twice from the L1 cache
constexpr int64_t kGrainElements = 16384;

BatchNormTiles tiles_of(const TrainingBatchNormDesc& desc) {
  BatchNormTiles t;
  const int64_t block = channel_block(desc.layout);
  const int64_t blocks = (desc.channels + block - 1) / block;
  if (desc.layout == Layout::kChannelsLast)
    t = {.planes = 1, .groups = 1, .rows = desc.batch * desc.spatial, .width = desc.channels};
  else  // plain: blocks of one
    t = {.planes = desc.batch * blocks, .groups = blocks, .rows = desc.spatial, .width = block};
  t.tile =
      std::clamp<int64_t>(kTileElements / std::max<int64_t>(t.width, 1), 1, std::max<int64_t>(t.rows, 1));
  t.tiles = (t.rows + t.tile - 1) / t.tile;
  return t;
}

int64_t unit_grain(const BatchNormTiles& t) {
  return kGrainElements / std::max<int64_t>(t.tile * t.width, 1) + 1;
}

// What a channel's tiles say together. Distances are of the channel's mean now.
struct ChannelSums {
  double mean = 0, squares = 0, g = 0, gx = 0;
};

ChannelSums channel_sums(const BatchNormTiles& t, const float* sums, int64_t channel) {
  const int64_t group = channel / t.width;
  const float* first = sums + channel % t.width;
  ChannelSums all;
  // Calls f(the tile's sums, its rows).
  const auto each = [&](const auto& f) {
    for (int64_t plane = group; plane < t.planes; plane += t.groups)
      for (int64_t tile = 0; tile < t.tiles; ++tile)
        f(first + (plane * t.tiles + tile) * kBatchNormTileSums * t.width,
          static_cast<double>(std::min(t.tile, t.rows - tile * t.tile)));
  };
  const auto count = static_cast<double>(t.planes / t.groups * t.rows);
  each([&](const float* s, double rows) { all.mean += rows * static_cast<double>(s[0]); });
  all.mean /= count;
  each([&](const float* s, double rows) {
    const double off = static_cast<double>(s[0]) - all.mean;
    const auto g = static_cast<double>(s[2 * t.width]);
    all.squares += static_cast<double>(s[t.width]) + rows * off * off;
    all.g += g;
    all.gx += static_cast<double>(s[3 * t.width]) + off * g;
  });
  return all;
}

// The scratch memory: the tiles' sums, then arrays of one number a channel.
constexpr int64_t kChannelArrays = 4;

std::size_t scratch_bytes_of(const BatchNormTiles& t) {
  const int64_t numbers = t.units() * kBatchNormTileSums * t.width + kChannelArrays * t.channels();
  return static_cast<std::size_t>(numbers) * sizeof(float);
}

struct BatchNormScratch {
  float *sums, *mean, *slope, *gain, *shift;

  BatchNormScratch(const BatchNormTiles& t, void* scratch) {
    sums = static_cast<float*>(scratch);
    mean = sums + t.units() * kBatchNormTileSums * t.width;
    slope = mean + t.channels();
    gain = slope + t.channels();
    shift = gain + t.channels();
  }
};

void take_sums(const BatchNormTiles& t, const float* x, const float* g, const float* y, float* sums) {
  parallel_for(t.units(), unit_grain(t), [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(BatchNormSums)(t, x, g, y, sums, begin, end);
  });
}

// Calls f(channel) for all channels, padding included.
template <typename F>
void each_channel(const BatchNormTiles& t, const F& f) {
  const int64_t tiles = t.units() / std::max<int64_t>(t.groups, 1);
  parallel_for(t.channels(), kGrainElements / 4 / std::max<int64_t>(tiles, 1) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t channel = begin; channel < end; ++channel) f(channel);
               });
}

void put_result(const BatchNormTiles& t, const BatchNormFactors& factors, const float* x, const float* g,
                const float* y, float* result) {
  parallel_for(t.units(), unit_grain(t), [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(BatchNormResult)(t, factors, x, g, y, result, begin, end);
  });
}

Status check_batch_norm(const TrainingBatchNormDesc& desc) {
  if (desc.batch < 1 || desc.channels < 0 || desc.spatial < 1)
    return invalid("batch norm: no elements to take statistics of");
  return {};
}

}  // namespace

Result<TrainingBatchNorm> TrainingBatchNorm::create(const TrainingBatchNormDesc& desc) {
  HONE_CHECK(check_batch_norm(desc));
  TrainingBatchNorm kernel;
  kernel.desc_ = desc;
  kernel.tiles_ = tiles_of(desc);
  return kernel;
}

std::size_t TrainingBatchNorm::scratch_bytes() const { return scratch_bytes_of(tiles_); }

void TrainingBatchNorm::execute(const TrainingBatchNormArguments& a, void* scratch) const noexcept {
  const BatchNormScratch s(tiles_, scratch);
  take_sums(tiles_, a.x, nullptr, nullptr, s.sums);
  const auto count = static_cast<double>(desc_.batch * desc_.spatial);
  const auto part = static_cast<double>(desc_.momentum);
  const auto running = [&](float old, double own) {
    return static_cast<float>(part * static_cast<double>(old) + (1 - part) * own);
  };
  each_channel(tiles_, [&](int64_t c) {
    const bool real = c < desc_.channels;
    const ChannelSums sums = channel_sums(tiles_, s.sums, c);
    const double variance = sums.squares / count;
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(desc_.epsilon));
    s.mean[c] = static_cast<float>(sums.mean);
    s.slope[c] = real ? static_cast<float>(inverse * static_cast<double>(a.scale[c])) : 0;
    s.shift[c] = real ? a.bias[c] : 0;
    if (real && a.mean != nullptr) a.mean[c] = running(a.old_mean[c], sums.mean);
    if (real && a.variance != nullptr) a.variance[c] = running(a.old_variance[c], variance);
  });
  put_result(tiles_, {s.mean, s.slope, nullptr, s.shift}, a.x, nullptr, nullptr, a.y);
}

Result<BatchNormGradient> BatchNormGradient::create(const TrainingBatchNormDesc& desc) {
  HONE_CHECK(check_batch_norm(desc));
  BatchNormGradient kernel;
  kernel.desc_ = desc;
  kernel.tiles_ = tiles_of(desc);
  return kernel;
}

std::size_t BatchNormGradient::scratch_bytes() const { return scratch_bytes_of(tiles_); }

// With x̂ = (x - mean) · i: dx = scale · i · (g - mean(g) - x̂ · mean(g · x̂)).
void BatchNormGradient::execute(const BatchNormGradientArguments& a, void* scratch) const noexcept {
  const BatchNormScratch s(tiles_, scratch);
  take_sums(tiles_, a.x, a.g, a.y, s.sums);
  const auto count = static_cast<double>(desc_.batch * desc_.spatial);
  each_channel(tiles_, [&](int64_t c) {
    const bool real = c < desc_.channels;
    const ChannelSums sums = channel_sums(tiles_, s.sums, c);
    const double inverse = 1 / std::sqrt(sums.squares / count + static_cast<double>(desc_.epsilon));
    const double gain = real ? inverse * static_cast<double>(a.scale[c]) : 0;
    s.mean[c] = static_cast<float>(sums.mean);
    s.slope[c] = static_cast<float>(-gain * inverse * inverse * sums.gx / count);
    s.gain[c] = static_cast<float>(gain);
    s.shift[c] = static_cast<float>(-gain * sums.g / count);
    if (!real) return;
    a.dscale[c] = static_cast<float>(inverse * sums.gx);
    a.dbias[c] = static_cast<float>(sums.g);
  });
  put_result(tiles_, {s.mean, s.slope, s.gain, s.shift}, a.x, a.g, a.y, a.dx);
}

}  // namespace hone::kernels
#endif
