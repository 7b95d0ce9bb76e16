// The pattern of scaled dot-product attention, found but not changed: recognise_attention.cpp rewrites it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "passes/rewrite.h"

namespace hone::passes {

inline constexpr double kNever = -1e4;  // exp of this and below is 0 beside any score

// Something that keeps scores from counting, in the order in which it is applied.
struct AttentionMask {
  ValueId added;      // an additive mask; or
  ValueId condition;  // a bool mask: where `keep_when` the score counts, elsewhere it is `otherwise`
  bool keep_when = true;
  ValueId otherwise;                  // scalar constant
  std::vector<int64_t> scores_shape;  // of the scores that it is applied to
};

struct AttentionPattern {
  ValueId q;             // [lead…, T, D]
  ValueId k_transposed;  // [lead…, D, S]
  ValueId v;             // [lead…, S, Dv]
  double scale = 1;      // on the scores
  std::vector<AttentionMask> masks;
  std::vector<NodeId> nodes;  // of the pattern, in topological order
  ValueId result;             // [lead…, T, Dv]
};

// The attention around a Softmax; a text that says why it is none; empty text where nobody would expect one.
std::variant<AttentionPattern, std::string> match_attention(const GraphBuilder& builder, NodeId softmax);

// A value without the products with scalars that make it; `scale` is multiplied by them.
ValueId without_scale(const GraphBuilder& builder, ValueId value, double& scale);

}  // namespace hone::passes
