// Each PostOp becomes one oneDNN post-op, or two where the library's version lacks the function.
#include "kernels/cpu/dnnl/attributes.h"

#include <optional>

#include <fmt/format.h>

namespace hone::kernels::onednn {
namespace {

using Kind = PostOp::Kind;

std::optional<algorithm> binary_algorithm(Kind kind) {
  switch (kind) {
    case Kind::kBinaryAdd:
      return algorithm::binary_add;
    case Kind::kBinaryMul:
      return algorithm::binary_mul;
    case Kind::kBinarySub:
      return algorithm::binary_sub;
    case Kind::kBinaryDiv:
      return algorithm::binary_div;
    case Kind::kBinaryMax:
      return algorithm::binary_max;
    case Kind::kBinaryMin:
      return algorithm::binary_min;
    default:
      return std::nullopt;
  }
}

void append_activation(dnnl::post_ops& ops, const PostOp& op) {
  switch (op.kind) {
    case Kind::kRelu:
      return append_eltwise(ops, algorithm::eltwise_relu, 0, 0);
    case Kind::kLeakyRelu:
      return append_eltwise(ops, algorithm::eltwise_relu, op.alpha, 0);
    case Kind::kClip:
      return append_eltwise(ops, algorithm::eltwise_clip, op.alpha, op.beta);
    case Kind::kSigmoid:
      return append_eltwise(ops, algorithm::eltwise_logistic, 0, 0);
    case Kind::kTanh:
      return append_eltwise(ops, algorithm::eltwise_tanh, 0, 0);
    case Kind::kGeluErf:
      return append_eltwise(ops, algorithm::eltwise_gelu_erf, 0, 0);
    case Kind::kGeluTanh:
      return append_eltwise(ops, algorithm::eltwise_gelu_tanh, 0, 0);
    case Kind::kSwish:
      return append_eltwise(ops, algorithm::eltwise_swish, op.alpha, 0);
    case Kind::kHardSwish:
      return append_hard_swish(ops);
    case Kind::kHardSigmoid:  // 2.6 has no such function
      append_eltwise(ops, algorithm::eltwise_linear, op.alpha, op.beta);
      return append_eltwise(ops, algorithm::eltwise_clip, 0, 1);
    case Kind::kElu:
      return append_eltwise(ops, algorithm::eltwise_elu, op.alpha, 0);
    case Kind::kSqrt:
      return append_eltwise(ops, algorithm::eltwise_sqrt, 0, 0);
    case Kind::kAbs:
      return append_eltwise(ops, algorithm::eltwise_abs, 0, 0);
    case Kind::kExp:
      return append_eltwise(ops, algorithm::eltwise_exp, 0, 0);
    case Kind::kLog:
      return append_eltwise(ops, algorithm::eltwise_log, 0, 0);
    case Kind::kSquare:
      return append_eltwise(ops, algorithm::eltwise_square, 0, 0);
    case Kind::kMish:
      return append_eltwise(ops, algorithm::eltwise_mish, 0, 0);
    case Kind::kSoftplus:
      return append_eltwise(ops, algorithm::eltwise_soft_relu, 1, 0);
    case Kind::kLinear:
      return append_eltwise(ops, algorithm::eltwise_linear, op.alpha, op.beta);
    default:
      return;
  }
}

Result<MemoryDesc> operand_desc(const PostOp& op, const Shape& output) {
  if (op.operand_shape.size() > output.size()) {
    return invalid(fmt::format("post-op {}: operand of shape {} does not broadcast to {}",
                               post_op_name(op.kind), shape_text(op.operand_shape), shape_text(output)));
  }
  Shape shape(output.size() - op.operand_shape.size(), 1);
  shape.insert(shape.end(), op.operand_shape.begin(), op.operand_shape.end());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1 && shape[axis] != output[axis]) {
      return invalid(fmt::format("post-op {}: operand of shape {} does not broadcast to {}",
                                 post_op_name(op.kind), shape_text(op.operand_shape), shape_text(output)));
    }
  }
  if (op.operand_layout != Layout::kPlain && shape != output) {
    return invalid(fmt::format("post-op {}: operand of shape {} is broadcast and so cannot be {}",
                               post_op_name(op.kind), shape_text(op.operand_shape),
                               layout_name(op.operand_layout)));
  }
  return memory_desc(shape, op.operand_layout);
}

}  // namespace

Result<Epilogue> make_epilogue(std::span<const PostOp> post_ops, const Shape& output) {
  Epilogue epilogue;
  dnnl::post_ops ops;
  for (const PostOp& op : post_ops) {
    if (const auto binary = binary_algorithm(op.kind)) {
      HONE_ASSIGN(MemoryDesc desc, operand_desc(op, output));
      epilogue.operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1, desc});
      ops.append_binary(*binary, desc);
    } else if (op.kind == Kind::kSum) {
      ops.append_sum(op.alpha);
    } else {
      append_activation(ops, op);
    }
  }
  epilogue.attributes.set_post_ops(ops);
  epilogue.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return epilogue;
}

}  // namespace hone::kernels::onednn
