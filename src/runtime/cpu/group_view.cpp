#include "runtime/cpu/group_view.h"

#include <algorithm>
#include <limits>

namespace hone::runtime::cpu {

using graph::Node;
using graph::ValueId;
using kernels::PostOp;

GroupView::GroupView(const LowerContext& context)
    : context_(context), graph_(&context.graph), nodes_(&context.graph.nodes()) {
  if (context.node.op == "hone.Fused") {
    graph_ = context.node.bodies[0].get();
    nodes_ = &graph_->nodes();
    kind_ = context.node.attributes.text("kind", "");
    last_ = nodes_->size() - 1;
  } else {
    first_ = last_ = static_cast<std::size_t>(&context.node - nodes_->data());
  }
}

std::optional<std::size_t> GroupView::input_index(ValueId value) const {
  const std::vector<ValueId>& inputs = kind_.empty() ? context_.node.inputs : graph_->inputs();
  const auto at = std::find(inputs.begin(), inputs.end(), value);
  if (at == inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - inputs.begin());
}

const Tensor* GroupView::constant(ValueId value) const {
  if (!value.valid()) return nullptr;
  if (graph_->value(value).is_constant()) return &*graph_->value(value).constant;
  const auto index = input_index(value);
  return index ? context_.constant(*index) : nullptr;
}

namespace {

float scalar(const GroupView& group, const Node& node, std::size_t input, float otherwise) {
  const Tensor* data = node.has_input(input) ? group.constant(node.inputs[input]) : nullptr;
  return data != nullptr ? static_cast<float>(data->at(0)) : otherwise;
}

std::optional<PostOp> activation(const GroupView& group, const Node& node) {
  using Kind = PostOp::Kind;
  const Attributes& a = node.attributes;
  constexpr float kMost = std::numeric_limits<float>::max();
  if (node.op == "Relu") return PostOp::relu();
  if (node.op == "LeakyRelu") return PostOp::of(Kind::kLeakyRelu, a.real("alpha", 0.01F));
  if (node.op == "Clip") return PostOp::clip(scalar(group, node, 1, -kMost), scalar(group, node, 2, kMost));
  if (node.op == "Sigmoid") return PostOp::of(Kind::kSigmoid);
  if (node.op == "Tanh") return PostOp::of(Kind::kTanh);
  if (node.op == "Gelu")
    return PostOp::of(a.text("approximate", "none") == "tanh" ? Kind::kGeluTanh : Kind::kGeluErf);
  if (node.op == "Swish") return PostOp::of(Kind::kSwish, a.real("alpha", 1.0F));
  if (node.op == "HardSwish") return PostOp::of(Kind::kHardSwish);
  if (node.op == "HardSigmoid")
    return PostOp::of(Kind::kHardSigmoid, a.real("alpha", 0.2F), a.real("beta", 0.5F));
  if (node.op == "Elu") return PostOp::of(Kind::kElu, a.real("alpha", 1.0F));
  if (node.op == "Mish") return PostOp::of(Kind::kMish);
  if (node.op == "Softplus") return PostOp::of(Kind::kSoftplus);
  if (node.op == "Exp") return PostOp::of(Kind::kExp);
  if (node.op == "Abs") return PostOp::of(Kind::kAbs);
  if (node.op == "Sqrt") return PostOp::of(Kind::kSqrt);
  return std::nullopt;
}

std::optional<PostOp::Kind> binary_kind(const Node& node) {
  if (node.op == "Add") return PostOp::Kind::kBinaryAdd;
  if (node.op == "Mul") return PostOp::Kind::kBinaryMul;
  if (node.op == "Sub") return PostOp::Kind::kBinarySub;
  if (node.op == "Div") return PostOp::Kind::kBinaryDiv;
  return std::nullopt;
}

}  // namespace

std::optional<Epilogue> read_epilogue(const GroupView& group) {
  Epilogue epilogue;
  ValueId value = group.anchor().outputs[0];
  for (std::size_t i = group.first() + 1; i <= group.last(); ++i) {
    const Node& node = group.nodes()[i];
    if (const auto kind = binary_kind(node)) {
      const bool first = node.inputs[0] == value;
      if (!first && (*kind == PostOp::Kind::kBinarySub || *kind == PostOp::Kind::kBinaryDiv))
        return std::nullopt;
      const ValueId operand = node.inputs[first ? 1 : 0];
      const auto index = group.input_index(operand);
      if (!index) return std::nullopt;
      epilogue.post_ops.push_back(
          PostOp::binary(*kind, group.type(operand).shape(), group.type(operand).layout));
      epilogue.operand_inputs.push_back(*index);
    } else if (auto op = activation(group, node); op && node.inputs[0] == value) {
      epilogue.post_ops.push_back(*op);
    } else {
      return std::nullopt;
    }
    value = node.outputs[0];
  }
  return epilogue;
}

}  // namespace hone::runtime::cpu
