// What an Attention or its gradient is, alone or as a group of kind "attention" with the splits that part one matrix into its
// operands and what joins the gradients again: read once for every provider.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "runtime/lower/group_view.h"

namespace hone::runtime {

// One operand: [B, H, T, D], or [B, T, H·D] with the number of heads in an attribute, perhaps a part of wider rows.
struct AttentionOperand {
  std::size_t input = 0;   // of the plan's node
  int64_t offset = 0;      // of its first element there
  int64_t row_length = 0;  // of the rows that hold it; 0: its own
  int64_t heads = 0, rows = 0, columns = 0;
  std::array<int64_t, 3> strides{};  // of batches, heads and rows; the elements of a row lie together
};

// A mask that is broadcast to [B, H, Tq, Tk].
struct AttentionMask {
  std::size_t input = 0;             // of the plan's node
  std::array<int64_t, 4> strides{};  // of batches, heads, queries and keys; 0 where it is broadcast
};

struct NodeAttention {
  AttentionOperand q, k, v, out;  // `out` without an input
  int64_t batch = 0;
  float scale = 1;
  bool causal = false, masked = false;
  std::optional<AttentionMask> mask;  // where it is masked; none where the mask is shorter than the keys
  std::vector<std::size_t> unread;    // inputs that are known: the sizes of splits
  bool gives_sums = false;            // of each query's exponentials, as its second output
  // Of a gradient: the inputs that are the result and those sums, where they were kept.
  struct Kept {
    std::size_t result = 0, sums = 0;
  };
  std::optional<Kept> kept;
  std::array<AttentionOperand, 3> gradients =
      {};  // where those of q, k and v lie; `input` is the output that holds them
};

// An Attention or a hone.AttentionWithSums. nullopt for one with a cache, with other results, or a cap: no kernel takes those.
std::optional<NodeAttention> attention_of_node(const GroupView& group);

// A hone.AttentionGradient: `out` is where the output's gradient lies.
std::optional<NodeAttention> attention_gradient_of_node(const GroupView& group);
// The gradient of such a group; null where there is none.
const graph::Node* find_attention_gradient(const GroupView& group);

}  // namespace hone::runtime
