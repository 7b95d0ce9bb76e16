// Tiles of kTileRows x 32 columns (AVX-512: 28 of 32 registers hold sums): per step of the depth two vectors
// of B are loaded and each row's value of A is broadcast once for both. Products of few rows take more
// columns instead, so that eight sums or more hide the latency of the multiply-add while B streams by.
#include "kernels/cpu/gemm/tile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/tile.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::gemm {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;

inline constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 2;
inline constexpr int kTileVectors = 2;
// How far ahead panels are asked for, in steps of the depth. With one or two rows their loads alone keep the
// memory busy (measured: asking costs a fifth there, and gains as much from three rows on).
inline constexpr int kPrefetchRows = 3;
inline constexpr int64_t kPrefetchSteps = 48;
inline constexpr int kLanesInt = static_cast<int>(kLanes);
inline constexpr int kPanelInt = static_cast<int>(kPanel);

// `job` narrowed to one tile: a, c and residual at its first row, `column` its first column.
struct Tile {
  const TileJob* job;
  const float* a;
  float* c;
  const float* residual;
  int64_t column;
};

// What an earlier part of the depth left in C.
template <int kRows, int kVectors>
HWY_INLINE void load_sums(const Tile& tile, VF (&sum)[kRows][kVectors]) {
  const TileJob& job = *tile.job;
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const int64_t column = tile.column + v * kLanes;
    const int64_t valid = job.columns - column;
    const float* c = tile.c + column / kBlock * job.c_strides.block + column % kBlock;
    if (HWY_LIKELY(valid >= kLanes)) {
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) sum[m][v] = hn::LoadU(kF32, c + m * job.c_strides.row);
    } else if (valid > 0) {
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) sum[m][v] = load_first(c + m * job.c_strides.row, valid);
    }
  }
}

// kARow: floats from a row of A to the next if known when compiled, else 0.
template <int kRows, int kVectors, int kARow>
void run_tile(const Tile& tile) {
  const TileJob& job = *tile.job;
  const int64_t a_row = kARow != 0 ? kARow : job.a_strides.row;
  const int64_t depth = job.depth;
  const float* b = job.panels + tile.column / kPanel * depth * kPanel + tile.column % kPanel;
  const int64_t next_panel = depth * kPanel;
  VF sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const VF bias = hn::LoadU(kF32, job.bias + tile.column + v * kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) sum[m][v] = bias;
  }
  if (job.accumulate) load_sums<kRows, kVectors>(tile, sum);
  const float* a_block = tile.a;
  for (int64_t k = 0; k < depth; k += kBlock, a_block += job.a_strides.block) {
    const float* a = a_block;
    const float* const a_end = a + std::min(kBlock, depth - k);
    for (; a != a_end; ++a, b += kPanel) {
      VF w[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const float* at = b + v * kLanesInt / kPanelInt * next_panel + v * kLanesInt % kPanelInt;
        w[v] = hn::LoadU(kF32, at);
        if constexpr (kRows >= kPrefetchRows) hwy::Prefetch(at + kPrefetchSteps * kPanel);
      }
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) {
        const VF x = splat(a[m * a_row]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[m][v] = hn::MulAdd(x, w[v], sum[m][v]);
      }
    }
  }
  const VF low = splat(job.low);
  const VF high = splat(job.high);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const int64_t column = tile.column + v * kLanes;
    const int64_t valid = job.columns - column;
    const int64_t at = column / kBlock * job.c_strides.block + column % kBlock;
    if (HWY_LIKELY(valid >= kLanes)) {
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) {
        VF x = sum[m][v];
        if (tile.residual != nullptr)
          x = hn::Add(x, hn::LoadU(kF32, tile.residual + m * job.c_strides.row + at));
        hn::StoreU(min_second(high, max_second(low, x)), kF32, tile.c + m * job.c_strides.row + at);
      }
    } else if (valid > 0) {
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) {
        VF x = sum[m][v];
        if (tile.residual != nullptr)
          x = hn::Add(x, load_first(tile.residual + m * job.c_strides.row + at, valid));
        store_first(min_second(high, max_second(low, x)), tile.c + m * job.c_strides.row + at, valid);
      }
    }
  }
}

using TileFunction = void (*)(const Tile&);

template <int kVectors, int kARow, std::size_t... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> tiles(std::index_sequence<kIndex...>) {
  return {run_tile<static_cast<int>(kIndex) + 1, kVectors, kARow>...};
}

// The tile of `rows` rows, of two vectors or one.
template <int kARow>
TileFunction tile_function(bool wide, int64_t rows) {
  static constexpr auto kFull = tiles<kTileVectors, kARow>(std::make_index_sequence<kTileRows>());
  static constexpr auto kHalf = tiles<1, kARow>(std::make_index_sequence<kTileRows>());
  return (wide ? kFull : kHalf)[static_cast<std::size_t>(rows - 1)];
}

// All rows times the columns from `column` on that one tile covers.
template <int kARow>
HWY_INLINE void column_of_tiles(const TileJob& job, int64_t column, bool wide) {
  const int64_t count = (job.rows + kTileRows - 1) / kTileRows;
  for (int64_t group = 0; group < job.groups; ++group) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = job.rows * i / count;
      const int64_t end = job.rows * (i + 1) / count;
      const int64_t c = group * job.c_strides.group + begin * job.c_strides.row;
      const Tile tile{&job, job.a + group * job.a_strides.group + begin * job.a_strides.row, job.c + c,
                      job.residual != nullptr ? job.residual + c : nullptr, column};
      tile_function<kARow>(wide, end - begin)(tile);
    }
  }
}

template <int kARow>
HWY_INLINE void all_columns(const TileJob& job) {
  constexpr int64_t kWidth = kTileVectors * kLanes;
  for (int64_t column = 0; column < job.columns; column += kWidth) {
    column_of_tiles<kARow>(job, column, column + kLanes < job.columns);
  }
}

// Few rows: kVectors vectors of neighbouring panels at once.
template <int kRows, int kVectors>
HWY_INLINE void few_rows(const TileJob& job) {
  constexpr int64_t kWidth = kVectors * kLanes;
  static_assert(kWidth % kPanel == 0 || kPanel % kWidth == 0);
  int64_t column = 0;
  const int64_t last = (job.columns + kPanel - 1) / kPanel * kPanel - kWidth;
  for (; column <= last; column += kWidth) {
    run_tile<kRows, kVectors, 0>({&job, job.a, job.c, job.residual, column});
  }
  for (; column < job.columns; column += kTileVectors * kLanes) {
    run_tile<kRows, kTileVectors, 0>({&job, job.a, job.c, job.residual, column});
  }
}

void Multiply(const TileJob& job) {
#if HWY_TARGET == HWY_AVX3
  if (job.groups == 1 && job.rows == 1) return few_rows<1, 8>(job);
  if (job.groups == 1 && job.rows == 2) return few_rows<2, 8>(job);
  if (job.groups == 1 && job.rows == 3) return few_rows<3, 4>(job);
  if (job.groups == 1 && job.rows == 4) return few_rows<4, 4>(job);
#elif HWY_TARGET == HWY_AVX2
  if (job.groups == 1 && job.rows == 1) return few_rows<1, 8>(job);
#endif
  return job.a_strides.row == kBlock ? all_columns<kBlock>(job) : all_columns<0>(job);
}

int64_t TileRows() { return kTileRows; }

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::gemm {
namespace {

HWY_EXPORT(Multiply);
HWY_EXPORT(TileRows);

}  // namespace

void multiply(const TileJob& job) noexcept { HWY_DYNAMIC_DISPATCH(Multiply)(job); }

int64_t tile_rows() noexcept { return HWY_DYNAMIC_DISPATCH(TileRows)(); }

Tensor pack_panels(const float* b, int64_t depth, int64_t columns, int64_t k_stride, int64_t n_stride) {
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  Tensor packed = Tensor::zeros(DType::kF32, {panels, depth, kPanel});
  float* to = packed.as<float>().data();
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t width = std::min(kPanel, columns - panel * kPanel);
    for (int64_t k = 0; k < depth; ++k, to += kPanel) {
      const float* from = b + k * k_stride + panel * kPanel * n_stride;
      for (int64_t n = 0; n < width; ++n) to[n] = from[n * n_stride];
    }
  }
  return packed;
}

Tensor pack_bias(const float* bias, int64_t columns) {
  Tensor packed = Tensor::zeros(DType::kF32, {(columns + kPanel - 1) / kPanel * kPanel});
  if (bias != nullptr) std::copy_n(bias, columns, packed.as<float>().data());
  return packed;
}

}  // namespace hone::kernels::gemm
#endif
