// Blocks of transformers, in the operators that exporters write: attention in MatMul and Softmax, GELU in its
// formula, heads split by Reshape and Transpose with extents read from the data.
#pragma once

#include "model/zoo/network.h"

namespace hone::model::zoo {

struct Heads {
  int64_t count = 12;
  int64_t width = 64;  // of one head
  int64_t hidden() const { return count * width; }
};

// MatMul with a weight stored [in, out], then Add: how a linear layer on [N, T, in] is exported.
ValueId linear(const Module& at, ValueId x, int64_t in, int64_t out, Initial initial = kTransformer);
// The same as Gemm, for [N, in] and with the weight as PyTorch stores it, [out, in].
ValueId linear_gemm(const Module& at, ValueId x, int64_t in, int64_t out, Initial initial = kTransformer);

enum class LayerNormForm { kOperator, kPrimitives };  // opset 17 and after; 16 and before
ValueId layer_norm(const Module& at, ValueId x, int64_t width, float epsilon, LayerNormForm form);

ValueId gelu_erf(const Module& at, ValueId x);   // x·(1 + erf(x/√2))·½
ValueId gelu_tanh(const Module& at, ValueId x);  // ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))

// What stands for the first places along `axes`, as many as `x` has along its second axis.
ValueId cut_to_length(const Module& at, ValueId places, ValueId x, const Ints& axes);

// [N, T, hidden] to [N, heads, T, width]; keys to [N, heads, width, T], ready for the product.
ValueId split_heads(const Module& at, ValueId x, const Heads& heads);
ValueId split_heads_transposed(const Module& at, ValueId x, const Heads& heads);
// [N, heads, T, width] back to [N, T, hidden].
ValueId merge_heads(const Module& at, ValueId x, const Heads& heads);

// Attention on heads that are split (`keys` transposed), in the ways in which models are exported.
// - With a mask that is added to the scores: 0 where visible, the lowest float elsewhere.
ValueId attend_masked(const Module& at, ValueId queries, ValueId keys, ValueId values, ValueId added,
                      const Heads& heads);
// - Without a mask.
ValueId attend_all(const Module& at, ValueId queries, ValueId keys, ValueId values, const Heads& heads);
// - With a mask that chooses between the scores and the lowest float.
ValueId attend_where(const Module& at, ValueId queries, ValueId keys, ValueId values, ValueId visible,
                     const Heads& heads);
// - Without a mask; both operands are scaled before the product, as scaled_dot_product_attention is exported.
ValueId attend_scaled(const Module& at, ValueId queries, ValueId keys, ValueId values, const Heads& heads);

}  // namespace hone::model::zoo
