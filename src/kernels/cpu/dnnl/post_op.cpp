// Names of epilogue steps.
#include "kernels/cpu/dnnl/post_op.h"

#include <algorithm>

#include <fmt/core.h>

namespace hone::kernels {

std::size_t operand_count(std::span<const PostOp> post_ops) {
  return static_cast<std::size_t>(
      std::count_if(post_ops.begin(), post_ops.end(), [](const PostOp& op) { return op.is_binary(); }));
}

std::string_view post_op_name(PostOp::Kind kind) {
  using Kind = PostOp::Kind;
  switch (kind) {
    case Kind::kRelu:
      return "relu";
    case Kind::kLeakyRelu:
      return "leaky_relu";
    case Kind::kClip:
      return "clip";
    case Kind::kSigmoid:
      return "sigmoid";
    case Kind::kTanh:
      return "tanh";
    case Kind::kGeluErf:
      return "gelu_erf";
    case Kind::kGeluTanh:
      return "gelu_tanh";
    case Kind::kSwish:
      return "swish";
    case Kind::kHardSigmoid:
      return "hard_sigmoid";
    case Kind::kHardSwish:
      return "hard_swish";
    case Kind::kElu:
      return "elu";
    case Kind::kSqrt:
      return "sqrt";
    case Kind::kAbs:
      return "abs";
    case Kind::kExp:
      return "exp";
    case Kind::kLog:
      return "log";
    case Kind::kSquare:
      return "square";
    case Kind::kMish:
      return "mish";
    case Kind::kSoftplus:
      return "softplus";
    case Kind::kLinear:
      return "linear";
    case Kind::kQuantize:
      return "quantize";
    case Kind::kChannelMul:
      return "channel_mul";
    case Kind::kChannelAdd:
      return "channel_add";
    case Kind::kBinaryAdd:
      return "binary_add";
    case Kind::kBinaryMul:
      return "binary_mul";
    case Kind::kBinarySub:
      return "binary_sub";
    case Kind::kBinaryDiv:
      return "binary_div";
    case Kind::kBinaryMax:
      return "binary_max";
    case Kind::kBinaryMin:
      return "binary_min";
    case Kind::kSum:
      return "sum";
  }
  return "?";
}

std::string post_ops_text(std::span<const PostOp> post_ops) {
  std::string text;
  for (const PostOp& op : post_ops) {
    if (!text.empty()) text += " + ";
    text += post_op_name(op.kind);
    if (op.is_binary()) text += fmt::format("({})", shape_text(op.operand_shape));
  }
  return text;
}

}  // namespace hone::kernels
