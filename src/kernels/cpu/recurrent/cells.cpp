// Recurrent cells.
#include "kernels/cpu/recurrent/cells.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#ifndef HONE_KERNELS_CPU_RECURRENT_ROWS_  // once, not per target
#define HONE_KERNELS_CPU_RECURRENT_ROWS_
namespace hone::kernels::internal {

// One batch row.
struct LstmRow {
  const float* gates;
  const float* peephole;
  const float* c_previous;
  float* c;
  float* h;
};

enum class GruPart : uint8_t { kWhole, kReset, kFinish };

struct GruRow {
  const float* x_gates;
  const float* h_gates;  // kFinish: the candidate's product
  const float* h_previous;
  float* update;
  float* result;  // h, or r·h for kReset
};

}  // namespace hone::kernels::internal
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent/cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;  // NOLINT: the helpers of this target
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE VF activate(CellActivation activation, VF x) {
  if (activation == CellActivation::kSigmoid) return sigmoid_f32(x);
  if (activation == CellActivation::kTanh) return tanh_f32(x);
  return max_second(hn::Zero(kF32), x);
}

HWY_INLINE VF limited(VF x, float clip) {
  return clip > 0 ? min_second(splat(clip), max_second(splat(-clip), x)) : x;
}

void LstmStep(const LstmCellDesc& d, const LstmRow& row) {
  const int64_t n = d.hidden;
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t left = std::min(kLanes, n - j);
    const VF before = load_up_to(row.c_previous + j, left);
    VF i = load_up_to(row.gates + j, left), o = load_up_to(row.gates + n + j, left);
    VF f = load_up_to(row.gates + 2 * n + j, left), g = load_up_to(row.gates + 3 * n + j, left);
    if (row.peephole != nullptr) {
      i = hn::MulAdd(load_up_to(row.peephole + j, left), before, i);
      f = hn::MulAdd(load_up_to(row.peephole + 2 * n + j, left), before, f);
    }
    i = activate(d.gate, limited(i, d.clip));
    f = d.input_forget ? hn::Sub(splat(1.0f), i) : activate(d.gate, limited(f, d.clip));
    g = activate(d.cell, limited(g, d.clip));
    const VF c = hn::MulAdd(f, before, hn::Mul(i, g));
    if (row.peephole != nullptr) o = hn::MulAdd(load_up_to(row.peephole + n + j, left), c, o);
    o = activate(d.gate, limited(o, d.clip));
    store_up_to(c, row.c + j, left);
    store_up_to(hn::Mul(o, activate(d.output, c)), row.h + j, left);
  }
}

void GruStep(const GruCellDesc& d, GruPart part, const GruRow& row) {
  const int64_t n = d.hidden;
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t left = std::min(kLanes, n - j);
    const VF before = load_up_to(row.h_previous + j, left);
    VF z, candidate = load_up_to(row.x_gates + 2 * n + j, left);
    if (part == GruPart::kFinish) {
      z = load_up_to(row.update + j, left);
      candidate = hn::Add(candidate, load_up_to(row.h_gates + j, left));
    } else {
      z = hn::Add(load_up_to(row.x_gates + j, left), load_up_to(row.h_gates + j, left));
      z = activate(d.gate, limited(z, d.clip));
      VF r = hn::Add(load_up_to(row.x_gates + n + j, left), load_up_to(row.h_gates + n + j, left));
      r = activate(d.gate, limited(r, d.clip));
      if (part == GruPart::kReset) {
        store_up_to(z, row.update + j, left);
        store_up_to(hn::Mul(r, before), row.result + j, left);
        continue;
      }
      candidate = hn::MulAdd(r, load_up_to(row.h_gates + 2 * n + j, left), candidate);
    }
    candidate = activate(d.cell, limited(candidate, d.clip));
    // (1 - z)·candidate + z·before
    store_up_to(hn::MulAdd(z, hn::Sub(before, candidate), candidate), row.result + j, left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace internal {
HWY_EXPORT(LstmStep);
HWY_EXPORT(GruStep);

namespace {

constexpr int64_t kParallelElements = 8192;

void run_gru(const GruCellDesc& d, GruPart part, const GruRow& first) {
  const int64_t h_stride = part == GruPart::kFinish ? d.hidden : d.gate_stride;
  parallel_for(d.batch, kParallelElements / d.hidden + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      GruRow row = first;
      row.x_gates += b * d.gate_stride;
      row.h_gates += b * h_stride;
      row.h_previous += b * d.hidden;
      if (row.update != nullptr) row.update += b * d.hidden;
      row.result += b * d.hidden;
      HWY_DYNAMIC_DISPATCH(GruStep)(d, part, row);
    }
  });
}

}  // namespace
}  // namespace internal

Result<LstmCell> LstmCell::create(const LstmCellDesc& desc) {
  if (desc.batch < 0 || desc.hidden <= 0) return invalid("lstm cell: empty or negative extent");
  LstmCell kernel;
  kernel.desc_ = desc;
  if (desc.gate_stride == 0) kernel.desc_.gate_stride = 4 * desc.hidden;
  return kernel;
}

void LstmCell::execute(const float* gates, const float* peephole, const float* c_previous, float* c,
                       float* h) const noexcept {
  const LstmCellDesc& d = desc_;
  parallel_for(d.batch, internal::kParallelElements / d.hidden + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * d.hidden;
      HWY_DYNAMIC_DISPATCH(internal::LstmStep)
      (d, {gates + b * d.gate_stride, peephole, c_previous + at, c + at, h + at});
    }
  });
}

Result<GruCell> GruCell::create(const GruCellDesc& desc) {
  if (desc.batch < 0 || desc.hidden <= 0) return invalid("gru cell: empty or negative extent");
  GruCell kernel;
  kernel.desc_ = desc;
  if (desc.gate_stride == 0) kernel.desc_.gate_stride = 3 * desc.hidden;
  return kernel;
}

void GruCell::execute(const float* x_gates, const float* h_gates, const float* h_previous,
                      float* h) const noexcept {
  internal::run_gru(desc_, internal::GruPart::kWhole, {x_gates, h_gates, h_previous, nullptr, h});
}

void GruCell::reset(const float* x_gates, const float* h_gates, const float* h_previous, float* update,
                    float* reset_h) const noexcept {
  internal::run_gru(desc_, internal::GruPart::kReset, {x_gates, h_gates, h_previous, update, reset_h});
}

void GruCell::finish(const float* x_gates, const float* candidate, const float* update,
                     const float* h_previous, float* h) const noexcept {
  internal::run_gru(desc_, internal::GruPart::kFinish,
                    {x_gates, candidate, h_previous, const_cast<float*>(update), h});
}

}  // namespace hone::kernels
#endif
