// Scaled-dot-product attention under all the names of its implementations. Forward: the products Q·Kᵀ and
// P·V, 2·B·H·pairs·(D + Dv) FLOPs, where `pairs` are those of queries and keys that may attend. Backward:
// five products, for P is not kept and computed again. With the causal flag only pairs with key ≤ query
// count: the others have no influence on the result (torch.utils.flop_counter counts all).
#include <algorithm>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

enum Direction { kForward, kBackward };
enum Order {
  kHeadsFirst = 1,
  kSequenceFirst = 2
};  // [batch, heads, sequence, depth] or [b, s, h, d]; value: where heads stand

// Queries × keys of which the query may see the key; the first query sees the first key.
double attended_pairs(double queries, double keys, bool causal) {
  if (!causal) return queries * keys;
  const double full = std::min(queries, keys);  // rows that grow by one key each
  return full * (full + 1) / 2 + (queries - full) * keys;
}

struct Sizes {
  double batch, heads, queries, keys, depth, value_depth;
};

std::optional<Sizes> sizes_of(const CallInput& q, const CallInput& k, const CallInput& v, Order order) {
  if (q.dims.size() != 4 || k.dims.size() != 4 || v.dims.size() != 4) return std::nullopt;
  const std::size_t sequence = order == kHeadsFirst ? 2 : 1;
  const auto dim = [](const CallInput& tensor, std::size_t i) { return static_cast<double>(tensor.dims[i]); };
  return Sizes{dim(q, 0), dim(q, order), dim(q, sequence), dim(k, sequence), dim(q, 3), dim(v, 3)};
}

// The causal flag: a Boolean, or the number of a kind of mask of which 0 is none.
bool causal_flag(const Args& args, std::size_t at) {
  if (const auto flag = args.flag(at)) return *flag;
  return args.number(at).value_or(0) != 0;
}

template <Direction direction, Order order, std::size_t causal_at>
std::optional<OperatorCost> attention(const Args& args, const Entry&) {
  const std::size_t first = direction == kForward ? 0 : 1;  // after the gradient
  const CallInput *q = args.tensor(first), *k = args.tensor(first + 1), *v = args.tensor(first + 2);
  if (q == nullptr || k == nullptr || v == nullptr) return std::nullopt;
  const auto size = sizes_of(*q, *k, *v, order);
  if (!size) return std::nullopt;
  const bool causal = causal_flag(args, causal_at);
  const double rows = size->batch * size->heads * size->queries;
  const double pairs = size->batch * size->heads * attended_pairs(size->queries, size->keys, causal);
  const double out = rows * size->value_depth * static_cast<double>(dtype_size(q->dtype));
  const double statistics = rows * 4;  // log-sum-exp of each row, f32
  const double inputs = q->stored_bytes() + k->stored_bytes() + v->stored_bytes();
  OperatorCost cost;
  if (direction == kForward) {
    cost.flops = 2 * pairs * (size->depth + size->value_depth);
    cost.read = inputs;
    cost.written = out + statistics;
  } else {
    // P = Q·Kᵀ again, dQ, dK over the depth; dP, dV over the depth of values
    cost.flops = 2 * pairs * (3 * size->depth + 2 * size->value_depth);
    cost.read = inputs + 2 * out + statistics;
    cost.written = inputs;
  }
  cost.dtype = q->dtype;
  cost.geometry =
      fmt::format("{}attention, {}×{} heads, {} queries, {} keys, depth {}", causal ? "causal " : "",
                  size->batch, size->heads, size->queries, size->keys, size->depth);
  return cost;
}

constexpr Entry kAttentionTable[] = {
    {"_scaled_dot_product_flash_attention", kMatrix, attention<kForward, kHeadsFirst, 4>},
    {"_scaled_dot_product_flash_attention_for_cpu", kMatrix, attention<kForward, kHeadsFirst, 4>},
    {"_scaled_dot_product_efficient_attention", kMatrix, attention<kForward, kHeadsFirst, 6>},
    {"_scaled_dot_product_cudnn_attention", kMatrix, attention<kForward, kHeadsFirst, 6>},
    {"_flash_attention_forward", kMatrix, attention<kForward, kSequenceFirst, 8>},
    {"_efficient_attention_forward", kMatrix, attention<kForward, kSequenceFirst, 9>},
    {"_cudnn_attention_forward", kMatrix, attention<kForward, kHeadsFirst, 10>},
    {"_scaled_dot_product_flash_attention_backward", kMatrix, attention<kBackward, kHeadsFirst, 11>},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", kMatrix, attention<kBackward, kHeadsFirst, 7>},
    {"_scaled_dot_product_efficient_attention_backward", kMatrix, attention<kBackward, kHeadsFirst, 11>},
    {"_scaled_dot_product_cudnn_attention_backward", kMatrix, attention<kBackward, kHeadsFirst, 14>},
    {"_flash_attention_backward", kMatrix, attention<kBackward, kSequenceFirst, 11>},
    {"_efficient_attention_backward", kMatrix, attention<kBackward, kSequenceFirst, 14>},
    {"_cudnn_attention_backward", kMatrix, attention<kBackward, kHeadsFirst, 14>},
    // the flash-attn package: (q, k, v, dropout, scale, causal, …), (gradient, q, k, v, out, statistics, dq,
    // dk, dv, dropout, scale, causal, …)
    {"flash_attn::_flash_attn_forward", kMatrix, attention<kForward, kSequenceFirst, 5>},
    {"flash_attn::_flash_attn_backward", kMatrix, attention<kBackward, kSequenceFirst, 11>},
    // call the ones above, or products and a softmax
    {"scaled_dot_product_attention", kMatrix},
    {"_scaled_dot_product_attention_math", kMatrix},
    {"_native_multi_head_attention", kMatrix},
};

}  // namespace

std::span<const Entry> attention_operators() { return kAttentionTable; }

}  // namespace hone::trace::aten
