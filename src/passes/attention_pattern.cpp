#include "passes/attention_pattern.h"

#include <algorithm>

#include <fmt/core.h>

namespace hone::passes {
namespace {

constexpr int kMostScoreSteps = 12;  // between the product and the softmax

// Mul or Div by a known scalar: the operand and the factor.
std::optional<ScalarOperand> scaled(const GraphBuilder& builder, const Node& node) {
  if (node.op == "Mul") return scalar_operand(builder, node);
  if (node.op != "Div") return std::nullopt;
  const auto divisor = scalar_constant(builder, node.inputs[1]);
  if (!divisor || *divisor == 0) return std::nullopt;
  return ScalarOperand{node.inputs[0], 1 / *divisor};
}

bool is_score_product(const GraphBuilder& builder, const Node& node) {
  return node.op == "MatMul" && builder.type(node.inputs[0]).has_rank() &&
         builder.type(node.inputs[0]).rank() >= 3 && !builder.value(node.inputs[0]).is_constant() &&
         !builder.value(node.inputs[1]).is_constant();
}

bool is_attention_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

bool leads_to_product(const GraphBuilder& builder, ValueId value, int steps = 0) {
  const Node* node = value.valid() ? builder.producer(value) : nullptr;
  if (node == nullptr || steps > kMostScoreSteps) return false;
  if (is_score_product(builder, *node)) return true;
  if (node->op == "Reshape") return leads_to_product(builder, node->inputs[0], steps + 1);
  if (scaled(builder, *node)) return leads_to_product(builder, scaled(builder, *node)->value, steps + 1);
  if (node->op != "Add" && node->op != "Where") return false;
  return std::any_of(node->inputs.begin(), node->inputs.end(), [&](ValueId input) {
    return is_attention_type(builder.type(input).dtype) && leads_to_product(builder, input, steps + 1);
  });
}

bool keeps_last_two(const GraphBuilder& builder, ValueId a, ValueId b) {
  const graph::TensorType& from = builder.type(a);
  const graph::TensorType& to = builder.type(b);
  if (!from.is_static() || !to.is_static() || from.rank() < 3 || to.rank() < 3) return false;
  const Shape x = from.shape();
  const Shape y = to.shape();
  return std::equal(x.end() - 2, x.end(), y.end() - 2);
}

class Matcher {
 public:
  Matcher(const GraphBuilder& builder, NodeId softmax) : builder_(builder), softmax_(softmax) {}

  std::variant<AttentionPattern, std::string> run() {
    const Node& node = builder_.node(softmax_);
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    if (!leads_to_product(builder_, node.inputs[0])) return std::string();
    if (!type.is_static()) return std::string("its extents are not all known");
    if (!is_attention_type(type.dtype)) return std::string("it is not f32, f16 or bf16");
    const int64_t axis = node.attributes.integer("axis", -1);
    if (axis != -1 && axis != type.rank() - 1) return std::string("its softmax is not over the last axis");
    pattern_.nodes.push_back(softmax_);
    if (auto why = match_scores(node.inputs[0]); !why.empty()) return why;
    if (auto why = match_values(node.outputs[0]); !why.empty()) return why;
    std::sort(pattern_.nodes.begin(), pattern_.nodes.end(),
              [](NodeId a, NodeId b) { return a.index < b.index; });
    return std::move(pattern_);
  }

 private:
  // Walks from the softmax back to the product Q·Kᵀ.
  std::string match_scores(ValueId value) {
    for (int step = 0; step <= kMostScoreSteps; ++step) {
      if (!only_reader(builder_, value))
        return fmt::format("'{}' has other readers", builder_.value(value).name);
      const NodeId id = builder_.value(value).producer;
      if (!id.valid()) return "it is not computed by a product";
      const Node& node = builder_.node(id);
      pattern_.nodes.push_back(id);
      if (is_score_product(builder_, node)) {
        pattern_.q = without_scale(builder_, node.inputs[0], pattern_.scale);
        pattern_.k_transposed = without_scale(builder_, node.inputs[1], pattern_.scale);
        return "";
      }
      std::string why;
      value = step_back(node, why);
      if (!why.empty()) return why;
    }
    return "too many operators between the product and the softmax";
  }

  ValueId step_back(const Node& node, std::string& why) {
    if (node.op == "Reshape" && keeps_last_two(builder_, node.inputs[0], node.outputs[0]))
      return node.inputs[0];
    if (const auto factor = scaled(builder_, node)) {
      pattern_.scale *= factor->scalar;
      scaled_ = true;
      return factor->value;
    }
    // Walking backwards, so what comes after a scale was applied before it.
    if (scaled_ && (node.op == "Add" || node.op == "Where")) {
      why = "its scores are masked before they are scaled";
      return {};
    }
    if (node.op == "Add") return step_over_add(node, why);
    if (node.op == "Where") return step_over_where(node, why);
    why = fmt::format("{} '{}' stands between the product and the softmax", node.op, node.name);
    return {};
  }

  ValueId step_over_add(const Node& node, std::string& why) {
    const std::size_t at = leads_to_product(builder_, node.inputs[0]) ? 0 : 1;
    const ValueId scores = node.inputs[at];
    if (builder_.type(scores) != builder_.type(node.outputs[0])) why = "its mask is larger than its scores";
    AttentionMask mask;
    mask.added = node.inputs[1 - at];
    mask.scores_shape = builder_.type(node.outputs[0]).shape();
    pattern_.masks.push_back(mask);
    return scores;
  }

  ValueId step_over_where(const Node& node, std::string& why) {
    const std::size_t at = leads_to_product(builder_, node.inputs[1]) ? 1 : 2;
    const ValueId scores = node.inputs[at];
    const auto otherwise = scalar_constant(builder_, node.inputs[3 - at]);
    if (builder_.type(scores) != builder_.type(node.outputs[0])) why = "its mask is larger than its scores";
    if (!otherwise || *otherwise > kNever) why = "its masked scores are not a large negative number";
    AttentionMask mask;
    mask.condition = node.inputs[0];
    mask.keep_when = at == 1;
    mask.otherwise = node.inputs[3 - at];
    mask.scores_shape = builder_.type(node.outputs[0]).shape();
    pattern_.masks.push_back(mask);
    return scores;
  }

  // Walks from the softmax forward to the product with V.
  std::string match_values(ValueId value) {
    value = past_nan_guard(value);
    for (int step = 0; step < 3; ++step) {
      const auto reader = only_reader(builder_, value);
      if (!reader) return fmt::format("'{}', its weights, has other readers", builder_.value(value).name);
      const Node& node = builder_.node(*reader);
      pattern_.nodes.push_back(*reader);
      if (node.op == "MatMul" && node.inputs[0] == value && node.inputs[1] != value) {
        pattern_.v = node.inputs[1];
        pattern_.result = node.outputs[0];
        return "";
      }
      if (node.op != "Reshape" || !keeps_last_two(builder_, value, node.outputs[0]))
        return fmt::format("{} '{}' stands between the softmax and the product with V", node.op, node.name);
      value = node.outputs[0];
    }
    return "no product with V follows";
  }

  // torch turns rows without any score from NaN to 0: Where(IsNaN(p), 0, p). The Attention of this graph has
  // no such rows that count: fully masked ones are not defined there.
  ValueId past_nan_guard(ValueId value) {
    const std::vector<NodeId> users = builder_.users(value);
    if (users.size() != 2 || builder_.is_output(value)) return value;
    for (std::size_t i = 0; i < 2; ++i) {
      const Node& test = builder_.node(users[i]);
      const Node& where = builder_.node(users[1 - i]);
      if (test.op != "IsNaN" || where.op != "Where" || where.inputs[0] != test.outputs[0] ||
          scalar_constant(builder_, where.inputs[1]) != 0.0 || where.inputs[2] != value ||
          only_reader(builder_, test.outputs[0]) != users[1 - i]) {
        continue;
      }
      pattern_.nodes.push_back(users[i]);
      pattern_.nodes.push_back(users[1 - i]);
      return where.outputs[0];
    }
    return value;
  }

  const GraphBuilder& builder_;
  NodeId softmax_;
  AttentionPattern pattern_;
  bool scaled_ = false;
};

}  // namespace

ValueId without_scale(const GraphBuilder& builder, ValueId value, double& scale) {
  for (;;) {
    const Node* node = builder.producer(value);
    const auto factor = node != nullptr ? scaled(builder, *node) : std::nullopt;
    if (!factor || builder.type(factor->value) != builder.type(value)) return value;
    scale *= factor->scalar;
    value = factor->value;
  }
}

std::variant<AttentionPattern, std::string> match_attention(const GraphBuilder& builder, NodeId softmax) {
  return Matcher(builder, softmax).run();
}

}  // namespace hone::passes
