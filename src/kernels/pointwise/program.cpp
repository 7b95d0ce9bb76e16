// Building and checking pointwise programs: names, arities, types.
#include "kernels/pointwise/program.h"

#include <array>
#include <utility>

#include <fmt/core.h>

namespace hone::kernels {
namespace {

using Op = PointwiseOp;

// What the operands may be, and what comes out of them.
enum class Rule : uint8_t { kLeaf, kNumber, kFloat, kInteger, kCompare, kTest, kLogical, kSelect, kConvert };

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;
  Rule rule;
};

constexpr std::array kOps = {
    OpInfo{Op::kInput, "input", 0, Rule::kLeaf},
    OpInfo{Op::kConstant, "constant", 0, Rule::kLeaf},
    OpInfo{Op::kCast, "cast", 1, Rule::kConvert},
    OpInfo{Op::kAdd, "add", 2, Rule::kNumber},
    OpInfo{Op::kSub, "sub", 2, Rule::kNumber},
    OpInfo{Op::kMul, "mul", 2, Rule::kNumber},
    OpInfo{Op::kDiv, "div", 2, Rule::kNumber},
    OpInfo{Op::kMod, "mod", 2, Rule::kNumber},
    OpInfo{Op::kFmod, "fmod", 2, Rule::kNumber},
    OpInfo{Op::kPow, "pow", 2, Rule::kNumber},
    OpInfo{Op::kMin, "min", 2, Rule::kNumber},
    OpInfo{Op::kMax, "max", 2, Rule::kNumber},
    OpInfo{Op::kMulAdd, "mul_add", 3, Rule::kFloat},
    OpInfo{Op::kNeg, "neg", 1, Rule::kNumber},
    OpInfo{Op::kAbs, "abs", 1, Rule::kNumber},
    OpInfo{Op::kSign, "sign", 1, Rule::kNumber},
    OpInfo{Op::kSquare, "square", 1, Rule::kNumber},
    OpInfo{Op::kBitAnd, "bit_and", 2, Rule::kInteger},
    OpInfo{Op::kBitOr, "bit_or", 2, Rule::kInteger},
    OpInfo{Op::kBitXor, "bit_xor", 2, Rule::kInteger},
    OpInfo{Op::kBitNot, "bit_not", 1, Rule::kInteger},
    OpInfo{Op::kShiftLeft, "shift_left", 2, Rule::kInteger},
    OpInfo{Op::kShiftRight, "shift_right", 2, Rule::kInteger},
    OpInfo{Op::kSqrt, "sqrt", 1, Rule::kFloat},
    OpInfo{Op::kRsqrt, "rsqrt", 1, Rule::kFloat},
    OpInfo{Op::kReciprocal, "reciprocal", 1, Rule::kFloat},
    OpInfo{Op::kExp, "exp", 1, Rule::kFloat},
    OpInfo{Op::kExpm1, "expm1", 1, Rule::kFloat},
    OpInfo{Op::kLog, "log", 1, Rule::kFloat},
    OpInfo{Op::kLog1p, "log1p", 1, Rule::kFloat},
    OpInfo{Op::kSin, "sin", 1, Rule::kFloat},
    OpInfo{Op::kCos, "cos", 1, Rule::kFloat},
    OpInfo{Op::kTan, "tan", 1, Rule::kFloat},
    OpInfo{Op::kAsin, "asin", 1, Rule::kFloat},
    OpInfo{Op::kAcos, "acos", 1, Rule::kFloat},
    OpInfo{Op::kAtan, "atan", 1, Rule::kFloat},
    OpInfo{Op::kSinh, "sinh", 1, Rule::kFloat},
    OpInfo{Op::kCosh, "cosh", 1, Rule::kFloat},
    OpInfo{Op::kTanh, "tanh", 1, Rule::kFloat},
    OpInfo{Op::kAsinh, "asinh", 1, Rule::kFloat},
    OpInfo{Op::kAcosh, "acosh", 1, Rule::kFloat},
    OpInfo{Op::kAtanh, "atanh", 1, Rule::kFloat},
    OpInfo{Op::kErf, "erf", 1, Rule::kFloat},
    OpInfo{Op::kFloor, "floor", 1, Rule::kFloat},
    OpInfo{Op::kCeil, "ceil", 1, Rule::kFloat},
    OpInfo{Op::kRound, "round", 1, Rule::kFloat},
    OpInfo{Op::kRelu, "relu", 1, Rule::kNumber},
    OpInfo{Op::kLeakyRelu, "leaky_relu", 1, Rule::kFloat},
    OpInfo{Op::kPRelu, "prelu", 2, Rule::kNumber},
    OpInfo{Op::kClip, "clip", 1, Rule::kNumber},
    OpInfo{Op::kSigmoid, "sigmoid", 1, Rule::kFloat},
    OpInfo{Op::kHardSigmoid, "hard_sigmoid", 1, Rule::kFloat},
    OpInfo{Op::kSwish, "swish", 1, Rule::kFloat},
    OpInfo{Op::kHardSwish, "hard_swish", 1, Rule::kFloat},
    OpInfo{Op::kMish, "mish", 1, Rule::kFloat},
    OpInfo{Op::kElu, "elu", 1, Rule::kFloat},
    OpInfo{Op::kCelu, "celu", 1, Rule::kFloat},
    OpInfo{Op::kSelu, "selu", 1, Rule::kFloat},
    OpInfo{Op::kSoftplus, "softplus", 1, Rule::kFloat},
    OpInfo{Op::kSoftsign, "softsign", 1, Rule::kFloat},
    OpInfo{Op::kThresholdedRelu, "thresholded_relu", 1, Rule::kFloat},
    OpInfo{Op::kShrink, "shrink", 1, Rule::kFloat},
    OpInfo{Op::kGeluErf, "gelu_erf", 1, Rule::kFloat},
    OpInfo{Op::kGeluTanh, "gelu_tanh", 1, Rule::kFloat},
    OpInfo{Op::kGeluErfSlope, "gelu_erf_slope", 1, Rule::kFloat},
    OpInfo{Op::kGeluTanhSlope, "gelu_tanh_slope", 1, Rule::kFloat},
    OpInfo{Op::kEqual, "equal", 2, Rule::kCompare},
    OpInfo{Op::kNotEqual, "not_equal", 2, Rule::kCompare},
    OpInfo{Op::kLess, "less", 2, Rule::kCompare},
    OpInfo{Op::kLessEqual, "less_equal", 2, Rule::kCompare},
    OpInfo{Op::kGreater, "greater", 2, Rule::kCompare},
    OpInfo{Op::kGreaterEqual, "greater_equal", 2, Rule::kCompare},
    OpInfo{Op::kIsNaN, "is_nan", 1, Rule::kTest},
    OpInfo{Op::kIsInf, "is_inf", 1, Rule::kTest},
    OpInfo{Op::kAnd, "and", 2, Rule::kLogical},
    OpInfo{Op::kOr, "or", 2, Rule::kLogical},
    OpInfo{Op::kXor, "xor", 2, Rule::kLogical},
    OpInfo{Op::kNot, "not", 1, Rule::kLogical},
    OpInfo{Op::kWhere, "where", 3, Rule::kSelect},
};
static_assert(kOps.size() == static_cast<std::size_t>(Op::kWhere) + 1);

constexpr const OpInfo& info(Op op) { return kOps[static_cast<std::size_t>(op)]; }
static_assert([] {
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].op != static_cast<Op>(i)) return false;
  }
  return true;
}());

bool floating(DType type) { return type == DType::kF32 || type == DType::kF64; }
bool whole(DType type) { return type == DType::kI32 || type == DType::kI64; }

// The class of the result of `op` on operands whose values are held as the given types; kUndefined if it does
// not take them.
DType held_result(Op op, DType a, DType b, DType c) {
  const int arity = info(op).arity;
  const bool same = (arity < 2 || b == a) && (arity < 3 || c == a);
  switch (info(op).rule) {
    case Rule::kNumber:
      if (op == Op::kPow && (floating(a) || whole(a)) && (floating(b) || whole(b))) return a;
      return same && (floating(a) || whole(a)) ? a : DType::kUndefined;
    case Rule::kFloat:
      return same && floating(a) ? a : DType::kUndefined;
    case Rule::kInteger:
      return same && whole(a) ? a : DType::kUndefined;
    case Rule::kCompare:
      return same ? DType::kBool : DType::kUndefined;
    case Rule::kTest:
      return floating(a) ? DType::kBool : DType::kUndefined;
    case Rule::kLogical:
      return same && a == DType::kBool ? DType::kBool : DType::kUndefined;
    case Rule::kSelect:
      return a == DType::kBool && b == c ? b : DType::kUndefined;
    case Rule::kLeaf:
    case Rule::kConvert:
      break;
  }
  return DType::kUndefined;
}

}  // namespace

std::string_view pointwise_op_name(PointwiseOp op) { return info(op).name; }
int pointwise_arity(PointwiseOp op) { return info(op).arity; }

DType compute_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return DType::kF32;
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
      return DType::kI32;
    case DType::kU32:
    case DType::kI64:
      return DType::kI64;
    case DType::kF64:
    case DType::kBool:
      return dtype;
    default:
      return DType::kUndefined;
  }
}

int PointwiseProgram::input(DType dtype, std::vector<int64_t> strides) {
  inputs.push_back({dtype, std::move(strides)});
  PointwiseInstruction instruction{.op = Op::kInput, .dtype = compute_type(dtype)};
  instruction.a = static_cast<int>(inputs.size()) - 1;
  instructions.push_back(instruction);
  return static_cast<int>(instructions.size()) - 1;
}

int PointwiseProgram::broadcast_input(DType dtype, std::span<const int64_t> input_shape) {
  const std::vector<int64_t> dense = row_major_strides(input_shape);
  std::vector<int64_t> strides(shape.size(), 0);
  for (std::size_t i = 0; i < input_shape.size() && i < shape.size(); ++i) {
    const std::size_t from_end = i + 1;
    if (input_shape[input_shape.size() - from_end] != 1) {
      strides[shape.size() - from_end] = dense[input_shape.size() - from_end];
    }
  }
  return input(dtype, std::move(strides));
}

int PointwiseProgram::constant(DType dtype, double value) {
  PointwiseInstruction instruction{.op = Op::kConstant, .dtype = compute_type(dtype), .literal = value};
  if (!floating(instruction.dtype)) instruction.integer = static_cast<int64_t>(value);
  instructions.push_back(instruction);
  return static_cast<int>(instructions.size()) - 1;
}

int PointwiseProgram::constant_integer(DType dtype, int64_t value) {
  PointwiseInstruction instruction{.op = Op::kConstant, .dtype = compute_type(dtype)};
  instruction.literal = static_cast<double>(value);
  instruction.integer = value;
  instructions.push_back(instruction);
  return static_cast<int>(instructions.size()) - 1;
}

int PointwiseProgram::cast(int value, DType dtype) {
  instructions.push_back({.op = Op::kCast, .a = value, .dtype = dtype});
  return static_cast<int>(instructions.size()) - 1;
}

int PointwiseProgram::apply(PointwiseOp op, int a, int b, int c, float alpha, float beta) {
  const auto held = [&](int value) {
    const bool known = value >= 0 && value < static_cast<int>(instructions.size());
    return known ? compute_type(instructions[static_cast<std::size_t>(value)].dtype) : DType::kUndefined;
  };
  const DType dtype = held_result(op, held(a), held(b), held(c));
  instructions.push_back({.op = op, .a = a, .b = b, .c = c, .alpha = alpha, .beta = beta, .dtype = dtype});
  return static_cast<int>(instructions.size()) - 1;
}

void PointwiseProgram::output(int value, DType dtype, ReduceOp reduce) {
  outputs.push_back({value, dtype, reduce});
}

Status PointwiseProgram::verify() const {
  HONE_CHECK(checked_element_count(shape));
  if (reduced_axes < 0 || reduced_axes > static_cast<int>(shape.size())) {
    return invalid(fmt::format("pointwise program: {} reduced axes of {}", reduced_axes, shape.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].strides.size() != shape.size()) {
      return invalid(fmt::format("pointwise program: input {} has {} strides for rank {}", i,
                                 inputs[i].strides.size(), shape.size()));
    }
  }
  for (int i = 0; i < static_cast<int>(instructions.size()); ++i) {
    const PointwiseInstruction& instruction = instructions[static_cast<std::size_t>(i)];
    const auto where = [&] {
      return fmt::format("pointwise instruction {} ({})", i, info(instruction.op).name);
    };
    const std::array operands = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < info(instruction.op).arity; ++k) {
      const int operand = operands[static_cast<std::size_t>(k)];
      if (operand < 0 || operand >= i)
        return invalid(fmt::format("{}: operand {} is not an earlier value", where(), k));
    }
    if (instruction.op == Op::kInput &&
        (instruction.a < 0 || instruction.a >= static_cast<int>(inputs.size()))) {
      return invalid(fmt::format("{}: input {} of {}", where(), instruction.a, inputs.size()));
    }
    if (compute_type(instruction.dtype) == DType::kUndefined) {
      return unsupported(fmt::format("{}: not defined for these operand types", where()));
    }
  }
  for (const PointwiseOutput& output : outputs) {
    if (output.value < 0 || output.value >= static_cast<int>(instructions.size())) {
      return invalid(fmt::format("pointwise program: output of value {}, which is none", output.value));
    }
    const DType held = compute_type(instructions[static_cast<std::size_t>(output.value)].dtype);
    if (compute_type(output.dtype) == DType::kUndefined) {
      return unsupported(fmt::format("pointwise program: output type {}", dtype_name(output.dtype)));
    }
    if (output.reduce != ReduceOp::kNone && held == DType::kBool) {
      return unsupported("pointwise program: reduction of bool");
    }
  }
  return {};
}

}  // namespace hone::kernels
