// A row of x and g is read from memory once and stays in the L1 cache for its passes: mean, squares and sums over g, result.
#include "kernels/cpu/normalization/layer_norm_gradient.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalization/layer_norm_gradient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// Calls f(first element, how many) for the vectors of a row.
template <typename F>
HWY_INLINE void each_vector(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}

// With h = g · scale and x̂ = (x - mean) · i: dx = i · (h - mean(h) - x̂ · mean(h · x̂)).
HWY_INLINE void gradient_row(const float* g, const float* x, const float* scale, float* dx, float* dscale,
                             float* dbias, int64_t n, float epsilon) {
  const float count = static_cast<float>(n);
  VF sum = hn::Zero(kF32);
  each_vector(n, [&](int64_t i, int64_t left) HWY_ATTR { sum = hn::Add(sum, load_up_to(x + i, left)); });
  const VF mean = splat(sum_of(sum) / count);
  VF squares = hn::Zero(kF32), sum_h = squares, sum_hx = squares;
  each_vector(n, [&](int64_t i, int64_t left) HWY_ATTR {
    VF d = hn::Sub(load_up_to(x + i, left), mean);
    if (left < kLanes) d = first_lanes(d, left, hn::Zero(kF32));
    const VF h = hn::Mul(load_up_to(g + i, left), load_up_to(scale + i, left));
    squares = hn::MulAdd(d, d, squares);
    sum_h = hn::Add(sum_h, h);
    sum_hx = hn::MulAdd(h, d, sum_hx);
  });
  const float inverse = 1 / std::sqrt(sum_of(squares) / count + epsilon);
  const VF vi = splat(inverse);
  const VF mean_h = splat(sum_of(sum_h) / count), mean_hx = splat(sum_of(sum_hx) * inverse / count);
  each_vector(n, [&](int64_t i, int64_t left) HWY_ATTR {
    const VF normal = hn::Mul(hn::Sub(load_up_to(x + i, left), mean), vi);
    const VF flow = load_up_to(g + i, left);
    const VF h = hn::Mul(flow, load_up_to(scale + i, left));
    store_up_to(hn::MulAdd(flow, normal, load_up_to(dscale + i, left)), dscale + i, left);
    store_up_to(hn::Add(load_up_to(dbias + i, left), flow), dbias + i, left);
    store_up_to(hn::Mul(hn::NegMulAdd(normal, mean_hx, hn::Sub(h, mean_h)), vi), dx + i, left);
  });
}

// Rows [begin, end), with what they give scale and bias.
void LayerNormGradientRows(const LayerNormDesc& desc, const LayerNormGradientArguments& a, float* dscale,
                           float* dbias, int64_t begin, int64_t end) {
  const int64_t n = desc.length;
  std::fill(dscale, dscale + n, 0.0F);
  std::fill(dbias, dbias + n, 0.0F);
  for (int64_t row = begin; row < end; ++row)
    gradient_row(a.g + row * n, a.x + row * n, a.scale, a.dx + row * n, dscale, dbias, n, desc.epsilon);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(LayerNormGradientRows);
constexpr int64_t kPieceElements = 8192;  // at least, so that adding pieces up costs little beside them
constexpr int64_t kMostPieces = 64;

int64_t row_of_piece(int64_t rows, int64_t pieces, int64_t piece) { return rows * piece / pieces; }

}  // namespace

Result<LayerNormGradient> LayerNormGradient::create(const LayerNormDesc& desc) {
  if (desc.rows < 1 || desc.length < 1) return invalid("layer norm gradient: no elements");
  if (desc.rms) return unsupported("layer norm gradient: not of RMSNorm");
  LayerNormGradient kernel;
  kernel.desc_ = desc;
  kernel.pieces_ =
      std::clamp<int64_t>(desc.rows * desc.length / kPieceElements, 1, std::min(desc.rows, kMostPieces));
  return kernel;
}

std::size_t LayerNormGradient::scratch_bytes() const {
  return static_cast<std::size_t>(2 * pieces_ * desc_.length) * sizeof(float);
}

void LayerNormGradient::execute(const LayerNormGradientArguments& a, void* scratch) const noexcept {
  auto* const sums = static_cast<float*>(scratch);
  const int64_t n = desc_.length;
  parallel_for(pieces_, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t piece = begin; piece < end; ++piece) HWY_DYNAMIC_DISPATCH(LayerNormGradientRows)
    (desc_, a, sums + 2 * piece * n, sums + (2 * piece + 1) * n, row_of_piece(desc_.rows, pieces_, piece),
     row_of_piece(desc_.rows, pieces_, piece + 1));
  });
  std::copy(sums, sums + n, a.dscale);
  std::copy(sums + n, sums + 2 * n, a.dbias);
  for (int64_t piece = 1; piece < pieces_; ++piece)
    for (int64_t i = 0; i < n; ++i) {
      a.dscale[i] += sums[2 * piece * n + i];
      a.dbias[i] += sums[(2 * piece + 1) * n + i];
    }
}

}  // namespace hone::kernels
#endif
