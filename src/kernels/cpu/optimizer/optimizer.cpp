// Each element is read once and written once; the scalars of a step (bias corrections, the decay's factor)
// are worked out in double before.
#include "kernels/cpu/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "core/stochastic_rounding.h"
#include "kernels/cpu/optimizer/bf16_weights.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer/optimizer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

#ifndef HONE_KERNELS_CPU_OPTIMIZER_STEPS
#define HONE_KERNELS_CPU_OPTIMIZER_STEPS
namespace hone::kernels {

// The numbers of one step, the same for all elements.
struct SgdStep {
  float rate, scale, momentum, weight_decay;
  bool nesterov;
};
struct AdamWStep {
  float scale, beta1, rest1, beta2, rest2;  // rest: 1 - beta
  float kept;                               // 1 - rate·weight_decay
  float rate;                               // over the first moment's bias correction
  float root;                               // 1 / √(the second moment's bias correction)
  float epsilon;
};
// A stretch of one tensor; outputs may be inputs.
struct SgdStretch {
  const float *x, *g, *v;  // v: null without momentum
  float *x_out, *v_out;
};
struct AdamWStretch {
  const float *x, *g, *m, *v;
  float *x_out, *m_out, *v_out;
};

}  // namespace hone::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// `n` <= kLanes elements from i on.
HWY_INLINE void sgd_vector(const SgdStretch& t, const SgdStep& s, int64_t i, int64_t n) {
  const VF x = load_up_to(t.x + i, n);
  const VF g = hn::MulAdd(splat(s.weight_decay), x, hn::Mul(splat(s.scale), load_up_to(t.g + i, n)));
  VF step = g;
  if (t.v != nullptr) {
    const VF v = hn::MulAdd(splat(s.momentum), load_up_to(t.v + i, n), g);
    store_up_to(v, t.v_out + i, n);
    step = s.nesterov ? hn::MulAdd(splat(s.momentum), v, g) : v;
  }
  store_up_to(hn::NegMulAdd(splat(s.rate), step, x), t.x_out + i, n);
}

void SgdRange(const SgdStretch& t, const SgdStep& s, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) sgd_vector(t, s, i, std::min(kLanes, n - i));
}

HWY_INLINE void adamw_vector(const AdamWStretch& t, const AdamWStep& s, int64_t i, int64_t n) {
  const VF g = hn::Mul(splat(s.scale), load_up_to(t.g + i, n));
  const VF m = hn::MulAdd(splat(s.beta1), load_up_to(t.m + i, n), hn::Mul(splat(s.rest1), g));
  const VF v = hn::MulAdd(splat(s.beta2), load_up_to(t.v + i, n), hn::Mul(splat(s.rest2), hn::Mul(g, g)));
  const VF root = hn::MulAdd(hn::Sqrt(v), splat(s.root), splat(s.epsilon));
  const VF x = hn::Mul(splat(s.kept), load_up_to(t.x + i, n));
  store_up_to(m, t.m_out + i, n);
  store_up_to(v, t.v_out + i, n);
  store_up_to(hn::NegMulAdd(splat(s.rate), hn::Div(m, root), x), t.x_out + i, n);
}

void AdamWRange(const AdamWStretch& t, const AdamWStep& s, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) adamw_vector(t, s, i, std::min(kLanes, n - i));
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(SgdRange);
HWY_EXPORT(AdamWRange);
constexpr int64_t kOptimizerGrain = 16384;  // elements worth a thread

const float* at(TensorGroup group, std::size_t tensor, int64_t first) {
  return static_cast<const float*>(group[tensor]) + first;
}
float* at(TensorGroupOut group, std::size_t tensor, int64_t first) {
  return static_cast<float*>(group[tensor]) + first;
}

// What a scale of NaN asks for. Outputs may be their inputs.
void keep_as_they_are(std::span<const int64_t> sizes, TensorGroup in, TensorGroupOut out,
                      std::size_t element = sizeof(float)) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] != out[i]) std::memcpy(out[i], in[i], static_cast<std::size_t>(sizes[i]) * element);
}

std::size_t bytes_of_parameters(const std::optional<StochasticRounding>& rounding) {
  return rounding ? sizeof(uint16_t) : sizeof(float);
}

Status check_optimizer(const std::vector<int64_t>& sizes, const std::optional<StochasticRounding>& rounding) {
  for (int64_t size : sizes)
    if (size < 0) return invalid(fmt::format("an optimizer's tensor of {} elements", size));
  if (rounding && rounding->numbers.size() != sizes.size())
    return invalid(fmt::format("{} numbers for {} parameters", rounding->numbers.size(), sizes.size()));
  return {};
}

// Updates elements [first, last) of a parameter of bf16, tile by tile: `update` is given a tile in f32, and where it begins.
template <typename Update>
void update_rounded(const StochasticRounding& rounding, int64_t updates, std::size_t tensor, const void* x,
                    void* x_out, int64_t first, int64_t last, const Update& update) {
  alignas(64) float values[kRoundedTile];
  const uint64_t stream = RoundingBits::stream(rounding.numbers[tensor], updates);
  while (first < last) {
    const int64_t count = std::min(last, (first / kRoundedTile + 1) * kRoundedTile) - first;
    widen_bf16(static_cast<const uint16_t*>(x) + first, values, count);
    update(values, first, count);
    round_stochastically(values, first, count, rounding.seed, stream, static_cast<uint16_t*>(x_out) + first);
    first += count;
  }
}

}  // namespace

TensorList::TensorList(std::span<const int64_t> sizes) {
  int64_t end = 0;
  for (int64_t size : sizes) ends_.push_back(end += size);
}

template <typename F>
void TensorList::for_stretches(int64_t begin, int64_t end, const F& f) const {
  auto at_end = std::upper_bound(ends_.begin(), ends_.end(), begin);
  for (auto tensor = static_cast<std::size_t>(at_end - ends_.begin()); begin < end; ++tensor) {
    const int64_t start = tensor == 0 ? 0 : ends_[tensor - 1];
    const int64_t last = std::min(end, ends_[tensor]);
    if (begin < last) f(tensor, begin - start, last - start);
    begin = std::max(begin, last);
  }
}

Result<Sgd> Sgd::create(SgdDesc desc) {
  HONE_CHECK(check_optimizer(desc.sizes, desc.rounding));
  if (desc.nesterov && desc.momentum == 0) return invalid("Nesterov's step needs a momentum");
  return Sgd(std::move(desc));
}

void Sgd::execute(float rate, float scale, int64_t updates, TensorGroup x, TensorGroup gradient,
                  TensorGroup v, TensorGroupOut x_out, TensorGroupOut v_out) const noexcept {
  if (std::isnan(scale)) {
    keep_as_they_are(desc_.sizes, x, x_out, bytes_of_parameters(desc_.rounding));
    return keep_as_they_are(desc_.sizes, v.first(v_out.size()), v_out);
  }
  const SgdStep step{rate, scale, desc_.momentum, desc_.weight_decay, desc_.nesterov};
  const bool momentum = desc_.momentum != 0;
  parallel_for(list_.elements(), kOptimizerGrain, [&](int64_t begin, int64_t end, int) {
    list_.for_stretches(begin, end, [&](std::size_t i, int64_t first, int64_t last) {
      const auto update = [&](const float* from, float* to, int64_t start, int64_t count) {
        const SgdStretch stretch{from, at(gradient, i, start), momentum ? at(v, i, start) : nullptr, to,
                                 momentum ? at(v_out, i, start) : nullptr};
        HWY_DYNAMIC_DISPATCH(SgdRange)(stretch, step, count);
      };
      if (!desc_.rounding) return update(at(x, i, first), at(x_out, i, first), first, last - first);
      update_rounded(*desc_.rounding, updates, i, x[i], x_out[i], first, last,
                     [&](float* tile, int64_t start, int64_t count) { update(tile, tile, start, count); });
    });
  });
}

Result<AdamW> AdamW::create(AdamWDesc desc) {
  HONE_CHECK(check_optimizer(desc.sizes, desc.rounding));
  return AdamW(std::move(desc));
}

void AdamW::execute(float rate, int64_t updates, float scale, TensorGroup x, TensorGroup gradient,
                    TensorGroup m, TensorGroup v, TensorGroupOut x_out, TensorGroupOut m_out,
                    TensorGroupOut v_out) const noexcept {
  if (std::isnan(scale)) {
    keep_as_they_are(desc_.sizes, x, x_out, bytes_of_parameters(desc_.rounding));
    keep_as_they_are(desc_.sizes, m, m_out);
    return keep_as_they_are(desc_.sizes, v, v_out);
  }
  const double beta1 = desc_.beta1;
  const double beta2 = desc_.beta2;
  const double t = static_cast<double>(updates) + 1;
  AdamWStep step{};
  step.scale = scale;
  step.beta1 = desc_.beta1;
  step.rest1 = static_cast<float>(1 - beta1);
  step.beta2 = desc_.beta2;
  step.rest2 = static_cast<float>(1 - beta2);
  step.kept = static_cast<float>(1 - static_cast<double>(rate) * static_cast<double>(desc_.weight_decay));
  step.rate = static_cast<float>(static_cast<double>(rate) / (1 - std::pow(beta1, t)));
  step.root = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)));
  step.epsilon = desc_.epsilon;
  parallel_for(list_.elements(), kOptimizerGrain, [&](int64_t begin, int64_t end, int) {
    list_.for_stretches(begin, end, [&](std::size_t i, int64_t first, int64_t last) {
      const auto update = [&](const float* from, float* to, int64_t start, int64_t count) {
        const AdamWStretch stretch{from, at(gradient, i, start), at(m, i, start),    at(v, i, start),
                                   to,   at(m_out, i, start),    at(v_out, i, start)};
        HWY_DYNAMIC_DISPATCH(AdamWRange)(stretch, step, count);
      };
      if (!desc_.rounding) return update(at(x, i, first), at(x_out, i, first), first, last - first);
      update_rounded(*desc_.rounding, updates, i, x[i], x_out[i], first, last,
                     [&](float* tile, int64_t start, int64_t count) { update(tile, tile, start, count); });
    });
  });
}

}  // namespace hone::kernels
#endif
