#include "passes/fuse_attention.h"

#include <algorithm>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

class AttentionFuser {
 public:
  AttentionFuser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph.nodes()[i].op == "Attention") HONE_CHECK(visit(NodeId{i}));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status visit(NodeId attention) {
    const Node node = builder_.node(attention);
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto split = node.has_input(i) ? produced_by(builder_, node.inputs[i], "Split") : std::nullopt;
      if (!split || !parts_rows(*split) || std::find(nodes.begin(), nodes.end(), *split) != nodes.end())
        continue;
      if (feeds_only(*split, attention)) {
        nodes.push_back(*split);
        continue;
      }
      outcome_.missed.push_back(
          {node.name, fmt::format("does not read the parts of Split '{}' in place: they "
                                  "have other readers",
                                  builder_.node(*split).name)});
    }
    if (nodes.empty()) return {};
    std::sort(nodes.begin(), nodes.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
    std::string names;
    for (NodeId split : nodes)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", builder_.node(split).name);
    nodes.push_back(attention);
    HONE_ASSIGN(Group group, make_group(builder_, nodes, graph::GroupKind::kAttention));
    if (!runs_group(target_, builder_, group)) {
      outcome_.missed.push_back(
          {node.name, fmt::format("does not read the parts of Split {} in place: the target "
                                  "has no kernel for the group",
                                  names)});
      return {};
    }
    HONE_CHECK(put_group(builder_, std::move(group)));
    outcome_.done.push_back({node.name, fmt::format("reads the parts of Split {} where they lie", names)});
    return {};
  }

  // Parts of the rows of a matrix [batch, rows, columns], into known columns.
  bool parts_rows(NodeId split) const {
    const Node& node = builder_.node(split);
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    const int64_t axis = node.attributes.integer("axis", 0);
    return type.is_static() && type.rank() == 3 && (axis == 2 || axis == -1) &&
           (!node.has_input(1) || builder_.value(node.inputs[1]).is_constant());
  }

  // Whether nothing but the operands of `attention` reads the parts.
  bool feeds_only(NodeId split, NodeId attention) const {
    for (ValueId part : builder_.node(split).outputs) {
      if (!part.valid() || builder_.is_output(part)) return false;
      const std::vector<NodeId> users = builder_.users(part);
      if (users.size() != 1 || users[0] != attention) return false;
      const std::vector<ValueId>& inputs = builder_.node(attention).inputs;
      if (std::find(inputs.begin() + 3, inputs.end(), part) != inputs.end()) return false;
    }
    return true;
  }

  GraphBuilder builder_;
  const Target& target_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_attention(const graph::Graph& graph, const PassContext& context) {
  if (!context.target.takes.split_attention) return PassOutcome{graph, {}, {}};
  return AttentionFuser(graph, context.target).run(graph);
}

}  // namespace hone::passes
