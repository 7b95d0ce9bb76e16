#include "kernels/cpu/softmax/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// log Σ eˣ of `width` <= kLanes neighbouring columns of a [length, inner] matrix.
HWY_INLINE VF log_sum_exp_columns(const float* x, int64_t length, int64_t inner, int64_t width) {
  VF max = splat(-INFINITY);
  for (int64_t i = 0; i < length; ++i) max = hn::Max(max, load_up_to(x + i * inner, width));
  VF sum = hn::Zero(kF32);
  for (int64_t first = 0; first < length; first += 64) {  // in runs, for the sake of rounding
    VF run = hn::Zero(kF32);
    for (int64_t i = first; i < std::min(length, first + 64); ++i)
      run = hn::Add(run, exp_nonpositive(hn::Sub(load_up_to(x + i * inner, width), max)));
    sum = hn::Add(sum, run);
  }
  return hn::Add(max, log_f32(sum));
}

// The same of a row.
float log_sum_exp_row(const float* x, int64_t n) {
  VF m = splat(-INFINITY);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) m = hn::Max(m, hn::LoadU(kF32, x + i));
  if (i < n) m = hn::Max(m, first_lanes(load_first(x + i, n - i), n - i, splat(-INFINITY)));
  const float largest = max_of(m);
  const VF max = splat(largest);
  VF s0 = hn::Zero(kF32), s1 = s0;
  for (i = 0; i + 2 * kLanes <= n; i += 2 * kLanes) {
    s0 = hn::Add(s0, exp_nonpositive(hn::Sub(hn::LoadU(kF32, x + i), max)));
    s1 = hn::Add(s1, exp_nonpositive(hn::Sub(hn::LoadU(kF32, x + i + kLanes), max)));
  }
  for (; i < n; i += kLanes) {
    const int64_t left = std::min(n - i, kLanes);
    const VF e = exp_nonpositive(hn::Sub(load_up_to(x + i, left), max));
    s0 = hn::Add(s0, first_lanes(e, left, hn::Zero(kF32)));
  }
  return largest + std::log(sum_of(hn::Add(s0, s1)));
}

// Of the outer places [begin, end): a number for each sample.
void LogSumExp(const CrossEntropyDesc& desc, const float* scores, float* sums, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    const float* x = scores + o * desc.classes * desc.inner;
    float* to = sums + o * desc.inner;
    if (desc.inner == 1) {
      *to = log_sum_exp_row(x, desc.classes);
      continue;
    }
    for (int64_t column = 0; column < desc.inner; column += kLanes) {
      const int64_t width = std::min(kLanes, desc.inner - column);
      store_up_to(log_sum_exp_columns(x + column, desc.classes, desc.inner, width), to + column, width);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(LogSumExp);
constexpr int64_t kParallelScores = 8192;

}  // namespace

Result<CrossEntropy> CrossEntropy::create(const CrossEntropyDesc& desc) {
  if (desc.outer < 0 || desc.classes < 1 || desc.inner < 0) return invalid("cross entropy: no classes");
  CrossEntropy kernel;
  kernel.desc_ = desc;
  return kernel;
}

std::size_t CrossEntropy::scratch_bytes() const {
  return desc_.normalised ? 0 : static_cast<std::size_t>(desc_.outer * desc_.inner) * sizeof(float);
}

std::optional<int64_t> CrossEntropy::execute(const CrossEntropyArguments& a) const noexcept {
  const int64_t plane = desc_.classes * desc_.inner;
  auto* sums = static_cast<float*>(a.scratch);
  if (!desc_.normalised && plane > 0)
    parallel_for(desc_.outer, kParallelScores / plane + 1, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(LogSumExp)(desc_, a.scores, sums, begin, end);
      for (int64_t o = begin; a.log_probabilities != nullptr && o < end; ++o)
        for (int64_t i = 0; i < plane; ++i)
          a.log_probabilities[o * plane + i] =
              a.scores[o * plane + i] - sums[o * desc_.inner + i % desc_.inner];
    });
  // In the order of the samples, in double: one sum whatever the threads.
  double total = 0, weight = 0;
  for (int64_t o = 0; o < desc_.outer; ++o)
    for (int64_t i = 0; i < desc_.inner; ++i) {
      const int64_t sample = o * desc_.inner + i;
      const int64_t target = a.targets[sample];
      double loss = 0;
      if (!desc_.ignored || target != *desc_.ignored) {
        if (target < 0 || target >= desc_.classes) return target;
        const double own = a.weights != nullptr ? static_cast<double>(a.weights[target]) : 1.0;
        const auto score = static_cast<double>(a.scores[o * plane + target * desc_.inner + i]);
        loss = own * ((desc_.normalised ? 0.0 : static_cast<double>(sums[sample])) - score);
        weight += own;
      }
      if (desc_.reduction == LossReductionKind::kNone) a.loss[sample] = static_cast<float>(loss);
      total += loss;
    }
  if (desc_.reduction == LossReductionKind::kSum) *a.loss = static_cast<float>(total);
  if (desc_.reduction == LossReductionKind::kMean) *a.loss = static_cast<float>(total / weight);
  return std::nullopt;
}

}  // namespace hone::kernels
#endif
