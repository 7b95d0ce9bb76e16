#include "passes/fuse_pointwise.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr uint32_t kNoGroup = 0xffffffffu;

// Whether pointwise groups of the target may hold `node`: every operand present, of a type that the
// operator's row of the table has.
bool is_fusible(const GraphBuilder& builder, const Node& node, const graph::Capabilities& takes) {
  const graph::PointwiseCapability* row = takes.find_pointwise(node.op);
  if (row == nullptr || node.outputs.size() != 1 || !node.has_output(0)) return false;
  const graph::TensorType& result = builder.type(node.outputs[0]);
  if (!result.is_static() || element_count(result.shape()) == 0) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has_input(i) && (i == 0 || !row->optional_operands)) return false;
    if (!node.has_input(i)) continue;
    const graph::TensorType& type = builder.type(node.inputs[i]);
    if (!type.is_static() || !row->types.holds(type.dtype)) return false;
  }
  return true;
}

class PointwiseFuser {
 public:
  PointwiseFuser(const graph::Graph& graph, const Target& target)
      : builder_(graph), target_(target), group_(graph.nodes().size(), kNoGroup) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (is_fusible(builder_, graph.nodes()[i], target_.takes)) join_producers(i);
    }
    for (const std::vector<NodeId>& nodes : groups_) {
      if (nodes.size() < 2 || !is_read(nodes)) continue;
      HONE_CHECK(make(nodes));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status make(const std::vector<NodeId>& nodes) {
    const Node last = builder_.node(nodes.back());
    HONE_ASSIGN(Group group, make_group(builder_, nodes, graph::GroupKind::kPointwise));
    const std::string held = operators(*group.node.bodies[0]);
    if (!runs_group(target_, builder_, group)) {
      outcome_.missed.push_back(
          {last.name,
           fmt::format("{} pointwise operators not fused, the target has no kernel for the group: {}",
                       nodes.size(), held)});
      return {};
    }
    HONE_CHECK(put_group(builder_, std::move(group)));
    outcome_.done.push_back({last.name, fmt::format("{} pointwise operators fused: {}", nodes.size(), held)});
    return {};
  }

  static std::string operators(const graph::Graph& body) {
    std::string names;
    for (const Node& node : body.nodes()) names += (names.empty() ? "" : ", ") + node.op;
    return names;
  }

  // Something outside reads a result: what nothing reads needs no kernel.
  bool is_read(const std::vector<NodeId>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      const ValueId result = builder_.node(id).outputs[0];
      const std::vector<NodeId> users = builder_.users(result);
      return builder_.is_output(result) ||
             !std::all_of(users.begin(), users.end(), [&](NodeId user) { return contains(nodes, user); });
    });
  }

  // Node i starts a group of its own, then takes in the groups of its producers, one after the other.
  void join_producers(uint32_t i) {
    const Node& node = builder_.node(NodeId{i});
    group_[i] = static_cast<uint32_t>(groups_.size());
    groups_.push_back({NodeId{i}});
    for (ValueId input : node.inputs) {
      const NodeId producer = input.valid() ? builder_.value(input).producer : NodeId{};
      if (!producer.valid() || group_[producer.index] == kNoGroup || group_[producer.index] == group_[i])
        continue;
      const graph::TensorType& type = builder_.type(input);
      const graph::TensorType& result = builder_.type(node.outputs[0]);
      if (type.shape() != result.shape() || type.layout != result.layout) continue;
      merge(group_[producer.index], i);
    }
  }

  void merge(uint32_t before, uint32_t i) {
    std::vector<NodeId> joined = groups_[before];
    const std::vector<NodeId>& own = groups_[group_[i]];
    joined.insert(joined.end(), own.begin(), own.end());
    std::sort(joined.begin(), joined.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
    const Node& node = builder_.node(NodeId{i});
    const std::string& other = builder_.node(groups_[before].back()).name;
    const auto refuse = [&](const std::string& why) {
      outcome_.missed.push_back({node.name, fmt::format("{} not fused with '{}': {}", node.op, other, why)});
    };
    if (joined.size() > target_.takes.pointwise_operators)
      return refuse(fmt::format("the group would have {} operators", joined.size()));
    if (const std::size_t count = outside_inputs(joined); count > target_.takes.pointwise_inputs)
      return refuse(fmt::format("the group would read {} tensors", count));
    if (depends_on_itself(joined)) return refuse("other operators between them must run first");
    const uint32_t old = group_[i];
    for (NodeId id : joined) group_[id.index] = before;
    groups_[before] = std::move(joined);
    groups_[old].clear();
  }

  // Tensors that the group reads from memory: scalars known ahead become part of its program.
  std::size_t outside_inputs(const std::vector<NodeId>& nodes) const {
    std::set<uint32_t> values;
    for (NodeId id : nodes) {
      for (ValueId input : builder_.node(id).inputs) {
        if (!input.valid()) continue;
        const NodeId producer = builder_.value(input).producer;
        const bool inside = producer.valid() && contains(nodes, producer);
        const Tensor* constant = constant_data(builder_, input);
        if (!inside && !(constant != nullptr && constant->size() == 1)) values.insert(input.index);
      }
    }
    return values.size();
  }

  static bool contains(const std::vector<NodeId>& sorted, NodeId id) {
    return std::binary_search(sorted.begin(), sorted.end(), id,
                              [](NodeId a, NodeId b) { return a.index < b.index; });
  }

  // Whether something outside stands between `nodes`: a walk back from what they read, in which every group
  // counts as one node, meets them again.
  bool depends_on_itself(const std::vector<NodeId>& nodes) const {
    std::vector<bool> seen(group_.size(), false);
    std::vector<NodeId> stack;
    bool met = false;
    const auto visit_producers = [&](NodeId id, bool from_inside) {
      for (ValueId input : builder_.node(id).inputs) {
        if (!input.valid()) continue;
        const NodeId producer = builder_.value(input).producer;
        if (!producer.valid() || seen[producer.index]) continue;
        if (contains(nodes, producer)) {
          met = met || !from_inside;
          continue;
        }
        const uint32_t group = group_[producer.index];
        const std::vector<NodeId> alone{producer};
        for (NodeId member : group == kNoGroup ? alone : groups_[group]) {
          if (seen[member.index]) continue;
          seen[member.index] = true;
          stack.push_back(member);
        }
      }
    };
    for (NodeId id : nodes) visit_producers(id, true);
    while (!stack.empty() && !met) {
      const NodeId id = stack.back();
      stack.pop_back();
      visit_producers(id, false);
    }
    return met;
  }

  GraphBuilder builder_;
  const Target& target_;
  std::vector<uint32_t> group_;              // of each node
  std::vector<std::vector<NodeId>> groups_;  // members in topological order; empty where merged away
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_pointwise(const graph::Graph& graph, const PassContext& context) {
  if (context.target.takes.pointwise_operators == 0) return PassOutcome{graph, {}, {}};
  return PointwiseFuser(graph, context.target).run(graph);
}

}  // namespace hone::passes
