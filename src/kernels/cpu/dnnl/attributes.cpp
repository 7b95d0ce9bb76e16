// Each PostOp becomes one oneDNN post-op, or two where the library's version lacks the function.
#include "kernels/cpu/dnnl/attributes.h"

#include <optional>

#include <fmt/core.h>

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
  return memory_desc(shape, op.operand_layout, op.operand_type);
}

// The library (2.6.3) computes a function that occurs twice with the parameters of one of them: such a list
// is refused. Our HardSigmoid is a linear function and a clip there, Relu a leaky one.
Status check_repeated(std::span<const PostOp> post_ops) {
  const auto functions = [](const PostOp& op) -> std::pair<Kind, Kind> {
    if (op.kind == Kind::kHardSigmoid) return {Kind::kLinear, Kind::kClip};
    const Kind kind = op.kind == Kind::kRelu ? Kind::kLeakyRelu : op.kind;
    return {kind, kind};
  };
  for (std::size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].kind == Kind::kQuantize || post_ops[i].is_of_channel())
      return unsupported(fmt::format("post-op {}: not one of the library's", post_op_name(post_ops[i].kind)));
    if (post_ops[i].is_binary() || post_ops[i].kind == Kind::kSum) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const auto [a, b] = functions(post_ops[i]);
      const auto [c, d] = functions(post_ops[j]);
      const bool same = post_ops[i].kind == post_ops[j].kind && post_ops[i].alpha == post_ops[j].alpha &&
                        post_ops[i].beta == post_ops[j].beta;
      if (!same && (a == c || a == d || b == c || b == d))
        return unsupported(fmt::format("post-op {} twice with other parameters", post_op_name(a)));
    }
  }
  return {};
}

}  // namespace

Result<Epilogue> make_epilogue(std::span<const PostOp> post_ops, const Shape& output) {
  HONE_CHECK(check_repeated(post_ops));
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
