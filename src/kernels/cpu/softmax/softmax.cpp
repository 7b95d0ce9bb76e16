// Softmax: a row is read from memory once and stays in the L1 cache for its three passes (max, exp and sum,
// scale).
#include "kernels/cpu/softmax/softmax.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// Scores of one row: scale·x + mask.
struct Scores {
  const float* x;
  const float* mask;  // may be null
  float scale;

  HWY_INLINE VF at(int64_t i) const {
    const VF v = hn::Mul(hn::LoadU(kF32, x + i), splat(scale));
    return mask != nullptr ? hn::Add(v, hn::LoadU(kF32, mask + i)) : v;
  }
  HWY_INLINE VF first(int64_t i, int64_t n) const {
    const VF v = hn::Mul(load_first(x + i, n), splat(scale));
    return mask != nullptr ? hn::Add(v, load_first(mask + i, n)) : v;
  }
};

float row_max(const Scores& scores, int64_t n) {
  const VF lowest = splat(-INFINITY);
  VF m0 = lowest, m1 = lowest;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    m0 = hn::Max(m0, scores.at(i));
    m1 = hn::Max(m1, scores.at(i + kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) m0 = hn::Max(m0, scores.at(i));
  if (i < n) m1 = hn::Max(m1, first_lanes(scores.first(i, n - i), n - i, lowest));
  return max_of(hn::Max(m0, m1));
}

// One row of any length; NaN among the scores makes the sum, and with it the row, NaN.
void SoftmaxRow(const float* x, const float* mask, float* y, int64_t n, float scale, bool log) {
  const Scores scores{x, mask, scale};
  const VF max = splat(row_max(scores, n));
  VF s0 = hn::Zero(kF32), s1 = hn::Zero(kF32);
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const VF a = hn::Sub(scores.at(i), max);
    const VF b = hn::Sub(scores.at(i + kLanes), max);
    const VF ea = exp_nonpositive(a);
    const VF eb = exp_nonpositive(b);
    s0 = hn::Add(s0, ea);
    s1 = hn::Add(s1, eb);
    hn::StoreU(log ? a : ea, kF32, y + i);
    hn::StoreU(log ? b : eb, kF32, y + i + kLanes);
  }
  for (; i < n; i += kLanes) {
    const int64_t left = std::min(n - i, kLanes);
    const VF a = hn::Sub(scores.first(i, left), max);
    const VF e = exp_nonpositive(a);
    s0 = hn::Add(s0, first_lanes(e, left, hn::Zero(kF32)));
    store_first(log ? a : e, y + i, left);
  }
  const float sum = sum_of(hn::Add(s0, s1));
  const VF factor = splat(log ? std::log(sum) : 1.0f / sum);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const VF v = hn::LoadU(kF32, y + i);
    hn::StoreU(log ? hn::Sub(v, factor) : hn::Mul(v, factor), kF32, y + i);
  }
  if (i < n) {
    const VF v = load_first(y + i, n - i);
    store_first(log ? hn::Sub(v, factor) : hn::Mul(v, factor), y + i, n - i);
  }
}

// `width` <= kLanes neighbouring columns of a [length, inner] matrix, each a softmax of its own.
HWY_INLINE void columns(const float* x, float* y, int64_t length, int64_t inner, int64_t width, float scale,
                        bool log) {
  const VF factor = splat(scale);
  const auto load = [&](const float* p) HWY_ATTR { return load_up_to(p, width); };
  const auto store = [&](VF v, float* p) HWY_ATTR { store_up_to(v, p, width); };
  VF max = splat(-INFINITY);
  for (int64_t i = 0; i < length; ++i) max = hn::Max(max, hn::Mul(load(x + i * inner), factor));
  // Summed in runs, so that rounding grows with the square root of the length at most.
  VF sum = hn::Zero(kF32);
  for (int64_t first = 0; first < length; first += 64) {
    VF run = hn::Zero(kF32);
    for (int64_t i = first; i < std::min(length, first + 64); ++i) {
      const VF a = hn::Sub(hn::Mul(load(x + i * inner), factor), max);
      const VF e = exp_nonpositive(a);
      run = hn::Add(run, e);
      store(log ? a : e, y + i * inner);
    }
    sum = hn::Add(sum, run);
  }
  const VF last = log ? log_f32(sum) : hn::Div(splat(1.0f), sum);
  for (int64_t i = 0; i < length; ++i) {
    const VF v = load(y + i * inner);
    store(log ? hn::Sub(v, last) : hn::Mul(v, last), y + i * inner);
  }
}

void SoftmaxColumns(const float* x, float* y, int64_t length, int64_t inner, float scale, bool log) {
  for (int64_t column = 0; column < inner; column += kLanes) {
    columns(x + column, y + column, length, inner, std::min(kLanes, inner - column), scale, log);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(SoftmaxColumns);
constexpr int64_t kParallelSoftmaxElements = 8192;

}  // namespace

Result<Softmax> Softmax::create(SoftmaxDesc desc) {
  if (desc.length < 0 || desc.inner < 0) return invalid("softmax: negative extent");
  if (desc.masked && (desc.inner != 1 || desc.mask_strides.size() != desc.outer.size())) {
    return unsupported("softmax: a mask needs the last axis and one stride an outer axis");
  }
  Softmax kernel;
  HONE_ASSIGN(kernel.rows_, checked_element_count(desc.outer));
  kernel.desc_ = std::move(desc);
  return kernel;
}

void Softmax::execute(const float* x, const float* mask, float* y) const noexcept {
  const int64_t size = desc_.length * desc_.inner;
  if (size == 0) return;
  parallel_for(rows_, kParallelSoftmaxElements / size + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* in = x + row * size;
      float* out = y + row * size;
      if (desc_.inner > 1) {
        HWY_DYNAMIC_DISPATCH(SoftmaxColumns)(in, out, desc_.length, desc_.inner, desc_.scale, desc_.log);
        continue;
      }
      const float* mask_row = nullptr;
      if (desc_.masked) {
        int64_t offset = 0;
        int64_t rest = row;
        for (std::size_t axis = desc_.outer.size(); axis-- > 0; rest /= desc_.outer[axis]) {
          offset += rest % desc_.outer[axis] * desc_.mask_strides[axis];
        }
        mask_row = mask + offset;
      }
      HWY_DYNAMIC_DISPATCH(SoftmaxRow)(in, mask_row, out, desc_.length, desc_.scale, desc_.log);
    }
  });
}

}  // namespace hone::kernels
#endif
