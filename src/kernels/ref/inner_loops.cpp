#include "kernels/ref/inner_loops.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ref/inner_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::ref {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kRows at once, so that what is loaded of `from` serves all of them.
template <int kRows>
void AddScaledRows(const double* from, int64_t count, const double* weights, int64_t weight_stride,
                   double* to, int64_t to_stride) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto loaded = hn::LoadU(d, from + i);
    for (int r = 0; r < kRows; ++r) {
      double* const row = to + r * to_stride + i;
      hn::StoreU(hn::MulAdd(hn::Set(d, weights[r * weight_stride]), loaded, hn::LoadU(d, row)), d, row);
    }
  }
  for (; i < count; ++i)
    for (int r = 0; r < kRows; ++r) to[r * to_stride + i] += weights[r * weight_stride] * from[i];
}

void AddScaled(const double* from, int64_t count, const double* weights, int64_t weight_stride, double* to,
               int64_t to_stride, int64_t rows) {
  constexpr int kTogether = 8;
  for (; rows >= kTogether; rows -= kTogether) {
    AddScaledRows<kTogether>(from, count, weights, weight_stride, to, to_stride);
    weights += kTogether * weight_stride;
    to += kTogether * to_stride;
  }
  for (; rows > 0; --rows) {
    AddScaledRows<1>(from, count, weights, weight_stride, to, to_stride);
    weights += weight_stride;
    to += to_stride;
  }
}

// kRows × 2 vectors of `out`, in registers while rows of b pass.
template <int kRows>
void ProductTile(int64_t k, const double* a, int64_t a_stride, const double* b, int64_t b_stride, double* out,
                 int64_t out_stride) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> left[kRows], right[kRows];
  for (int r = 0; r < kRows; ++r) {
    left[r] = hn::LoadU(d, out + r * out_stride);
    right[r] = hn::LoadU(d, out + r * out_stride + lanes);
  }
  for (int64_t p = 0; p < k; ++p) {
    const auto b_left = hn::LoadU(d, b + p * b_stride), b_right = hn::LoadU(d, b + p * b_stride + lanes);
    for (int r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[r * a_stride + p]);
      left[r] = hn::MulAdd(factor, b_left, left[r]);
      right[r] = hn::MulAdd(factor, b_right, right[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    hn::StoreU(left[r], d, out + r * out_stride);
    hn::StoreU(right[r], d, out + r * out_stride + lanes);
  }
}

// A panel of b, two vectors wide, stays in the cache while all rows pass.
void MultiplyAddRows(int64_t m, int64_t k, int64_t n, const double* a, int64_t a_stride, const double* b,
                     int64_t b_stride, double* out, int64_t out_stride) {
  constexpr int kRows = HWY_MAX_BYTES >= 64 ? 8 : 4;  // of as many registers as there are
  const int64_t columns = 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>()));
  int64_t j = 0;
  for (; j + columns <= n; j += columns) {
    int64_t i = 0;
    for (; i + kRows <= m; i += kRows)
      ProductTile<kRows>(k, a + i * a_stride, a_stride, b + j, b_stride, out + i * out_stride + j,
                         out_stride);
    for (; i < m; ++i)
      ProductTile<1>(k, a + i * a_stride, a_stride, b + j, b_stride, out + i * out_stride + j, out_stride);
  }
  for (int64_t p = 0; p < k && j < n; ++p)
    AddScaled(b + p * b_stride + j, n - j, a + p, a_stride, out + j, out_stride, m);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::ref
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::ref {
HWY_EXPORT(AddScaled);
HWY_EXPORT(MultiplyAddRows);

void add_scaled(const double* from, int64_t count, const double* weights, int64_t weight_stride, double* to,
                int64_t to_stride, int64_t rows) noexcept {
  HWY_DYNAMIC_DISPATCH(AddScaled)(from, count, weights, weight_stride, to, to_stride, rows);
}

void multiply_add_rows(int64_t m, int64_t k, int64_t n, const double* a, int64_t a_stride, const double* b,
                       int64_t b_stride, double* out, int64_t out_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(MultiplyAddRows)(m, k, n, a, a_stride, b, b_stride, out, out_stride);
}

}  // namespace hone::kernels::ref
#endif
