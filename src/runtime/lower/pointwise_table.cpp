#include "runtime/lower/pointwise_table.h"

#include <algorithm>
#include <array>

#include "core/onnx_dtype.h"

namespace hone::runtime {
namespace {

using P = kernels::PointwiseOp;
using kernels::PointwiseProgram;

int add_cast(const PointwiseCall& c) { return c.program.cast(c.operands[0], c.result); }

int add_gelu(const PointwiseCall& c) {
  const bool tanh = c.node.attributes.text("approximate", "none") == "tanh";
  return c.program.apply(tanh ? P::kGeluTanh : P::kGeluErf, c.operands[0]);
}

int add_gelu_slope(const PointwiseCall& c) {
  const bool tanh = c.node.attributes.text("approximate", "none") == "tanh";
  return c.program.apply(tanh ? P::kGeluTanhSlope : P::kGeluErfSlope, c.operands[0]);
}

int add_clip(const PointwiseCall& c) {
  int result = c.operands[0];
  if (c.operands.size() > 1 && c.operands[1] >= 0) result = c.program.apply(P::kMax, result, c.operands[1]);
  if (c.operands.size() > 2 && c.operands[2] >= 0) result = c.program.apply(P::kMin, result, c.operands[2]);
  return result;
}

// Sum, Max, Min: the same instruction again for each further operand.
int add_variadic(const PointwiseCall& c) {
  const P instruction = find_pointwise(c.node.op)->instruction;
  int result = c.operands[0];
  for (const int operand : c.operands.subspan(1)) result = c.program.apply(instruction, result, operand);
  return result;
}

int add_mean(const PointwiseCall& c) {
  int sum = c.operands[0];
  for (const int operand : c.operands.subspan(1)) sum = c.program.apply(P::kAdd, sum, operand);
  return c.program.apply(P::kDiv, sum, c.program.constant(c.result, static_cast<double>(c.operands.size())));
}

int add_mod(const PointwiseCall& c) {
  const bool truncated = c.node.attributes.integer("fmod", 0) != 0;
  return c.program.apply(truncated ? P::kFmod : P::kMod, c.operands[0], c.operands[1]);
}

int add_bit_shift(const PointwiseCall& c) {
  const bool left = c.node.attributes.text("direction", "LEFT") == "LEFT";
  return c.program.apply(left ? P::kShiftLeft : P::kShiftRight, c.operands[0], c.operands[1]);
}

int add_is_inf(const PointwiseCall& c) {
  const auto counts = [&](const char* sign) { return c.node.attributes.integer(sign, 1) != 0 ? 1.0F : 0.0F; };
  return c.program.apply(P::kIsInf, c.operands[0], -1, -1, counts("detect_negative"),
                         counts("detect_positive"));
}

// An integer operand as the f32 number that it is: exact, for quantised types have at most 16 bits.
int in_f32(const PointwiseCall& c, std::size_t i) {
  if (c.scalars[i] != nullptr) return c.program.constant(DType::kF32, c.scalars[i]->at(0));
  const DType held = c.program.instructions[static_cast<std::size_t>(c.operands[i])].dtype;
  return kernels::compute_type(held) == DType::kF32 ? c.operands[i]
                                                    : c.program.cast(c.operands[i], DType::kF32);
}

// Whether the zero point is another number than zero.
bool shifts(const PointwiseCall& c) {
  if (c.operands.size() < 3 || c.operands[2] < 0) return false;
  return c.scalars[2] == nullptr || c.scalars[2]->at(0) != 0;
}

bool quantises_in_blocks(const PointwiseCall& c) { return c.node.attributes.integer("block_size", 0) != 0; }

// The type that a quotient by the scale, operand 1, is rounded to: by itself the scale's.
DType quotient_type(const PointwiseCall& c) {
  if (const int64_t precision = c.node.attributes.integer("precision", 0); precision != 0)
    return dtype_from_onnx(precision).value_or(DType::kUndefined);
  if (c.scalars[1] != nullptr) return c.scalars[1]->dtype();
  const auto& scale = c.program.instructions[static_cast<std::size_t>(c.operands[1])];
  return scale.op == P::kInput ? c.program.inputs[static_cast<std::size_t>(scale.a)].dtype : scale.dtype;
}

// round(x / scale) + zero point, within the type's range. What is left is a whole number held as f32: storing
// it converts it, and a DequantizeLinear in the same group takes it as it is.
int add_quantize(const PointwiseCall& c) {
  if (quantises_in_blocks(c) || !is_integer(c.result) ||
      (dtype_bits(c.result) != 8 && dtype_bits(c.result) != 16))
    return -1;
  const DType type = quotient_type(c);
  if (kernels::compute_type(type) != DType::kF32) return -1;
  const auto rounded = [&](int value) { return type == DType::kF32 ? value : c.program.cast(value, type); };
  const int quotient = rounded(c.program.apply(P::kDiv, rounded(in_f32(c, 0)), rounded(c.operands[1])));
  int value = c.program.apply(P::kRound, quotient);
  if (shifts(c)) value = c.program.apply(P::kAdd, value, in_f32(c, 2));
  const int bits = dtype_bits(c.result);
  const float count = static_cast<float>(1 << bits);
  const float low = is_signed(c.result) ? -count / 2 : 0;
  return c.program.apply(P::kClip, value, -1, -1, low, low + count - 1);
}

// (x - zero point) * scale.
int add_dequantize(const PointwiseCall& c) {
  if (quantises_in_blocks(c) || kernels::compute_type(c.result) != DType::kF32) return -1;
  int value = in_f32(c, 0);
  if (shifts(c)) value = c.program.apply(P::kSub, value, in_f32(c, 2));
  return c.program.apply(P::kMul, value, c.operands[1]);
}

constexpr graph::DTypeSet kQuantised = {DType::kF32, DType::kI8,  DType::kU8,
                                        DType::kI16, DType::kU16, DType::kI32};

constexpr std::array kPointwiseRows = {
    PointwiseRow{"Add", P::kAdd},
    PointwiseRow{"Sub", P::kSub},
    PointwiseRow{"Mul", P::kMul},
    PointwiseRow{"Div", P::kDiv},
    PointwiseRow{"Pow", P::kPow},
    PointwiseRow{"Sum", P::kAdd, {}, {}, add_variadic},
    PointwiseRow{"Max", P::kMax, {}, {}, add_variadic},
    PointwiseRow{"Min", P::kMin, {}, {}, add_variadic},
    PointwiseRow{"Neg", P::kNeg},
    PointwiseRow{"Abs", P::kAbs},
    PointwiseRow{"Sign", P::kSign},
    PointwiseRow{"Sqrt", P::kSqrt},
    PointwiseRow{"Reciprocal", P::kReciprocal},
    PointwiseRow{"Exp", P::kExp},
    PointwiseRow{"Log", P::kLog},
    PointwiseRow{"Sin", P::kSin},
    PointwiseRow{"Cos", P::kCos},
    PointwiseRow{"Tan", P::kTan},
    PointwiseRow{"Asin", P::kAsin},
    PointwiseRow{"Acos", P::kAcos},
    PointwiseRow{"Atan", P::kAtan},
    PointwiseRow{"Sinh", P::kSinh},
    PointwiseRow{"Cosh", P::kCosh},
    PointwiseRow{"Tanh", P::kTanh},
    PointwiseRow{"Asinh", P::kAsinh},
    PointwiseRow{"Acosh", P::kAcosh},
    PointwiseRow{"Atanh", P::kAtanh},
    PointwiseRow{"Erf", P::kErf},
    PointwiseRow{"Floor", P::kFloor},
    PointwiseRow{"Ceil", P::kCeil},
    PointwiseRow{"Round", P::kRound},
    PointwiseRow{"Relu", P::kRelu},
    PointwiseRow{"LeakyRelu", P::kLeakyRelu, {"alpha", 0.01F}},
    PointwiseRow{"PRelu", P::kPRelu},
    PointwiseRow{"Sigmoid", P::kSigmoid},
    PointwiseRow{"HardSigmoid", P::kHardSigmoid, {"alpha", 0.2F}, {"beta", 0.5F}},
    PointwiseRow{"Swish", P::kSwish, {"alpha", 1.0F}},
    PointwiseRow{"HardSwish", P::kHardSwish},
    PointwiseRow{"Mish", P::kMish},
    PointwiseRow{"Elu", P::kElu, {"alpha", 1.0F}},
    PointwiseRow{"Celu", P::kCelu, {"alpha", 1.0F}},
    PointwiseRow{"Selu", P::kSelu, {"alpha", 1.67326319F}, {"gamma", 1.05070102F}},
    PointwiseRow{"Softplus", P::kSoftplus},
    PointwiseRow{"Softsign", P::kSoftsign},
    PointwiseRow{"ThresholdedRelu", P::kThresholdedRelu, {"alpha", 1.0F}},
    PointwiseRow{"Shrink", P::kShrink, {"lambd", 0.5F}, {"bias", 0.0F}},
    PointwiseRow{"Equal", P::kEqual},
    PointwiseRow{"Less", P::kLess},
    PointwiseRow{"LessOrEqual", P::kLessEqual},
    PointwiseRow{"Greater", P::kGreater},
    PointwiseRow{"GreaterOrEqual", P::kGreaterEqual},
    PointwiseRow{"IsNaN", P::kIsNaN},
    PointwiseRow{"BitwiseAnd", P::kBitAnd},
    PointwiseRow{"BitwiseOr", P::kBitOr},
    PointwiseRow{"BitwiseXor", P::kBitXor},
    PointwiseRow{"BitwiseNot", P::kBitNot},
    PointwiseRow{"And", P::kAnd},
    PointwiseRow{"Or", P::kOr},
    PointwiseRow{"Xor", P::kXor},
    PointwiseRow{"Not", P::kNot},
    PointwiseRow{"Where", P::kWhere},
    PointwiseRow{"Cast", P::kCast, {}, {}, add_cast},
    PointwiseRow{"Gelu", P::kGeluErf, {}, {}, add_gelu},
    PointwiseRow{"hone.GeluSlope", P::kGeluErfSlope, {}, {}, add_gelu_slope},
    PointwiseRow{.op = "Clip", .instruction = P::kMax, .add = add_clip, .optional_operands = true},
    PointwiseRow{"Mean", P::kDiv, {}, {}, add_mean},
    PointwiseRow{"Mod", P::kMod, {}, {}, add_mod},
    PointwiseRow{"BitShift", P::kShiftLeft, {}, {}, add_bit_shift},
    PointwiseRow{"IsInf", P::kIsInf, {}, {}, add_is_inf},
    PointwiseRow{"QuantizeLinear", P::kDiv, {}, {}, add_quantize, true, true, kQuantised},
    PointwiseRow{"DequantizeLinear", P::kMul, {}, {}, add_dequantize, true, true, kQuantised}};

// Whether a program computes the row's instruction on operands of `type`, holding them as they are; f16 and bf16, which
// it holds as f32, it rounds after each operator (program_of_node.cpp).
bool holds(const PointwiseRow& row, DType type) {
  const bool half = type == DType::kF16 || type == DType::kBF16;
  if (kernels::compute_type(type) != type && !half) return false;
  PointwiseProgram program;
  program.shape = {1};
  std::vector<int> operands;
  for (int i = 0; i < kernels::pointwise_arity(row.instruction); ++i) {
    const bool condition = row.instruction == P::kWhere && i == 0;
    operands.push_back(program.input(condition ? DType::kBool : type, {1}));
  }
  operands.resize(3, -1);
  program.apply(row.instruction, operands[0], operands[1], operands[2]);
  return program.verify().ok();
}

}  // namespace

std::span<const PointwiseRow> pointwise_table() { return kPointwiseRows; }

const PointwiseRow* find_pointwise(std::string_view op) {
  const auto found = std::find_if(kPointwiseRows.begin(), kPointwiseRows.end(),
                                  [&](const PointwiseRow& row) { return row.op == op; });
  return found != kPointwiseRows.end() ? &*found : nullptr;
}

int add_instructions(const PointwiseRow& row, const PointwiseCall& call) {
  if (row.add != nullptr) return row.add(call);
  if (static_cast<int>(call.operands.size()) != kernels::pointwise_arity(row.instruction)) return -1;
  const auto parameter = [&](const PointwiseParameter& p) {
    return p.attribute.empty() ? 0.0F : call.node.attributes.real(p.attribute, p.otherwise);
  };
  const auto at = [&](std::size_t i) { return i < call.operands.size() ? call.operands[i] : -1; };
  return call.program.apply(row.instruction, at(0), at(1), at(2), parameter(row.alpha), parameter(row.beta));
}

std::vector<graph::PointwiseCapability> pointwise_capabilities() {
  constexpr std::array kTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64,
                                 DType::kI8,  DType::kI16,  DType::kI32, DType::kI64,
                                 DType::kU8,  DType::kU16,  DType::kU32, DType::kBool};
  std::vector<graph::PointwiseCapability> rows;
  for (const PointwiseRow& row : kPointwiseRows) {
    graph::PointwiseCapability capability{row.op, row.types, row.optional_operands};
    for (const DType type : kTypes) {
      // A cast rounds and wraps to its type, so that values may enter and leave a group in any.
      const bool convert = row.instruction == P::kCast && kernels::compute_type(type) != DType::kUndefined;
      if (convert || (row.types.empty() && holds(row, type))) capability.types.add(type);
    }
    if (row.instruction == P::kWhere) capability.types.add(DType::kBool);
    rows.push_back(capability);
  }
  return rows;
}

}  // namespace hone::runtime
