// A task is one head of K and V with all query heads that share it, so that no two add to one gradient. Of a few queries at a
// time: S = Q·Kᵀ and F = dY·Vᵀ over all keys that they see, the weights P of S, dS = P∘(F - Σ P∘F)·scale, then dV += Pᵀ·dY,
// dK += dSᵀ·Q and dQ = dS·K, all by the micro-kernel of attention.
#include "kernels/cpu/attention/attention_gradient.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#ifndef HONE_KERNELS_CPU_ATTENTION_GRADIENT_TASK_H_  // once, not per target
#define HONE_KERNELS_CPU_ATTENTION_GRADIENT_TASK_H_
namespace hone::kernels::internal {

inline constexpr int64_t kMostLanes = 16;
inline constexpr int64_t kMostPanel = 64;  // keys of the widest panel

inline int64_t up_to(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// One task's view of the operands: base pointers at its batch, and at its head of K and V.
struct AttentionGradientTask {
  const float *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr, *dy = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;
  int64_t first_head = 0, heads = 0;  // of Q
  int64_t queries_at_once = 0;
  float* scratch = nullptr;
};

// A task's scratch: where each part stands behind `at`, and how many floats all take.
struct AttentionGradientScratch {
  AttentionGradientScratch(const AttentionDesc& desc, int64_t queries, float* at)
      : key_width(up_to(desc.head_dim, kMostLanes)),
        value_width(up_to(desc.value_dim, kMostLanes)),
        row_width(up_to(desc.keys, kMostPanel)),
        turned_width(up_to(queries, kMostLanes)) {
    const auto take = [&](float*& part, int64_t count) {
      part = at == nullptr ? nullptr : at + floats;
      floats += up_to(count, kMostLanes);
    };
    take(keys_across, row_width * desc.head_dim);
    take(values_across, row_width * desc.value_dim);
    take(keys, desc.keys * key_width);
    take(dk, row_width * key_width);
    take(dv, row_width * value_width);
    take(queries_packed, queries * key_width);
    take(dy, queries * value_width);
    take(dq, queries * key_width);
    take(scores, queries * row_width);
    take(flows, queries * row_width);
    take(turned, row_width * turned_width);
  }

  int64_t key_width, value_width, row_width, turned_width;
  float *keys_across = nullptr, *values_across = nullptr;  // Kᵀ and Vᵀ in panels
  float* keys = nullptr;                                   // K, a row a key
  float *dk = nullptr, *dv = nullptr;
  float *queries_packed = nullptr, *dy = nullptr, *dq = nullptr;  // of the queries at work
  float* scores = nullptr;                                        // S, then P
  float* flows = nullptr;                                         // F, then dS
  float* turned = nullptr;                                        // either of them, a row a key
  int64_t floats = 0;
};

}  // namespace hone::kernels::internal
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_gradient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {

int64_t vectors_of(int64_t columns) { return (columns + kLanes - 1) / kLanes; }

// C[rows × columns] = A[rows × depth]·B, a few rows at a time. B in panels of kPanel columns, or in rows `b_stride` apart.
void rows_times(const float* a, int64_t a_stride, int64_t rows, const float* b, int64_t b_stride,
                int64_t panel_stride, int64_t depth, float* c, int64_t c_stride, int64_t columns,
                const float* factors) {
  for (int64_t row = 0; row < rows; row += kRows)
    product_rows(std::min<int64_t>(kRows, rows - row), a + row * a_stride, a_stride, b, b_stride, depth,
                 c + row * c_stride, c_stride, factors, vectors_of(columns), panel_stride);
}

// `scores` becomes the row's weights P, `flow` dS = P∘(flow - Σ P∘flow)·scale. Hidden keys have neither.
void turn_row(const AttentionDesc& desc, const float* mask, int64_t visible, int64_t width, float* scores,
              float* flow) {
  const float max = finish_scores(scores, width, visible, desc.scale, mask, desc.mask.column);
  if (visible <= 0 || max == -INFINITY) {
    std::fill_n(scores, width, 0.0F);
    std::fill_n(flow, width, 0.0F);
    return;
  }
  const VF inverse = splat(1 / exponentiate(scores, width, max));
  VF along = hn::Zero(kF32);
  for (int64_t j = 0; j < width; j += kLanes) {
    const VF p = hn::Mul(hn::LoadU(kF32, scores + j), inverse);
    hn::StoreU(p, kF32, scores + j);
    along = hn::MulAdd(p, hn::LoadU(kF32, flow + j), along);
  }
  const VF mean = splat(sum_of(along)), factor = splat(desc.scale);
  for (int64_t j = 0; j < width; j += kLanes) {
    const VF p = hn::Mul(hn::LoadU(kF32, scores + j), factor);
    hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(kF32, flow + j), mean)), kF32, flow + j);
  }
  // Nothing reaches a score that is hidden, whatever the others are.
  std::fill(flow + std::min(visible, width), flow + width, 0.0F);
}

// sum[keys × columns] += wᵀ·x for w[rows × keys], x[rows × columns in `x_stride`].
void add_turned(const AttentionGradientScratch& at, const float* w, int64_t rows, int64_t keys,
                const float* x, int64_t x_stride, int64_t columns, float* sum) {
  constexpr float kOnes[kRows] = {1, 1, 1, 1, 1, 1};
  transpose_block(w, at.row_width, rows, keys, at.turned, at.turned_width);
  rows_times(at.turned, at.turned_width, keys, x, x_stride, kPanel, rows, sum, x_stride, columns, kOnes);
}

void write_rows(const float* from, int64_t width, int64_t rows, int64_t columns,
                const AttentionStrides& strides, float* to) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < columns; ++c) to[row * strides.row + c * strides.column] = from[row * width + c];
}

void queries_of_head(const AttentionGradientDesc& gradient, const AttentionGradientTask& task, int64_t head,
                     const AttentionGradientScratch& at) {
  const AttentionDesc& desc = gradient.forward;
  const float* const q = task.q + head * desc.q.head;
  const float* const dy = task.dy + head * desc.out.head;
  for (int64_t first = 0; first < desc.queries; first += task.queries_at_once) {
    const int64_t rows = std::min(task.queries_at_once, desc.queries - first);
    // Keys that the last of these queries sees.
    const int64_t last = first + rows + desc.causal_offset;
    const int64_t keys = desc.causal ? std::clamp<int64_t>(last, 0, desc.keys) : desc.keys;
    pack_rows(q + first * desc.q.row, desc.q, rows, desc.head_dim, at.key_width, at.queries_packed);
    pack_rows(dy + first * desc.out.row, desc.out, rows, desc.value_dim, at.value_width, at.dy);
    rows_times(at.queries_packed, at.key_width, rows, at.keys_across, kPanel, kPanel * desc.head_dim,
               desc.head_dim, at.scores, at.row_width, keys, nullptr);
    rows_times(at.dy, at.value_width, rows, at.values_across, kPanel, kPanel * desc.value_dim, desc.value_dim,
               at.flows, at.row_width, keys, nullptr);
    for (int64_t row = 0; row < rows; ++row) {
      const float* mask = task.mask;
      if (mask != nullptr) mask += head * desc.mask.head + (first + row) * desc.mask.row;
      const int64_t seen = desc.causal ? std::min(keys, first + row + 1 + desc.causal_offset) : keys;
      turn_row(desc, mask, seen, vectors_of(keys) * kLanes, at.scores + row * at.row_width,
               at.flows + row * at.row_width);
    }
    add_turned(at, at.scores, rows, keys, at.dy, at.value_width, desc.value_dim, at.dv);
    add_turned(at, at.flows, rows, keys, at.queries_packed, at.key_width, desc.head_dim, at.dk);
    rows_times(at.flows, at.row_width, rows, at.keys, at.key_width, kPanel, keys, at.dq, at.key_width,
               desc.head_dim, nullptr);
    write_rows(at.dq, at.key_width, rows, desc.head_dim, gradient.dq,
               task.dq + head * gradient.dq.head + first * gradient.dq.row);
  }
}

void AttentionGradientRun(const AttentionGradientDesc& gradient, const AttentionGradientTask& task) {
  const AttentionDesc& desc = gradient.forward;
  const AttentionGradientScratch at(desc, task.queries_at_once, task.scratch);
  pack_keys(task.k, desc.k, desc.keys, desc.head_dim, at.keys_across);
  pack_keys(task.v, desc.v, desc.keys, desc.value_dim, at.values_across);
  pack_rows(task.k, desc.k, desc.keys, desc.head_dim, at.key_width, at.keys);
  std::fill_n(at.dk, at.row_width * at.key_width, 0.0F);
  std::fill_n(at.dv, at.row_width * at.value_width, 0.0F);
  for (int64_t head = task.first_head; head < task.first_head + task.heads; ++head)
    queries_of_head(gradient, task, head, at);
  write_rows(at.dk, at.key_width, desc.keys, desc.head_dim, gradient.dk, task.dk);
  write_rows(at.dv, at.value_width, desc.keys, desc.value_dim, gradient.dv, task.dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace internal {
HWY_EXPORT(AttentionGradientRun);
}  // namespace internal

Result<AttentionGradient> AttentionGradient::create(const AttentionGradientDesc& desc) {
  const AttentionDesc& d = desc.forward;
  HONE_CHECK(Attention::create(d));
  if (d.keys <= 0 || d.value_dim <= 0) return unsupported("the gradient of attention over no keys or values");
  // Rows of scores that stay in the L2 cache beside what the task packs; more of them make the sums over queries longer.
  constexpr int64_t kRowsFloats = 48 * 1024, kMostRows = 48, kFewestRows = 6;
  AttentionGradient kernel;
  kernel.desc_ = desc;
  kernel.threads_ = thread_count();
  const int64_t fitting = kRowsFloats / d.keys / kFewestRows * kFewestRows;
  kernel.queries_at_once_ = std::clamp(fitting, kFewestRows, kMostRows);
  const internal::AttentionGradientScratch scratch(d, kernel.queries_at_once_, nullptr);
  kernel.scratch_per_thread_ = (static_cast<std::size_t>(scratch.floats) * sizeof(float) + 63) / 64 * 64;
  return kernel;
}

void AttentionGradient::execute(const float* q, const float* k, const float* v, const float* mask,
                                const float* dy, float* dq, float* dk, float* dv,
                                void* scratch) const noexcept {
  const AttentionDesc& d = desc_.forward;
  const int64_t shared = d.heads / d.kv_heads;
  parallel_tasks(d.batch * d.kv_heads, threads_, [&](int64_t index, int thread) {
    const int64_t kv_head = index % d.kv_heads, batch = index / d.kv_heads;
    internal::AttentionGradientTask task;
    task.first_head = kv_head * shared;
    task.heads = shared;
    task.queries_at_once = queries_at_once_;
    task.q = q + batch * d.q.batch;
    task.dy = dy + batch * d.out.batch;
    task.dq = dq + batch * desc_.dq.batch;
    task.k = k + batch * d.k.batch + kv_head * d.k.head;
    task.v = v + batch * d.v.batch + kv_head * d.v.head;
    task.dk = dk + batch * desc_.dk.batch + kv_head * desc_.dk.head;
    task.dv = dv + batch * desc_.dv.batch + kv_head * desc_.dv.head;
    if (d.masked) task.mask = mask + batch * d.mask.batch;
    task.scratch =
        static_cast<float*>(scratch) + static_cast<std::size_t>(thread) * scratch_per_thread_ / sizeof(float);
    HWY_DYNAMIC_DISPATCH(internal::AttentionGradientRun)(desc_, task);
  });
}

}  // namespace hone::kernels
#endif
