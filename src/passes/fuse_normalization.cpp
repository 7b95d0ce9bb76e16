#include "passes/fuse_normalization.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

class NormalizationFuser {
 public:
  NormalizationFuser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    // Backwards: what a gradient is added to is then where it was in the graph's order, and not in a group yet.
    for (uint32_t i = static_cast<uint32_t>(graph.nodes().size()); i-- > 0;)
      if (graph::is_row_normalization(graph.nodes()[i])) HONE_CHECK(grow(NodeId{i}));
    std::reverse(outcome_.done.begin(), outcome_.done.end());
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status grow(NodeId anchor) {
    const Node norm = builder_.node(anchor);
    if (!norm.has_output(0) || builder_.type(norm.outputs[0]).dtype != DType::kF32) return {};
    std::vector<NodeId> nodes{anchor};
    if (norm.op == "hone.LayerNormalizationGradient")
      if (const auto sum = sum_behind(anchor)) nodes.push_back(*sum);
    if (const auto cast = cast_of(builder_.node(nodes.back()).outputs[0])) nodes.push_back(*cast);
    if (nodes.size() == 1) return {};
    HONE_ASSIGN(Group group, make_group(builder_, nodes, graph::GroupKind::kNormalization));
    std::string names;
    for (const NodeId id : std::span(nodes).subspan(1))
      names += (names.empty() ? "" : ", ") + builder_.node(id).op;
    if (!runs_group(target_, builder_, group)) {
      outcome_.missed.push_back(
          {norm.name,
           fmt::format("{} not fused with {}: the target has no kernel for the group", norm.op, names)});
      return {};
    }
    HONE_CHECK(put_group(builder_, std::move(group)));
    outcome_.done.push_back({norm.name, fmt::format("{} fused with {}", norm.op, names)});
    return {};
  }

  // The Add that alone reads dx, of something that is there before the gradient is computed.
  std::optional<NodeId> sum_behind(NodeId anchor) const {
    const ValueId dx = builder_.node(anchor).outputs[0];
    const auto reader = only_reader(builder_, dx);
    if (!reader || builder_.node(*reader).op != "Add") return std::nullopt;
    const auto other = other_operand(builder_.node(*reader), dx);
    if (!other || builder_.type(*other) != builder_.type(dx)) return std::nullopt;
    const NodeId producer = builder_.value(*other).producer;
    return producer.valid() && producer.index > anchor.index ? std::nullopt : reader;
  }

  std::optional<NodeId> cast_of(ValueId value) const {
    for (const NodeId user : builder_.users(value)) {
      const Node& node = builder_.node(user);
      if (node.op != "Cast") continue;
      const DType to = builder_.type(node.outputs[0]).dtype;
      if (to == DType::kF16 || to == DType::kBF16) return user;
    }
    return std::nullopt;
  }

  GraphBuilder builder_;
  const Target& target_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_normalization(const graph::Graph& graph, const PassContext& context) {
  // Groups only where normalisations may store another type than they compute in, which the target is asked of each.
  if (!context.target.takes.narrow_normalizations) return PassOutcome{graph, {}, {}};
  return NormalizationFuser(graph, context.target).run(graph);
}

}  // namespace hone::passes
