#include "passes/fuse_pointwise.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// A group's kernel keeps a tile of each live value in the L1 cache: more operators or inputs than this spill.
constexpr std::size_t kMaxOperators = 24;
constexpr std::size_t kMaxInputs = 8;

constexpr uint32_t kNoGroup = 0xffffffffu;

// What pointwise programs compute, with all their operands present.
constexpr std::string_view kFusible[] = {"Add",         "Sub",       "Mul",
                                         "Div",         "Pow",       "Sum",
                                         "Max",         "Min",       "Neg",
                                         "Abs",         "Sign",      "Sqrt",
                                         "Reciprocal",  "Exp",       "Log",
                                         "Sin",         "Cos",       "Tan",
                                         "Asin",        "Acos",      "Atan",
                                         "Sinh",        "Cosh",      "Tanh",
                                         "Asinh",       "Acosh",     "Atanh",
                                         "Erf",         "Floor",     "Ceil",
                                         "Round",       "Relu",      "LeakyRelu",
                                         "PRelu",       "Sigmoid",   "HardSigmoid",
                                         "Swish",       "HardSwish", "Mish",
                                         "Elu",         "Celu",      "Selu",
                                         "Softplus",    "Softsign",  "ThresholdedRelu",
                                         "Shrink",      "Equal",     "Less",
                                         "LessOrEqual", "Greater",   "GreaterOrEqual",
                                         "IsNaN",       "And",       "Or",
                                         "Xor",         "Not",       "Where",
                                         "Cast",        "Gelu",      "Clip",
                                         "Mod"};

bool is_fusible_type(const graph::TensorType& type) {
  const bool dtype = type.dtype == DType::kF32 || type.dtype == DType::kI64 || type.dtype == DType::kI32 ||
                     type.dtype == DType::kBool;
  return dtype && type.is_static() && type.layout == Layout::kPlain;
}

bool is_fusible(const GraphBuilder& builder, const Node& node) {
  const bool known = std::find(std::begin(kFusible), std::end(kFusible), node.op) != std::end(kFusible);
  if (!known || node.outputs.size() != 1 || !is_fusible_type(builder.type(node.outputs[0]))) return false;
  return element_count(builder.type(node.outputs[0]).shape()) > 0 &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input.valid() && is_fusible_type(builder.type(input)); });
}

class PointwiseFuser {
 public:
  explicit PointwiseFuser(const graph::Graph& graph)
      : builder_(graph), group_(graph.nodes().size(), kNoGroup) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (is_fusible(builder_, graph.nodes()[i])) join_producers(i);
    }
    for (const std::vector<NodeId>& nodes : groups_) {
      if (nodes.size() < 2 || !is_read(nodes)) continue;
      const Node last = builder_.node(nodes.back());
      HONE_ASSIGN(const NodeId made, fuse(builder_, nodes, "pointwise"));
      outcome_.done.push_back({last.name, fmt::format("{} pointwise operators fused: {}", nodes.size(),
                                                      operators(*builder_.node(made).bodies[0]))});
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
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
      const NodeId producer = builder_.value(input).producer;
      if (!producer.valid() || group_[producer.index] == kNoGroup || group_[producer.index] == group_[i])
        continue;
      if (builder_.type(input).shape() != builder_.type(node.outputs[0]).shape()) continue;
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
    if (joined.size() > kMaxOperators)
      return refuse(fmt::format("the group would have {} operators", joined.size()));
    if (const std::size_t count = outside_inputs(joined); count > kMaxInputs)
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
  std::vector<uint32_t> group_;              // of each node
  std::vector<std::vector<NodeId>> groups_;  // members in topological order; empty where merged away
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_pointwise(const graph::Graph& graph, const PassContext& context) {
  if (!context.target.fused_pointwise) return PassOutcome{graph, {}, {}};
  return PointwiseFuser(graph).run(graph);
}

}  // namespace hone::passes
