// What attention and its gradient are made of: small products with rows in registers, operands packed for them, and rows of
// scores made weights. Included once per target by foreach_target, hence the toggling guard.
#if defined(HONE_KERNELS_CPU_ATTENTION_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HONE_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#undef HONE_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#else
#define HONE_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/simd/transpose-inl.h"
#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;  // NOLINT: the helpers of this target
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 6;  // 6×4 accumulators + 4 of B + 1 broadcast of 32 registers
constexpr int kVectors = 4;
#else
constexpr int kRows = 6;  // 6×2 + 2 + 1 of 16 registers
constexpr int kVectors = 2;
#endif

// C[R × V vectors] = A[R × depth]·B[depth × V vectors] (+ C·factor[r] when accumulating). A's rows are
// `a_stride` apart with consecutive columns; B's rows `b_stride`.
template <int R, int V>
HWY_INLINE void product(const float* HWY_RESTRICT a, int64_t a_stride, const float* HWY_RESTRICT b,
                        int64_t b_stride, int64_t depth, float* HWY_RESTRICT c, int64_t c_stride,
                        const float* factor) {
  VF sum[R][V];
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < V; ++j) {
      sum[r][j] = hn::Zero(kF32);
      if (factor != nullptr) {
        sum[r][j] = hn::Mul(hn::LoadU(kF32, c + r * c_stride + j * kLanes), splat(factor[r]));
      }
    }
  }
  for (int64_t d = 0; d < depth; ++d) {
    VF row[V];
    for (int j = 0; j < V; ++j) row[j] = hn::LoadU(kF32, b + d * b_stride + j * kLanes);
    for (int r = 0; r < R; ++r) {
      const VF x = splat(a[r * a_stride + d]);
      for (int j = 0; j < V; ++j) sum[r][j] = hn::MulAdd(x, row[j], sum[r][j]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < V; ++j) hn::StoreU(sum[r][j], kF32, c + r * c_stride + j * kLanes);
  }
}

// `vectors` columns of vectors for R rows, kVectors at a time.
template <int R>
HWY_INLINE void product_columns(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                                int64_t depth, float* c, int64_t c_stride, const float* factor,
                                int64_t vectors, int64_t panel_stride) {
  int64_t j = 0;
  for (; j + kVectors <= vectors; j += kVectors) {
    product<R, kVectors>(a, a_stride, b, b_stride, depth, c + j * kLanes, c_stride, factor);
    b += panel_stride;
  }
  c += j * kLanes;
  const int64_t left = vectors - j;
  if (left == 3) product<R, 3>(a, a_stride, b, b_stride, depth, c, c_stride, factor);
  if (left == 2) product<R, 2>(a, a_stride, b, b_stride, depth, c, c_stride, factor);
  if (left == 1) product<R, 1>(a, a_stride, b, b_stride, depth, c, c_stride, factor);
}

inline void product_rows(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                         int64_t depth, float* c, int64_t c_stride, const float* factor, int64_t vectors,
                         int64_t panel_stride) {
  switch (rows) {
    case 1:
      return product_columns<1>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
    case 2:
      return product_columns<2>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
    case 3:
      return product_columns<3>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
    case 4:
      return product_columns<4>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
    case 5:
      return product_columns<5>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
    default:
      return product_columns<6>(a, a_stride, b, b_stride, depth, c, c_stride, factor, vectors, panel_stride);
  }
}

constexpr int64_t kPanel = kVectors * kLanes;  // keys of one packed panel

// K[keys × head_dim] of a block as panels Kᵀ[head_dim × kPanel], zeros for keys beyond the block.
inline void pack_keys(const float* k, const AttentionStrides& strides, int64_t keys, int64_t head_dim,
                      float* packed) {
  for (int64_t first = 0; first < keys; first += kPanel) {
    const int64_t count = std::min(kPanel, keys - first);
    float* panel = packed + first * head_dim;
    const float* from = k + first * strides.row;
    if (strides.column == 1) {
      transpose_block(from, strides.row, count, head_dim, panel, kPanel);
    } else {
      for (int64_t d = 0; d < head_dim; ++d) {
        for (int64_t j = 0; j < count; ++j)
          panel[d * kPanel + j] = from[j * strides.row + d * strides.column];
      }
    }
    for (int64_t d = 0; count < kPanel && d < head_dim; ++d) {
      std::fill(panel + d * kPanel + count, panel + (d + 1) * kPanel, 0.0f);
    }
  }
}

// Rows of any strides as rows of `width` floats, zeros beyond `columns`.
inline void pack_rows(const float* from, const AttentionStrides& strides, int64_t rows, int64_t columns,
                      int64_t width, float* packed) {
  for (int64_t row = 0; row < rows; ++row) {
    float* to = packed + row * width;
    for (int64_t c = 0; c < columns; ++c) to[c] = from[row * strides.row + c * strides.column];
    std::fill(to + columns, to + width, 0.0f);
  }
}

// Scores of one query against a block of keys: scaled, masked, hidden beyond `visible`; returns their
// maximum.
inline float finish_scores(float* scores, int64_t width, int64_t visible, float scale, const float* mask,
                           int64_t mask_column) {
  const VF factor = splat(scale);
  const VF hidden = splat(-INFINITY);
  VF max = hidden;
  for (int64_t j = 0; j < width; j += kLanes) {
    VF s = hn::Mul(hn::LoadU(kF32, scores + j), factor);
    const int64_t left = std::min(visible - j, kLanes);
    if (mask != nullptr && left > 0) {
      if (mask_column == 0) {
        s = hn::Add(s, splat(mask[0]));
      } else if (mask_column == 1) {
        s = hn::Add(s, load_up_to(mask + j, left));
      } else {
        HWY_ALIGN float lanes[HWY_MAX(kLanes, 1)] = {};
        for (int64_t i = 0; i < left; ++i) lanes[i] = mask[(j + i) * mask_column];
        s = hn::Add(s, hn::Load(kF32, lanes));
      }
    }
    if (left < kLanes) s = left <= 0 ? hidden : first_lanes(s, left, hidden);
    max = hn::Max(max, s);
    hn::StoreU(s, kF32, scores + j);
  }
  return max_of(max);
}

// scores := e^(scores - max); returns their sum.
inline float exponentiate(float* scores, int64_t width, float max) {
  const VF m = splat(max);
  VF sum = hn::Zero(kF32);
  for (int64_t j = 0; j < width; j += kLanes) {
    const VF e = exp_nonpositive(hn::Sub(hn::LoadU(kF32, scores + j), m));
    sum = hn::Add(sum, e);
    hn::StoreU(e, kF32, scores + j);
  }
  return sum_of(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
