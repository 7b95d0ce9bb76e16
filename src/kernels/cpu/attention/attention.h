// Fused scaled-dot-product attention in f32: softmax(scale·Q·Kᵀ + mask)·V without the Tq×Tk matrix in memory
// (FlashAttention: Dao et al. 2022; online softmax: Milakov and Gimelshein 2018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"

namespace hone::kernels {

// Where element [batch, head, row, column] of an operand lies, in elements. Any layout fits: [B,H,T,D],
// [B,T,H,D], a slice of a packed QKV matrix, K already transposed. A column stride of 1 is fast for Q, V and
// the output.
struct AttentionStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  int64_t column = 1;
};

struct AttentionDesc {
  int64_t batch = 1;
  int64_t heads = 1;      // of Q
  int64_t kv_heads = 1;   // of K and V; divides heads: query head h reads h / (heads / kv_heads)
  int64_t queries = 0;    // Tq
  int64_t keys = 0;       // Tk
  int64_t head_dim = 0;   // of Q and K
  int64_t value_dim = 0;  // of V and the output
  float scale = 1;
  bool causal = false;        // query i sees keys j <= i + causal_offset
  int64_t causal_offset = 0;  // keys - queries where the queries are the last ones of a cached sequence
  AttentionStrides q = {}, k = {}, v = {}, out = {};
  bool masked = false;  // with an additive mask, f32, strides 0 where it is broadcast
  AttentionStrides mask = {};
};

class Attention {
 public:
  static Result<Attention> create(const AttentionDesc& desc);
  std::size_t scratch_bytes() const { return scratch_per_thread_ * static_cast<std::size_t>(threads_); }
  // The output overlaps no input. A query that may see no key gives zeros. Scratch is aligned to 64 bytes.
  void execute(const float* q, const float* k, const float* v, const float* mask, float* out,
               void* scratch) const noexcept;

 private:
  AttentionDesc desc_;
  int64_t queries_per_task_ = 0;
  int64_t tasks_per_head_ = 0;
  std::size_t scratch_per_thread_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels
