#include "passes/fuse_epilogues.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

using graph::GroupKind;

class EpilogueFuser {
 public:
  EpilogueFuser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    // Backwards: of two convolutions that meet in an Add, the later one takes it, and the earlier result is
    // there by then.
    for (uint32_t i = static_cast<uint32_t>(graph.nodes().size()); i-- > 0;) {
      const auto kind = graph::product_kind(graph.nodes()[i]);
      if (!builder_.erased(NodeId{i}) && kind) HONE_CHECK(grow(NodeId{i}, *kind));
    }
    std::reverse(outcome_.done.begin(), outcome_.done.end());
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status grow(NodeId anchor, GroupKind kind) {
    const DType dtype = builder_.type(builder_.node(anchor).outputs[0]).dtype;
    if (!target_.takes.products.holds(dtype) && !target_.takes.converted_products.holds(dtype)) return {};
    std::vector<NodeId> nodes{anchor};
    std::optional<Group> group;  // of `nodes`; nullopt while they are the anchor alone
    std::string names;
    while (nodes.size() <= target_.takes.epilogue_operators) {
      const ValueId value = builder_.node(nodes.back()).outputs[0];
      const auto reader = only_reader(builder_, value);
      if (!reader) {
        note_shared(value, nodes);
        break;
      }
      const Node next = builder_.node(*reader);
      const auto taken = converts(next, value, anchor) ? std::vector{*reader}
                         : widens(next, value, anchor) ? widened_sum(*reader, kind)
                                                       : takes(*reader, value, kind);
      if (taken.empty()) break;
      nodes.insert(nodes.end(), taken.begin(), taken.end());
      HONE_ASSIGN(Group longer, make_group(builder_, nodes, kind));
      if (!runs_group(target_, builder_, longer)) {
        outcome_.missed.push_back(
            {next.name, fmt::format("{} not fused behind {} '{}': the target has no kernel for the group",
                                    next.op, builder_.node(anchor).op, builder_.node(anchor).name)});
        break;
      }
      group = std::move(longer);
      for (NodeId id : taken) names += (names.empty() ? "" : ", ") + builder_.node(id).op;
    }
    if (!group || !is_read(group->results)) return {};
    const Node product = builder_.node(anchor);
    HONE_CHECK(put_group(builder_, *std::move(group)));
    outcome_.done.push_back({product.name, fmt::format("{} fused with {}", product.op, names)});
    return {};
  }

  // A narrow product's result to f32, which is what it sums in, or what was made of that to its own type again.
  bool converts(const Node& node, ValueId value, NodeId anchor) const {
    const ValueId sums = builder_.node(anchor).outputs[0];
    const DType narrow = builder_.type(sums).dtype;
    if (node.op != "Cast" || !target_.takes.converted_products.holds(narrow)) return false;
    return builder_.type(node.outputs[0]).dtype == (value == sums ? DType::kF32 : narrow);
  }

  // A narrow product's result to f32, where the target's kernels add f32 to their sums.
  bool widens(const Node& node, ValueId value, NodeId anchor) const {
    return node.op == "Cast" && value == builder_.node(anchor).outputs[0] &&
           target_.takes.widened_sums.holds(builder_.type(value).dtype) &&
           builder_.type(node.outputs[0]).dtype == DType::kF32;
  }

  // The Cast with the Add behind it; empty where there is none: alone it would only write twice the bytes.
  std::vector<NodeId> widened_sum(NodeId cast, GroupKind kind) const {
    const ValueId wide = builder_.node(cast).outputs[0];
    const auto reader = only_reader(builder_, wide);
    if (!reader || builder_.node(*reader).op != "Add" || !fits(builder_.node(*reader), wide, kind)) return {};
    return {cast, *reader};
  }

  // What nothing reads needs no kernel.
  bool is_read(const std::vector<ValueId>& results) const {
    return std::any_of(results.begin(), results.end(), [&](ValueId result) {
      return builder_.is_output(result) || !builder_.users(result).empty();
    });
  }

  // `reader` and what goes with it as the next step behind a product whose result so far is `value`; empty if
  // its kernel cannot compute that.
  std::vector<NodeId> takes(NodeId reader, ValueId value, GroupKind kind) const {
    const Node& node = builder_.node(reader);
    const graph::EpilogueCapability* row = target_.takes.find_epilogue(node.op);
    if (row == nullptr || !row->pair)
      return fits(node, value, kind) ? std::vector{reader} : std::vector<NodeId>{};
    const auto back = only_reader(builder_, node.outputs[0]);
    if (node.inputs[0] != value || !back || builder_.node(*back).op != "DequantizeLinear") return {};
    const Node& decoded = builder_.node(*back);
    const bool known = has_known_parameters(node) && has_known_parameters(decoded);
    if (!known || decoded.inputs[0] != node.outputs[0] ||
        builder_.type(decoded.outputs[0]) != builder_.type(value))
      return {};
    return {reader, *back};
  }

  // Whether a product's kernel may compute `node` from its result, `value`.
  bool fits(const Node& node, ValueId value, GroupKind kind) const {
    const graph::EpilogueCapability* row = target_.takes.find_epilogue(node.op);
    if (row == nullptr || node.outputs.size() != 1 || builder_.type(node.outputs[0]) != builder_.type(value))
      return false;
    if (!row->binary) return node.inputs[0] == value && has_known_parameters(node);
    const auto operand = other_operand(node, value);
    if (!operand) return false;
    const graph::TensorType& type = builder_.type(*operand);
    const graph::TensorType& result = builder_.type(value);
    if (type.dtype != result.dtype || !type.is_static() || !result.is_static()) return false;
    if (type.shape() == result.shape()) return true;
    const bool known = builder_.value(*operand).is_constant();
    return (known || (row->any_row && kind == GroupKind::kMatmul)) &&
           broadcasts_along_one_axis(type.shape(), result.shape(), kind);
  }

  // Inputs after the first (Clip's bounds) are known numbers.
  bool has_known_parameters(const Node& node) const {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.has_input(i) && !scalar_constant(builder_, node.inputs[i])) return false;
    }
    return true;
  }

  // A scalar, or one number a channel (convolution: axis 1) or a column (matmul: the last axis).
  static bool broadcasts_along_one_axis(const Shape& operand, const Shape& result, GroupKind kind) {
    if (element_count(operand) == 1) return operand.size() <= result.size();
    if (operand.size() > result.size()) return false;
    const std::size_t axis = kind == GroupKind::kConvolution ? 1 : result.size() - 1;
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
  const Target& target_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_epilogues(const graph::Graph& graph, const PassContext& context) {
  if (context.target.takes.epilogue_operators == 0) return PassOutcome{graph, {}, {}};
  return EpilogueFuser(graph, context.target).run(graph);
}

}  // namespace hone::passes
