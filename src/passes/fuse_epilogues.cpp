#include "passes/fuse_epilogues.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr std::size_t kMaxEpilogue = 8;  // longer chains gain nothing over a pointwise group

constexpr std::array<std::string_view, 14> kActivations = {
    "Relu",      "LeakyRelu",   "Clip", "Sigmoid", "Tanh",     "Gelu", "Swish",
    "HardSwish", "HardSigmoid", "Elu",  "Mish",    "Softplus", "Exp",  "Abs"};

bool is_activation(const GraphBuilder& builder, const Node& node) {
  if (std::find(kActivations.begin(), kActivations.end(), node.op) == kActivations.end()) return false;
  // Clip's bounds are inputs: known ones only.
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.has_input(i) && !scalar_constant(builder, node.inputs[i])) return false;
  }
  return true;
}

class EpilogueFuser {
 public:
  explicit EpilogueFuser(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    // Backwards: of two convolutions that meet in an Add, the later one takes it, and the earlier result is
    // there by then.
    for (uint32_t i = static_cast<uint32_t>(graph.nodes().size()); i-- > 0;) {
      const Node& node = graph.nodes()[i];
      const bool convolution = node.op == "Conv" || node.op == "ConvTranspose";
      const bool matrix = node.op == "MatMul" || node.op == "Gemm";
      if (!builder_.erased(NodeId{i}) && (convolution || matrix))
        HONE_CHECK(grow(NodeId{i}, convolution ? "convolution" : "matmul"));
    }
    std::reverse(outcome_.done.begin(), outcome_.done.end());
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status grow(NodeId anchor, const char* kind) {
    std::vector<NodeId> nodes{anchor};
    std::string names;
    if (builder_.type(builder_.node(anchor).outputs[0]).dtype != DType::kF32) return {};
    while (nodes.size() <= kMaxEpilogue) {
      const ValueId value = builder_.node(nodes.back()).outputs[0];
      const auto reader = only_reader(builder_, value);
      if (!reader) {
        note_shared(value, nodes);
        break;
      }
      if (!fits(*reader, value, kind) || repeats(*reader, nodes)) break;
      nodes.push_back(*reader);
      names += (names.empty() ? "" : ", ") + builder_.node(*reader).op;
    }
    const ValueId last = builder_.node(nodes.back()).outputs[0];
    const bool read = builder_.is_output(last) || !builder_.users(last).empty();
    if (nodes.size() == 1 || !read) return {};  // what nothing reads needs no kernel
    const std::string anchor_name = builder_.node(anchor).name;
    const std::string anchor_op = builder_.node(anchor).op;
    HONE_ASSIGN(const NodeId group, fuse(builder_, nodes, kind));
    (void)group;
    outcome_.done.push_back({anchor_name, fmt::format("{} fused with {}", anchor_op, names)});
    return {};
  }

  // Whether the node is an activation that the group has already, perhaps with other parameters: the vendor
  // library takes each function once.
  bool repeats(NodeId id, const std::vector<NodeId>& nodes) {
    auto function = [&](NodeId node) -> std::string_view {
      const std::string& op = builder_.node(node).op;
      return op == "LeakyRelu" ? "Relu" : op == "HardSigmoid" ? "Clip" : std::string_view(op);
    };
    return is_activation(builder_, builder_.node(id)) &&
           std::any_of(nodes.begin() + 1, nodes.end(),
                       [&](NodeId node) { return function(node) == function(id); });
  }

  bool fits(NodeId id, ValueId value, std::string_view kind) {
    const Node& node = builder_.node(id);
    if (node.outputs.size() != 1 || builder_.type(node.outputs[0]) != builder_.type(value)) return false;
    if (is_activation(builder_, node)) return node.inputs[0] == value;
    if (node.op != "Add" && node.op != "Mul" && node.op != "Sub" && node.op != "Div") return false;
    const auto operand = other_operand(node, value);
    if (!operand || ((node.op == "Sub" || node.op == "Div") && node.inputs[0] != value)) return false;
    const graph::TensorType& type = builder_.type(*operand);
    if (type.dtype != DType::kF32 || !type.is_static() || !builder_.type(value).is_static()) return false;
    if (type.shape() == builder_.type(value).shape()) return true;
    return builder_.value(*operand).is_constant() &&
           broadcasts_along_one_axis(type.shape(), builder_.type(value).shape(), kind);
  }

  // A scalar, or one number a channel (convolution: axis 1) or a column (matmul: the last axis).
  static bool broadcasts_along_one_axis(const Shape& operand, const Shape& result, std::string_view kind) {
    if (element_count(operand) == 1) return operand.size() <= result.size();
    if (operand.size() > result.size()) return false;
    const std::size_t axis = kind == "convolution" ? 1 : result.size() - 1;
    const std::size_t offset = result.size() - operand.size();
    for (std::size_t i = 0; i < operand.size(); ++i) {
      if (operand[i] != (offset + i == axis ? result[axis] : 1)) return false;
    }
    return axis >= offset;
  }

  void note_shared(ValueId value, const std::vector<NodeId>& nodes) {
    if (builder_.is_output(value)) return;
    const std::vector<NodeId> users = builder_.users(value);
    const Node& node = builder_.node(nodes.back());
    for (NodeId user : users) {
      if (!is_class(builder_.node(user), graph::OpClass::kPointwise)) continue;
      outcome_.missed.push_back(
          {node.name, fmt::format("{} '{}' not fused behind {}: its result has {} readers",
                                  builder_.node(user).op, builder_.node(user).name, node.op, users.size())});
      return;
    }
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_epilogues(const graph::Graph& graph, const PassContext& context) {
  if (!context.target.fused_epilogues) return PassOutcome{graph, {}, {}};
  return EpilogueFuser(graph).run(graph);
}

}  // namespace hone::passes
