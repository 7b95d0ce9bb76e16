// One vector is 16 (AVX-512), 8 (AVX2) or 1 channels of a pixel; two-dimensional transforms nest the
// one-dimensional ones below, which follow from Toom-Cook's interpolation at the points 0, ±p, ±q and
// infinity. F(2,3) has p = 1 alone. For F(4,3), p = 5/8 and q = 3/2 give half the error of the usual 1 and 2
// (relative L2 1.2e-6 against 2.6e-6 over 256 channels), and all their products are exact in f32.
#include "kernels/cpu/winograd/transform.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/winograd/transform.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

#ifndef HONE_KERNELS_CPU_WINOGRAD_POINTS
#define HONE_KERNELS_CPU_WINOGRAD_POINTS
namespace hone::kernels::winograd {
inline constexpr float kP = 0.625F;
inline constexpr float kQ = 1.5F;
inline constexpr int64_t kPixel = 16;  // floats from a pixel to the next

// Rows of the weights' transform: the window as a polynomial at each point, over the product of the point's
// distances to the others; infinity takes the highest coefficient.
using Row = std::array<double, 3>;

constexpr Row at_point(double x, double distances) {
  return {1 / distances, x / distances, x * x / distances};
}

inline constexpr double kAtP = 2.0 * kP * kP * (kP * kP - kQ * kQ);
inline constexpr double kAtQ = 2.0 * kQ * kQ * (kQ * kQ - kP * kP);
inline constexpr Row kAtInfinity = {0, 0, 1};
inline constexpr std::array<Row, 4> kSmallRows = {at_point(0, 1), at_point(1, 2), at_point(-1, 2),
                                                  kAtInfinity};
inline constexpr std::array<Row, 6> kLargeRows = {at_point(0, kP* kP* kQ* kQ), at_point(kP, kAtP),
                                                  at_point(-kP, kAtP),         at_point(kQ, kAtQ),
                                                  at_point(-kQ, kAtQ),         kAtInfinity};
}  // namespace hone::kernels::winograd
#endif

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::winograd {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;

// What lies outside the image.
alignas(64) constexpr float kZeros[kPixel] = {};

// Six values become the six points of F(4,3).
HWY_INLINE void data_line(const VF (&d)[6], VF (&t)[6]) {
  constexpr float kP2 = kP * kP, kQ2 = kQ * kQ;
  const VF p = splat(kP), q = splat(kQ), p2 = splat(kP2), q2 = splat(kQ2);
  const VF both = splat(kP2 * kQ2), sum = splat(kP2 + kQ2);
  t[0] = hn::MulAdd(both, d[0], hn::NegMulAdd(sum, d[2], d[4]));
  const VF even_p = hn::NegMulAdd(q2, d[2], d[4]);
  const VF odd_p = hn::NegMulAdd(q2, d[1], d[3]);
  t[1] = hn::MulAdd(p, odd_p, even_p);
  t[2] = hn::NegMulAdd(p, odd_p, even_p);
  const VF even_q = hn::NegMulAdd(p2, d[2], d[4]);
  const VF odd_q = hn::NegMulAdd(p2, d[1], d[3]);
  t[3] = hn::MulAdd(q, odd_q, even_q);
  t[4] = hn::NegMulAdd(q, odd_q, even_q);
  t[5] = hn::MulAdd(both, d[1], hn::NegMulAdd(sum, d[3], d[5]));
}

// Four values become the four points of F(2,3).
HWY_INLINE void data_line(const VF (&d)[4], VF (&t)[4]) {
  t[0] = hn::Sub(d[0], d[2]);
  t[1] = hn::Add(d[2], d[1]);
  t[2] = hn::Sub(d[2], d[1]);
  t[3] = hn::Sub(d[3], d[1]);
}

// Six points become four results.
HWY_INLINE void result_line(const VF (&m)[6], VF (&y)[4]) {
  const VF sum_p = hn::Add(m[1], m[2]), difference_p = hn::Sub(m[1], m[2]);
  const VF sum_q = hn::Add(m[3], m[4]), difference_q = hn::Sub(m[3], m[4]);
  y[0] = hn::Add(m[0], hn::Add(sum_p, sum_q));
  y[1] = hn::MulAdd(splat(kP), difference_p, hn::Mul(splat(kQ), difference_q));
  y[2] = hn::MulAdd(splat(kP * kP), sum_p, hn::Mul(splat(kQ * kQ), sum_q));
  y[3] = hn::MulAdd(splat(kP * kP * kP), difference_p, hn::MulAdd(splat(kQ * kQ * kQ), difference_q, m[5]));
}

// Four points become two results.
HWY_INLINE void result_line(const VF (&m)[4], VF (&y)[2]) {
  y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
  y[1] = hn::Add(hn::Sub(m[1], m[2]), m[3]);
}

// A tile's place in its image.
struct Place {
  int64_t image = 0, row = 0, column = 0;  // of tiles

  Place(const Tiling& tiling, int64_t tile)
      : image(tile / (tiling.tile_rows * tiling.tile_columns)),
        row(tile / tiling.tile_columns % tiling.tile_rows),
        column(tile % tiling.tile_columns) {}

  void advance(const Tiling& tiling) {
    if (++column < tiling.tile_columns) return;
    column = 0;
    if (++row < tiling.tile_rows) return;
    row = 0;
    ++image;
  }
};

// A tile's inputs at `at` to its points. The loops over lines stay loops, with the lines on the stack between
// them: unrolled, addresses would not fit the registers.
template <int kTile>
HWY_INLINE void data_tile(const float* at, int64_t row_stride, float* to, int64_t point_stride) {
  constexpr int kSpan = kTile + 2;
  HWY_ALIGN float lines[kSpan * kSpan * kLanes];
#pragma GCC unroll 1
  for (int64_t j = 0; j < kSpan; ++j) {
    VF d[kSpan], t[kSpan];
#pragma GCC unroll 6
    for (int i = 0; i < kSpan; ++i) d[i] = hn::LoadU(kF32, at + i * row_stride + j * kPixel);
    data_line(d, t);
#pragma GCC unroll 6
    for (int i = 0; i < kSpan; ++i) hn::Store(t[i], kF32, lines + (i * kSpan + j) * kLanes);
  }
#pragma GCC unroll 1
  for (int64_t i = 0; i < kSpan; ++i, to += kSpan * point_stride) {
    VF d[kSpan], t[kSpan];
#pragma GCC unroll 6
    for (int j = 0; j < kSpan; ++j) d[j] = hn::Load(kF32, lines + (i * kSpan + j) * kLanes);
    data_line(d, t);
#pragma GCC unroll 6
    for (int j = 0; j < kSpan; ++j) hn::StoreU(t[j], kF32, to + j * point_stride);
  }
}

// Asks for what the tile after the next reads beyond the next one: large images come from memory, in lines
// too short for the processor to see them coming (measured: a third of the transform's time at 256 x 256).
template <int kTile>
HWY_INLINE void prefetch_ahead(const float* at, int64_t row_stride) {
  constexpr int kSpan = kTile + 2;
#pragma GCC unroll 6
  for (int i = 0; i < kSpan; ++i, at += row_stride) {
#pragma GCC unroll 4
    for (int j = 0; j < kTile; ++j) hwy::Prefetch(at + (kTile + kSpan + j) * kPixel);
  }
}

// The square of inputs from (y, x) on, part of which lies outside the plane, with zeros there.
template <int kSpan>
void copy_padded(const Tiling& tiling, const float* plane, int64_t y, int64_t x, float* square) {
  for (int64_t i = 0; i < kSpan; ++i) {
    for (int64_t j = 0; j < kSpan; ++j, square += kPixel) {
      const bool inside = y + i >= 0 && y + i < tiling.in_rows && x + j >= 0 && x + j < tiling.in_columns;
      const float* from = inside ? plane + ((y + i) * tiling.in_columns + x + j) * kPixel : kZeros;
      for (int64_t lane = 0; lane < kPixel; lane += kLanes)
        hn::StoreU(hn::LoadU(kF32, from + lane), kF32, square + lane);
    }
  }
}

template <int kTile>
void data_tiles(const Tiling& tiling, Range tiles, Range blocks, const float* src, const Points& data) {
  constexpr int64_t kSpan = kTile + 2;
  const int64_t plane_size = tiling.in_rows * tiling.in_columns * kPixel;
  HWY_ALIGN float square[kSpan * kSpan * kPixel];
  for (int64_t b = 0; b < blocks.count; ++b) {
    Place place(tiling, tiles.first);
    for (int64_t t = 0; t < tiles.count; ++t, place.advance(tiling)) {
      const float* plane = src + (place.image * tiling.in_blocks + blocks.first + b) * plane_size;
      const int64_t y = place.row * kTile - tiling.top;
      const int64_t x = place.column * kTile - tiling.left;
      const bool inside = y >= 0 && x >= 0 && y + kSpan <= tiling.in_rows && x + kSpan <= tiling.in_columns;
      const float* from = plane + (y * tiling.in_columns + x) * kPixel;
      int64_t row_stride = tiling.in_columns * kPixel;
      if (inside) {
        prefetch_ahead<kTile>(from, row_stride);
      } else {
        copy_padded<kSpan>(tiling, plane, y, x, square);
        from = square;
        row_stride = kSpan * kPixel;
      }
      float* to = data.values + b * data.block_stride + t * kPixel;
      for (int64_t lane = 0; lane < kPixel; lane += kLanes)
        data_tile<kTile>(from + lane, row_stride, to + lane, data.point_stride);
    }
  }
}

// The tile whose first result is at `at` in dst; `rows` x `columns` of it lie in the image.
template <int kTile>
HWY_INLINE void result_tile(const float* points, int64_t point_stride, const Finish& finish, int64_t channel,
                            int64_t at, int64_t row_stride, int64_t rows, int64_t columns, float* dst) {
  constexpr int kSpan = kTile + 2;
  HWY_ALIGN float lines[kTile * kSpan * kLanes];
#pragma GCC unroll 1
  for (int64_t j = 0; j < kSpan; ++j, points += point_stride) {
    VF m[kSpan], y[kTile];
#pragma GCC unroll 6
    for (int i = 0; i < kSpan; ++i) m[i] = hn::LoadU(kF32, points + i * kSpan * point_stride);
    result_line(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) hn::Store(y[i], kF32, lines + (i * kSpan + j) * kLanes);
  }
  const VF bias = hn::LoadU(kF32, finish.bias + channel);
  const VF low = splat(finish.low), high = splat(finish.high);
  for (int64_t i = 0; i < std::min<int64_t>(rows, kTile); ++i, at += row_stride) {
    VF m[kSpan], y[kTile];
#pragma GCC unroll 6
    for (int j = 0; j < kSpan; ++j) m[j] = hn::Load(kF32, lines + (i * kSpan + j) * kLanes);
    result_line(m, y);
#pragma GCC unroll 4
    for (int j = 0; j < kTile; ++j) {
      if (j < columns) {
        VF value = hn::Add(y[j], bias);
        if (finish.residual != nullptr)
          value = hn::Add(value, hn::LoadU(kF32, finish.residual + at + j * kPixel));
        hn::StoreU(min_second(high, max_second(low, value)), kF32, dst + at + j * kPixel);
      }
    }
  }
}

template <int kTile>
void result_tiles(const Tiling& tiling, Range tiles, Range blocks, const Points& results,
                  const Finish& finish, float* dst) {
  const int64_t row_stride = tiling.out_columns * kPixel;
  for (int64_t b = 0; b < blocks.count; ++b) {
    const int64_t block = blocks.first + b;
    Place place(tiling, tiles.first);
    for (int64_t t = 0; t < tiles.count; ++t, place.advance(tiling)) {
      const int64_t y = place.row * kTile, x = place.column * kTile;
      const int64_t at =
          ((place.image * tiling.out_blocks + block) * tiling.out_rows + y) * row_stride + x * kPixel;
      const float* points = results.values + b * results.block_stride + t * kPixel;
      for (int64_t lane = 0; lane < kPixel; lane += kLanes) {
        result_tile<kTile>(points + lane, results.point_stride, finish, block * kPixel + lane, at + lane,
                           row_stride, tiling.out_rows - y, tiling.out_columns - x, dst);
      }
    }
  }
}

using F64 = hn::ScalableTag<double>;
using VD = hn::Vec<F64>;
inline constexpr F64 kF64{};

// One value of `count` windows, in double precision; zeros for the others of 16.
HWY_INLINE void load_windows(const float* windows, int64_t window_stride, int64_t count,
                             double (&values)[9][kPixel]) {
  for (int64_t c = 0; c < kPixel; ++c) {
    for (int64_t i = 0; i < 9; ++i) values[i][c] = c < count ? double{windows[c * window_stride + i]} : 0;
  }
}

HWY_INLINE VD dot(const Row& row, VD a, VD b, VD c) {
  return hn::MulAdd(hn::Set(kF64, row[0]), a,
                    hn::MulAdd(hn::Set(kF64, row[1]), b, hn::Mul(hn::Set(kF64, row[2]), c)));
}

// 16 windows to their points: [span x span][16], rounded once.
template <std::size_t kSpan>
HWY_INLINE void window_points(const std::array<Row, kSpan>& rows, const double (&values)[9][kPixel],
                              float (&points)[kSpan * kSpan][kPixel]) {
  const hn::Rebind<float, F64> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(kF64));
  for (int64_t lane = 0; lane < kPixel; lane += lanes) {
    for (std::size_t i = 0; i < kSpan; ++i) {
      VD line[3];
      for (std::size_t x = 0; x < 3; ++x) {
        line[x] = dot(rows[i], hn::Load(kF64, values[x] + lane), hn::Load(kF64, values[3 + x] + lane),
                      hn::Load(kF64, values[6 + x] + lane));
      }
      for (std::size_t j = 0; j < kSpan; ++j)
        hn::Store(hn::DemoteTo(narrow, dot(rows[j], line[0], line[1], line[2])), narrow,
                  points[i * kSpan + j] + lane);
    }
  }
}

// Past the caches: what is packed is not read before there is much more of it than they hold.
template <std::size_t kSpan>
void weight_points(const std::array<Row, kSpan>& rows, const WindowBlock& windows, float* to,
                   int64_t point_stride) {
  HWY_ALIGN double values[9][kPixel];
  HWY_ALIGN float points[kSpan * kSpan][kPixel];
  for (int64_t in = 0; in < windows.in_channels; ++in) {
    load_windows(windows.first + in * 9, windows.in_channels * 9, windows.count, values);
    window_points<kSpan>(rows, values, points);
    float* at = to + in * windows.step;
    for (const auto& point : points) {
      for (int64_t lane = 0; lane < kPixel; lane += kLanes)
        hn::Stream(hn::Load(kF32, point + lane), kF32, at + lane);
      at += point_stride;
    }
  }
  hwy::FlushStream();
}

void TransformWeights(WinogradTile tile, const WindowBlock& windows, float* to, int64_t point_stride) {
  if (tile == WinogradTile::k2x2) return weight_points(kSmallRows, windows, to, point_stride);
  weight_points(kLargeRows, windows, to, point_stride);
}

void TransformData(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks, const float* src,
                   const Points& data) {
  if (tile == WinogradTile::k2x2) return data_tiles<2>(tiling, tiles, blocks, src, data);
  data_tiles<4>(tiling, tiles, blocks, src, data);
}

void TransformResults(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks,
                      const Points& results, const Finish& finish, float* dst) {
  if (tile == WinogradTile::k2x2) return result_tiles<2>(tiling, tiles, blocks, results, finish, dst);
  result_tiles<4>(tiling, tiles, blocks, results, finish, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::winograd {
namespace {

HWY_EXPORT(TransformData);
HWY_EXPORT(TransformResults);
HWY_EXPORT(TransformWeights);

}  // namespace

void transform_data(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks, const float* src,
                    const Points& data) noexcept {
  HWY_DYNAMIC_DISPATCH(TransformData)(tile, tiling, tiles, blocks, src, data);
}

void transform_results(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks,
                       const Points& results, const Finish& finish, float* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(TransformResults)(tile, tiling, tiles, blocks, results, finish, dst);
}

void transform_weights(WinogradTile tile, const WindowBlock& windows, float* to,
                       int64_t point_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(TransformWeights)(tile, windows, to, point_stride);
}

}  // namespace hone::kernels::winograd
#endif
