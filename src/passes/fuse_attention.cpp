#include "passes/fuse_attention.h"

#include <algorithm>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

bool is_attention(const Node& node) {
  return node.op == "Attention" || node.op == "hone.AttentionWithSums" || node.op == "hone.AttentionGradient";
}

class AttentionFuser {
 public:
  AttentionFuser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (is_attention(graph.nodes()[i]) && !builder_.erased(NodeId{i})) HONE_CHECK(visit(NodeId{i}));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // The attention with its splits, and with it all others that read those: a split stays in place for all of them or is
  // computed for all.
  Status visit(NodeId attention) {
    const Node node = builder_.node(attention);
    std::vector<NodeId> together = {attention};
    bool parts = false;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto split = node.has_input(i) ? produced_by(builder_, node.inputs[i], "Split") : std::nullopt;
      if (!split || !parts_rows(*split)) continue;
      const auto readers = attentions_of(*split);
      if (readers.empty()) {
        outcome_.missed.push_back(
            {node.name, fmt::format("does not read the parts of Split '{}' in place: they "
                                    "have other readers",
                                    builder_.node(*split).name)});
        continue;
      }
      parts = true;
      for (const NodeId reader : readers)
        if (std::find(together.begin(), together.end(), reader) == together.end()) together.push_back(reader);
    }
    return parts || joined_by(attention) ? fuse(together, node.name) : Status();
  }

  Status fuse(const std::vector<NodeId>& together, const std::string& name) {
    GraphBuilder trial = builder_;
    std::vector<Note> done;
    for (const NodeId attention : together) {
      HONE_ASSIGN(const std::string what, fuse_one(trial, attention));
      if (what.empty()) {
        outcome_.missed.push_back(
            {name, "does not read the parts of its Split in place: the target has no kernel for the group"});
        return {};
      }
      done.push_back({builder_.node(attention).name, what});
    }
    builder_ = std::move(trial);
    outcome_.done.insert(outcome_.done.end(), done.begin(), done.end());
    return {};
  }

  // What was done; empty where the target has no kernel.
  Result<std::string> fuse_one(GraphBuilder& builder, NodeId attention) {
    std::vector<NodeId> nodes;
    std::string names;
    for (std::size_t i = 0; i < 3; ++i) {
      const Node& node = builder.node(attention);
      const auto split = node.has_input(i) ? produced_by(builder, node.inputs[i], "Split") : std::nullopt;
      if (!split || std::find(nodes.begin(), nodes.end(), *split) != nodes.end() || !parts_rows(*split) ||
          attentions_of(*split).empty())
        continue;
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", builder.node(*split).name);
      nodes.push_back(own_split(builder, *split, attention));
    }
    std::sort(nodes.begin(), nodes.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
    nodes.push_back(attention);
    std::string what = names.empty() ? "" : fmt::format("reads the parts of Split {} where they lie", names);
    if (const auto concat = joined_by(attention)) {
      what += fmt::format("{}writes into '{}'", what.empty() ? "" : ", ", builder.node(*concat).name);
      nodes.push_back(*concat);
    }
    HONE_ASSIGN(Group group, make_group(builder, nodes, graph::GroupKind::kAttention));
    if (!runs_group(target_, builder, group)) return std::string();
    HONE_CHECK(put_group(builder, std::move(group)));
    return what;
  }

  // The split, or where others read it, too, one of the attention's own.
  static NodeId own_split(GraphBuilder& builder, NodeId split, NodeId attention) {
    bool shared = false;
    for (const ValueId part : builder.node(split).outputs)
      for (const NodeId user : builder.users(part)) shared = shared || user != attention;
    if (!shared) return split;
    const Node node = builder.node(split);
    builder.replacing({split});
    const std::vector<ValueId> parts =
        builder.add_many("Split", node.inputs, node.outputs.size(), node.attributes, node.name);
    builder.replacing({});
    const std::size_t count = std::min<std::size_t>(3, builder.node(attention).inputs.size());
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId input = builder.node(attention).inputs[i];
      const auto part = std::find(node.outputs.begin(), node.outputs.end(), input);
      if (part != node.outputs.end())
        builder.replace_input(attention, i, parts[static_cast<std::size_t>(part - node.outputs.begin())]);
    }
    return builder.value(parts[0]).producer;
  }

  // Parts of the rows of a matrix [batch, rows, columns], into known columns.
  bool parts_rows(NodeId split) const {
    const Node& node = builder_.node(split);
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    const int64_t axis = node.attributes.integer("axis", 0);
    return type.is_static() && type.rank() == 3 && (axis == 2 || axis == -1) &&
           (!node.has_input(1) || builder_.value(node.inputs[1]).is_constant());
  }

  // The attentions and gradients that read the parts, if nothing else does, and as queries, keys or values.
  std::vector<NodeId> attentions_of(NodeId split) const {
    std::vector<NodeId> readers;
    for (const ValueId part : builder_.node(split).outputs) {
      if (!part.valid() || builder_.is_output(part)) return {};
      for (const NodeId user : builder_.users(part)) {
        const std::vector<ValueId>& inputs = builder_.node(user).inputs;
        if (!is_attention(builder_.node(user)) ||
            std::find(inputs.begin() + 3, inputs.end(), part) != inputs.end())
          return {};
        if (std::find(readers.begin(), readers.end(), user) == readers.end()) readers.push_back(user);
      }
    }
    return readers;
  }

  // What alone reads the gradients and makes rows of them.
  std::optional<NodeId> joined_by(NodeId gradient) const {
    const Node& node = builder_.node(gradient);
    if (node.op != "hone.AttentionGradient" || !node.has_output(0)) return std::nullopt;
    const auto concat = only_reader(builder_, node.outputs[0]);
    if (!concat || builder_.node(*concat).op != "Concat") return std::nullopt;
    const Node& joins = builder_.node(*concat);
    const graph::TensorType& type = builder_.type(joins.outputs[0]);
    const int64_t axis = joins.attributes.integer("axis", 0);
    const auto is_gradient = [&](ValueId input) {
      return std::find(node.outputs.begin(), node.outputs.end(), input) != node.outputs.end() &&
             only_reader(builder_, input) == concat;
    };
    const bool rows = type.is_static() && type.rank() == 3 && (axis == 2 || axis == -1);
    if (!rows || joins.inputs.size() != 3 ||
        !std::all_of(joins.inputs.begin(), joins.inputs.end(), is_gradient))
      return std::nullopt;
    return concat;
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
