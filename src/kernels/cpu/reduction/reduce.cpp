// Reductions: along rows (the last axis is reduced) or along columns (it is kept), anything else as outer
// loops.
#include "kernels/cpu/reduction/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#ifndef HONE_KERNELS_CPU_REDUCTION_REDUCE_RUNS_  // once, not per target
#define HONE_KERNELS_CPU_REDUCTION_REDUCE_RUNS_
namespace hone::kernels::internal {

// The elements that one output (or one row of outputs, for columns) is folded from.
struct ReduceRuns {
  const float* base;
  const int64_t* offsets;  // of each run
  int64_t runs;
  int64_t length, stride;  // of a run
  int64_t count;           // elements in all
};

}  // namespace hone::kernels::internal
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduction/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;  // NOLINT: the helpers of this target
namespace hn = hwy::HWY_NAMESPACE;

struct Fold {
  Reduction op;
  float shift = 0;  // subtracted before the exponential

  HWY_INLINE VF identity() const {
    if (op == Reduction::kMax) return splat(-INFINITY);
    if (op == Reduction::kMin) return splat(INFINITY);
    return splat(op == Reduction::kProd ? 1.0f : 0.0f);
  }
  HWY_INLINE VF map(VF x) const {
    switch (op) {
      case Reduction::kL1:
        return hn::Abs(x);
      case Reduction::kL2:
      case Reduction::kSumSquare:
        return hn::Mul(x, x);
      case Reduction::kLogSumExp:
        return exp_nonpositive(hn::Sub(x, splat(shift)));
      default:
        return x;
    }
  }
  HWY_INLINE VF combine(VF a, VF b) const {
    switch (op) {
      case Reduction::kMax:
        return max_nan(a, b);
      case Reduction::kMin:
        return min_nan(a, b);
      case Reduction::kProd:
        return hn::Mul(a, b);
      default:
        return hn::Add(a, b);
    }
  }
};

double identity_of(Reduction op) {
  if (op == Reduction::kMax) return -std::numeric_limits<double>::infinity();
  if (op == Reduction::kMin) return std::numeric_limits<double>::infinity();
  return op == Reduction::kProd ? 1 : 0;
}

double combine_scalar(Reduction op, double a, double b) {
  if (op == Reduction::kMax) return std::isnan(a) || a > b ? a : b;
  if (op == Reduction::kMin) return std::isnan(a) || a < b ? a : b;
  return op == Reduction::kProd ? a * b : a + b;
}

double finish(Reduction op, double x, int64_t count, double shift) {
  switch (op) {
    case Reduction::kMean:
      return x / static_cast<double>(count);
    case Reduction::kL2:
      return std::sqrt(x);
    case Reduction::kLogSum:
      return std::log(x);
    case Reduction::kLogSumExp:
      return std::log(x) + shift;
    default:
      return x;
  }
}

// Consecutive floats in f32, a chunk of 16 additions a lane and chain at a time: the rest is added up in
// double.
constexpr int64_t kChunk = 64 * kLanes;

double fold_row(const Fold& fold, const float* x, int64_t n) {
  double total = identity_of(fold.op);
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t end = std::min(n, first + kChunk);
    VF s0 = fold.identity(), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = first;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      s0 = fold.combine(s0, fold.map(hn::LoadU(kF32, x + i)));
      s1 = fold.combine(s1, fold.map(hn::LoadU(kF32, x + i + kLanes)));
      s2 = fold.combine(s2, fold.map(hn::LoadU(kF32, x + i + 2 * kLanes)));
      s3 = fold.combine(s3, fold.map(hn::LoadU(kF32, x + i + 3 * kLanes)));
    }
    for (; i < end; i += kLanes) {
      const int64_t left = std::min(kLanes, end - i);
      const VF v = left == kLanes ? hn::LoadU(kF32, x + i) : load_first(x + i, left);
      const VF mapped = fold.map(v);
      s0 = fold.combine(s0, left == kLanes ? mapped : first_lanes(mapped, left, fold.identity()));
    }
    const VF all = fold.combine(fold.combine(s0, s1), fold.combine(s2, s3));
    if (fold.op != Reduction::kMax && fold.op != Reduction::kMin && fold.op != Reduction::kProd) {
      total += static_cast<double>(sum_of(all));
      continue;
    }
    HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)];
    hn::Store(all, kF32, lanes);
    for (float lane : lanes) total = combine_scalar(fold.op, total, static_cast<double>(lane));
  }
  return total;
}

double fold_runs(const Fold& fold, const ReduceRuns& runs) {
  double total = identity_of(fold.op);
  for (int64_t k = 0; k < runs.runs; ++k) {
    total = combine_scalar(fold.op, total, fold_row(fold, runs.base + runs.offsets[k], runs.length));
  }
  return total;
}

float ReduceRow(Reduction op, const ReduceRuns& runs) {
  Fold fold{op};
  if (op == Reduction::kLogSumExp) {
    const double max = fold_runs(Fold{Reduction::kMax}, runs);
    fold.shift = std::isinf(max) ? 0 : static_cast<float>(max);
    if (std::isinf(max)) return static_cast<float>(max);
  }
  return static_cast<float>(finish(op, fold_runs(fold, runs), runs.count, static_cast<double>(fold.shift)));
}

// V vectors of columns (the last one `left` wide); rows are added up in runs of 64 and runs in
// groups of 64, so that rounding stays small.
template <int V>
HWY_INLINE void fold_columns(const Fold& fold, const VF* shift, const ReduceRuns& runs, int64_t column,
                             int64_t left, VF* total) {
  const auto load = [&](const float* p, int v) HWY_ATTR {
    return v + 1 < V || left == kLanes ? hn::LoadU(kF32, p + v * kLanes) : load_first(p + v * kLanes, left);
  };
  VF middle[V];
  for (int v = 0; v < V; ++v) total[v] = middle[v] = fold.identity();
  int64_t pending = 0;
  for (int64_t k = 0; k < runs.runs; ++k) {
    const float* base = runs.base + runs.offsets[k] + column;
    for (int64_t first = 0; first < runs.length; first += 64) {
      VF sum[V];
      for (int v = 0; v < V; ++v) sum[v] = fold.identity();
      for (int64_t i = first; i < std::min(runs.length, first + 64); ++i) {
        for (int v = 0; v < V; ++v) {
          VF x = load(base + i * runs.stride, v);
          if (shift != nullptr) x = hn::Sub(x, shift[v]);
          sum[v] = fold.combine(sum[v], fold.map(x));
        }
      }
      const bool flush = ++pending == 64;
      for (int v = 0; v < V; ++v) {
        middle[v] = fold.combine(middle[v], sum[v]);
        if (flush) total[v] = fold.combine(total[v], middle[v]);
        if (flush) middle[v] = fold.identity();
      }
      if (flush) pending = 0;
    }
  }
  for (int v = 0; v < V; ++v) total[v] = fold.combine(total[v], middle[v]);
}

template <int V>
HWY_INLINE void reduce_columns(Reduction op, const ReduceRuns& runs, int64_t column, int64_t left,
                               float* out) {
  VF total[V], shift[V];
  if (op == Reduction::kLogSumExp) {
    fold_columns<V>(Fold{Reduction::kMax}, nullptr, runs, column, left, shift);
    for (int v = 0; v < V; ++v) shift[v] = hn::IfThenElseZero(hn::Not(hn::IsInf(shift[v])), shift[v]);
    fold_columns<V>(Fold{op}, shift, runs, column, left, total);
    for (int v = 0; v < V; ++v) total[v] = hn::Add(log_f32(total[v]), shift[v]);
  } else {
    fold_columns<V>(Fold{op}, nullptr, runs, column, left, total);
  }
  for (int v = 0; v < V; ++v) {
    VF y = total[v];
    if (op == Reduction::kMean)
      y = hn::Mul(y, splat(static_cast<float>(1 / static_cast<double>(runs.count))));
    if (op == Reduction::kL2) y = hn::Sqrt(y);
    if (op == Reduction::kLogSum) y = log_f32(y);
    if (v + 1 < V || left == kLanes) {
      hn::StoreU(y, kF32, out + column + v * kLanes);
    } else {
      store_first(y, out + column + v * kLanes, left);
    }
  }
}

void ReduceColumns(Reduction op, const ReduceRuns& runs, int64_t width, float* out) {
  int64_t column = 0;
  for (; column + 4 * kLanes <= width; column += 4 * kLanes) reduce_columns<4>(op, runs, column, kLanes, out);
  for (; column < width; column += kLanes) {
    reduce_columns<1>(op, runs, column, std::min(kLanes, width - column), out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace internal {
HWY_EXPORT(ReduceRow);
HWY_EXPORT(ReduceColumns);
}  // namespace internal

Result<Reduce> Reduce::create(const ReduceDesc& desc) {
  const std::size_t rank = desc.shape.size();
  HONE_CHECK(checked_element_count(desc.shape));
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : desc.axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || reduced[static_cast<std::size_t>(axis)]) {
      return invalid(fmt::format("reduce: axis {} is out of range or given twice for rank {}", axis, rank));
    }
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  Reduce kernel;
  kernel.op_ = desc.op;
  std::vector<Axis> folded;
  int last = -1;  // 1: the axis before was reduced; axes of extent 1 do not count
  const std::vector<int64_t> strides = row_major_strides(desc.shape);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = desc.shape[axis];
    (reduced[axis] ? kernel.count_ : kernel.outputs_) *= extent;
    if (extent == 1) continue;
    std::vector<Axis>& side = reduced[axis] ? folded : kernel.kept_;
    if (last == (reduced[axis] ? 1 : 0)) {
      side.back() = {side.back().extent * extent, strides[axis]};
    } else {
      side.push_back({extent, strides[axis]});
    }
    last = reduced[axis] ? 1 : 0;
  }
  kernel.columns_ = last == 0;
  if (kernel.columns_) {
    kernel.width_ = kernel.kept_.back().extent;
    kernel.kept_.pop_back();
    kernel.outputs_ = kernel.width_ == 0 ? 0 : kernel.outputs_ / kernel.width_;
  }
  if (!folded.empty()) {
    kernel.run_ = folded.back();
    folded.pop_back();
  }
  int64_t runs = 1;
  for (const Axis& axis : folded) runs *= axis.extent;
  for (int64_t i = 0; i < runs; ++i) {
    int64_t rest = i, offset = 0;
    for (std::size_t a = folded.size(); a-- > 0; rest /= folded[a].extent) {
      offset += rest % folded[a].extent * folded[a].stride;
    }
    kernel.offsets_.push_back(offset);
  }
  return kernel;
}

void Reduce::execute(const float* in, float* out) const noexcept {
  const int64_t work = std::max<int64_t>(count_ * width_, 1);
  parallel_for(outputs_, 16384 / work + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = 0;
      for (std::size_t a = kept_.size(); a-- > 0; rest /= kept_[a].extent) {
        offset += rest % kept_[a].extent * kept_[a].stride;
      }
      const internal::ReduceRuns runs{in + offset, offsets_.data(), static_cast<int64_t>(offsets_.size()),
                                      run_.extent, run_.stride,     count_};
      if (columns_) {
        HWY_DYNAMIC_DISPATCH(internal::ReduceColumns)(op_, runs, width_, out + row * width_);
      } else {
        out[row] = HWY_DYNAMIC_DISPATCH(internal::ReduceRow)(op_, runs);
      }
    }
  });
}

}  // namespace hone::kernels
#endif
