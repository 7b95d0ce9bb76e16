// Fused attention. A task is a run of queries of one head. Keys are walked block by block: the block of K is
// packed once, transposed, into panels that stay in the L1/L2 cache; for every few queries a register-blocked
// product gives their scores, the softmax is carried along (running maximum and sum), and a second product
// adds P·V to the accumulator. Both products are the same micro-kernel: R rows × 4 vectors of accumulators, R
// chosen so that accumulators, one row of B and a broadcast fill the register file.
#include "kernels/cpu/attention/attention.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#ifndef HONE_KERNELS_CPU_ATTENTION_TASK_H_  // once, not per target
#define HONE_KERNELS_CPU_ATTENTION_TASK_H_
namespace hone::kernels::internal {

// Keys of a block: scores of a few queries against them stay in L1 with the packed block.
inline constexpr int64_t kKeyBlock = 128;
inline constexpr int64_t kMaxLanes = 16;
inline constexpr int64_t kMaxRows = 8;

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// One task's view of the operands: base pointers at its head and first query.
struct AttentionTask {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* mask = nullptr;
  float* out = nullptr;
  int64_t first_query = 0;
  int64_t queries = 0;
  float* scratch = nullptr;
};

// A task's scratch: where each part stands behind `at`, and how many floats all take.
struct AttentionScratch {
  AttentionScratch(const AttentionDesc& desc, int64_t queries, float* at)
      : key_width(round_up(desc.head_dim, kMaxLanes)), value_width(round_up(desc.value_dim, kMaxLanes)) {
    const auto take = [&](float*& part, int64_t count) {
      part = at == nullptr ? nullptr : at + floats;
      floats += count;
    };
    take(keys, key_width * kKeyBlock);
    take(values, value_width * kKeyBlock);
    take(sums_of_values, value_width * queries);
    take(maxima, round_up(queries, kMaxLanes));
    take(totals, round_up(queries, kMaxLanes));
    take(scores, kMaxRows * kKeyBlock);
    take(queries_packed, kMaxRows * key_width);
  }

  int64_t key_width, value_width;
  float* keys = nullptr;            // Kᵀ of a block
  float* values = nullptr;          // V of a block, where it needs packing
  float* sums_of_values = nullptr;  // of each query, weighted
  float* maxima = nullptr;          // of each query's scores so far
  float* totals = nullptr;          // of each query's weights so far
  float* scores = nullptr;          // of a block, kMaxRows queries
  float* queries_packed = nullptr;  // Q, where it needs packing
  int64_t floats = 0;
};

}  // namespace hone::kernels::internal
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::internal {
namespace HWY_NAMESPACE {
using namespace hone::kernels::HWY_NAMESPACE;  // NOLINT: the helpers of this target
namespace hn = hwy::HWY_NAMESPACE;

// Turns a row of scores into weights e^(score - max) and brings `max` and `total` of its query up to date.
// Returns the factor by which what was summed with the maximum before shrinks.
float weigh(const AttentionDesc& desc, const float* mask, int64_t visible, int64_t width, float* row,
            float& max, float& total) {
  const float before = max;
  max = std::max(before, finish_scores(row, width, visible, desc.scale, mask, desc.mask.column));
  // A row that has seen no key yet keeps the exponent finite, so that hidden scores become 0.
  const float finite_max = max == -INFINITY ? 0.0f : max;
  const float factor = before == -INFINITY ? 0.0f : std::exp(before - finite_max);
  total = total * factor + exponentiate(row, width, finite_max);
  return factor;
}

// out := the sums of weighted values over the sums of weights; 0 where a query saw no key.
void write_means(const AttentionDesc& desc, const AttentionTask& task, const float* sums_of_values,
                 int64_t value_width, const float* totals) {
  for (int64_t query = 0; query < task.queries; ++query) {
    const float* from = sums_of_values + query * value_width;
    float* to = task.out + query * desc.out.row;
    const float inverse = totals[query] == 0.0f ? 0.0f : 1.0f / totals[query];
    if (desc.out.column != 1) {
      for (int64_t c = 0; c < desc.value_dim; ++c) to[c * desc.out.column] = from[c] * inverse;
      continue;
    }
    int64_t c = 0;
    for (; c + kLanes <= desc.value_dim; c += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(kF32, from + c), splat(inverse)), kF32, to + c);
    }
    if (c < desc.value_dim) {
      store_first(hn::Mul(hn::LoadU(kF32, from + c), splat(inverse)), to + c, desc.value_dim - c);
    }
  }
}

void AttentionRun(const AttentionDesc& desc, const AttentionTask& task) {
  const int64_t depth = desc.head_dim;
  const int64_t value_vectors = (desc.value_dim + kLanes - 1) / kLanes;
  const AttentionScratch at(desc, task.queries, task.scratch);
  const bool q_dense = desc.q.column == 1;
  const bool v_dense = desc.v.column == 1 && desc.value_dim % kLanes == 0;
  std::fill_n(at.maxima, task.queries, -INFINITY);
  std::fill_n(at.totals, task.queries, 0.0f);
  std::fill_n(at.sums_of_values, at.value_width * task.queries, 0.0f);

  int64_t keys = desc.keys;
  if (desc.causal) {
    keys = std::min(keys, task.first_query + task.queries + desc.causal_offset);
  }
  for (int64_t first = 0; first < keys; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, keys - first);
    const int64_t vectors = (count + kLanes - 1) / kLanes;
    const int64_t width = vectors * kLanes;
    pack_keys(task.k + first * desc.k.row, desc.k, count, depth, at.keys);
    const float* values = task.v + first * desc.v.row;
    int64_t value_stride = desc.v.row;
    if (!v_dense) {
      pack_rows(values, desc.v, count, desc.value_dim, at.value_width, at.values);
      values = at.values;
      value_stride = at.value_width;
    }
    for (int64_t query = 0; query < task.queries; query += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, task.queries - query);
      // Keys of this block that query + r sees; with a causal mask a block may be beyond all of these rows.
      const auto visible = [&](int64_t r) HWY_ATTR {
        const int64_t limit = task.first_query + query + r + desc.causal_offset + 1 - first;
        return desc.causal ? std::max<int64_t>(0, std::min(count, limit)) : count;
      };
      if (visible(rows - 1) == 0) continue;
      const float* q = task.q + query * desc.q.row;
      int64_t q_stride = desc.q.row;
      if (!q_dense) {
        pack_rows(q, desc.q, rows, depth, at.key_width, at.queries_packed);
        q = at.queries_packed;
        q_stride = at.key_width;
      }
      product_rows(rows, q, q_stride, at.keys, kPanel, depth, at.scores, kKeyBlock, nullptr, vectors,
                   kPanel * depth);
      float factors[kRows];
      for (int64_t r = 0; r < rows; ++r) {
        const float* mask = task.mask;
        if (mask != nullptr) mask += (query + r) * desc.mask.row + first * desc.mask.column;
        factors[r] = weigh(desc, mask, visible(r), width, at.scores + r * kKeyBlock, at.maxima[query + r],
                           at.totals[query + r]);
      }
      product_rows(rows, at.scores, kKeyBlock, values, value_stride, count,
                   at.sums_of_values + query * at.value_width, at.value_width, factors, value_vectors,
                   kVectors * kLanes);
    }
  }
  write_means(desc, task, at.sums_of_values, at.value_width, at.totals);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace internal {
HWY_EXPORT(AttentionRun);
}  // namespace internal

Result<Attention> Attention::create(const AttentionDesc& desc) {
  const bool negative =
      desc.batch < 0 || desc.heads < 0 || desc.queries < 0 || desc.keys < 0 || desc.value_dim < 0;
  if (negative || desc.head_dim <= 0) return invalid("attention: negative or empty extent");
  if (desc.kv_heads <= 0 || desc.heads % desc.kv_heads != 0) {
    return invalid(fmt::format("attention: {} query heads over {} key heads", desc.heads, desc.kv_heads));
  }
  Attention kernel;
  kernel.desc_ = desc;
  kernel.threads_ = thread_count();
  // Long runs of queries pay the packing of K least; enough tasks to even out the threads come first.
  // Accumulators of 256 queries still leave most of a 1 MiB L2 to the keys.
  const int64_t wanted = 4 * kernel.threads_;
  const int64_t heads = std::max<int64_t>(desc.batch * desc.heads, 1);
  const int64_t split = heads >= wanted ? 1 : (wanted + heads - 1) / heads;
  const int64_t per_task = std::max<int64_t>((desc.queries + split - 1) / split, 24);
  kernel.queries_per_task_ =
      std::min<int64_t>({internal::round_up(per_task, 6), 252, std::max<int64_t>(desc.queries, 1)});
  kernel.tasks_per_head_ = (desc.queries + kernel.queries_per_task_ - 1) / kernel.queries_per_task_;
  const auto floats =
      static_cast<std::size_t>(internal::AttentionScratch(desc, kernel.queries_per_task_, nullptr).floats);
  kernel.scratch_per_thread_ = (floats * sizeof(float) + 63) / 64 * 64;
  return kernel;
}

void Attention::execute(const float* q, const float* k, const float* v, const float* mask, float* out,
                        void* scratch) const noexcept {
  const AttentionDesc& d = desc_;
  const int64_t tasks = d.batch * d.heads * tasks_per_head_;
  const double flops = 2.0 * static_cast<double>(d.batch * d.heads * d.queries) *
                       static_cast<double>(d.keys * (d.head_dim + d.value_dim));
  const int threads = flops < 500'000 ? 1 : threads_;
  parallel_tasks(tasks, threads, [&](int64_t index, int thread) {
    const int64_t head = index / tasks_per_head_ % d.heads;
    const int64_t batch = index / tasks_per_head_ / d.heads;
    const int64_t kv_head = head / (d.heads / d.kv_heads);
    internal::AttentionTask task;
    task.first_query = index % tasks_per_head_ * queries_per_task_;
    task.queries = std::min(queries_per_task_, d.queries - task.first_query);
    task.q = q + batch * d.q.batch + head * d.q.head + task.first_query * d.q.row;
    task.k = k + batch * d.k.batch + kv_head * d.k.head;
    task.v = v + batch * d.v.batch + kv_head * d.v.head;
    if (d.masked)
      task.mask = mask + batch * d.mask.batch + head * d.mask.head + task.first_query * d.mask.row;
    task.out = out + batch * d.out.batch + head * d.out.head + task.first_query * d.out.row;
    task.scratch =
        static_cast<float*>(scratch) + static_cast<std::size_t>(thread) * scratch_per_thread_ / sizeof(float);
    HWY_DYNAMIC_DISPATCH(internal::AttentionRun)(d, task);
  });
}

}  // namespace hone::kernels
#endif
