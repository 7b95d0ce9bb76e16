// Arithmetic, comparison, logic and bit operators. Activations are in activation.cpp, casts and quantization
// in quantization.cpp.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

bool is_bool(DType dtype) { return dtype == DType::kBool; }

Status infer_not(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_bool, "bool"));
  return infer::same_as_first(context);
}

Status infer_logic(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_bool, "bool"));
  return infer::broadcast_to_bool(context);
}

Status infer_compare(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_numeric, "a numeric type"));
  return infer::broadcast_to_bool(context);
}

Status infer_bitwise(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_integer, "an integer type"));
  return infer::broadcast_all(context);
}

Status infer_bitwise_not(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_integer, "an integer type"));
  return infer::same_as_first(context);
}

Status infer_bit_shift(InferContext& context) {
  const std::string direction = context.attributes().text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return context.error(fmt::format("attribute direction is '{}', must be LEFT or RIGHT", direction));
  }
  return infer_bitwise(context);
}

Status infer_signed(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_signed_numeric, "a signed numeric type"));
  return infer::same_as_first(context);
}

Status infer_classify(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_float, "a floating-point type"));
  TensorType type = context.input(0);
  type.dtype = DType::kBool;
  context.set_output(0, std::move(type));
  return {};
}

// The exponent may be of another type and does not change the result's.
Status infer_pow(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_numeric, "a numeric type"));
  HONE_CHECK(infer::expect_dtype(context, 1, infer::is_numeric, "a numeric type"));
  HONE_ASSIGN(TensorType type, infer::broadcast(context, 0, 2, context.input(0).dtype));
  context.set_output(0, std::move(type));
  return {};
}

Status infer_clip(InferContext& context) {
  for (std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    if (!context.has_input(bound)) continue;
    HONE_CHECK(infer::expect_same_dtype(context, 0, bound));
    const TensorType& type = context.input(bound);
    if (type.is_static() && element_count(type.shape()) != 1) {
      return context.error(fmt::format("input {} (a bound) is {}, must be a scalar", bound, type.text()));
    }
  }
  return infer::same_as_first_numeric(context);
}

Status infer_where(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_bool, "bool"));
  HONE_CHECK(infer::expect_same_dtype(context, 1, 2));
  const DType dtype =
      context.input(1).dtype != DType::kUndefined ? context.input(1).dtype : context.input(2).dtype;
  HONE_ASSIGN(TensorType type, infer::broadcast(context, 0, 3, dtype));
  context.set_output(0, std::move(type));
  return {};
}

// n inputs take n - 1 operations an element; Mean one more, to divide.
double variadic_flops(const CostContext& context) {
  const auto inputs = static_cast<double>(context.inputs.size());
  const double operations = context.node.op == "Mean" ? inputs : std::max(inputs - 1, 1.0);
  return operations * infer::elements(context.out(0));
}

struct PointwiseRow {
  std::string_view name;
  InferFunction infer;
  std::string_view summary;
};

void add_rows(OpTable& table, int inputs, std::initializer_list<PointwiseRow> rows) {
  for (const PointwiseRow& row : rows) {
    table.add({.name = row.name,
               .op_class = OpClass::kPointwise,
               .min_inputs = inputs,
               .max_inputs = inputs,
               .infer = row.infer,
               .summary = row.summary});
  }
}

void add_unary(OpTable& table) {
  add_rows(table, 1,
           {{"Abs", infer::same_as_first_numeric, "|x|"},
            {"Acos", infer::same_as_first_float, "arc cosine"},
            {"Acosh", infer::same_as_first_float, "inverse hyperbolic cosine"},
            {"Asin", infer::same_as_first_float, "arc sine"},
            {"Asinh", infer::same_as_first_float, "inverse hyperbolic sine"},
            {"Atan", infer::same_as_first_float, "arc tangent"},
            {"Atanh", infer::same_as_first_float, "inverse hyperbolic tangent"},
            {"BitwiseNot", infer_bitwise_not, "every bit inverted"},
            {"Ceil", infer::same_as_first_float, "the smallest integer not below x"},
            {"Cos", infer::same_as_first_float, "cosine"},
            {"Cosh", infer::same_as_first_float, "hyperbolic cosine"},
            {"Erf", infer::same_as_first_numeric, "error function"},
            {"Exp", infer::same_as_first_float, "e to the x"},
            {"Floor", infer::same_as_first_float, "the largest integer not above x"},
            {"IsNaN", infer_classify, "whether x is NaN"},
            {"Log", infer::same_as_first_float, "natural logarithm"},
            {"Neg", infer_signed, "-x"},
            {"Not", infer_not, "logical not"},
            {"Reciprocal", infer::same_as_first_float, "1 / x"},
            {"Round", infer::same_as_first_float, "nearest integer, ties to even"},
            {"Sign", infer::same_as_first_numeric, "-1, 0 or 1"},
            {"Sin", infer::same_as_first_float, "sine"},
            {"Sinh", infer::same_as_first_float, "hyperbolic sine"},
            {"Sqrt", infer::same_as_first_float, "square root"},
            {"Tan", infer::same_as_first_float, "tangent"}});
}

void add_binary(OpTable& table) {
  add_rows(table, 2,
           {{"Add", infer::broadcast_numeric, "a + b"},
            {"Sub", infer::broadcast_numeric, "a - b"},
            {"Mul", infer::broadcast_numeric, "a · b"},
            {"Div", infer::broadcast_numeric, "a / b; integers towards zero"},
            {"Pow", infer_pow, "a to the power b, in the type of a"},
            {"And", infer_logic, "logical and"},
            {"Or", infer_logic, "logical or"},
            {"Xor", infer_logic, "logical exclusive or"},
            {"BitwiseAnd", infer_bitwise, "bits of a and b"},
            {"BitwiseOr", infer_bitwise, "bits of a or b"},
            {"BitwiseXor", infer_bitwise, "bits of a exclusive-or b"},
            {"Equal", infer::broadcast_to_bool, "a = b"},
            {"Greater", infer_compare, "a > b"},
            {"GreaterOrEqual", infer_compare, "a ≥ b"},
            {"Less", infer_compare, "a < b"},
            {"LessOrEqual", infer_compare, "a ≤ b"}});
}

void add_variadic(OpTable& table) {
  for (auto [name, summary] :
       {std::pair{"Max", "the largest of the inputs"}, std::pair{"Min", "the smallest of the inputs"},
        std::pair{"Mean", "the mean of the inputs"}, std::pair{"Sum", "the sum of the inputs"}}) {
    table.add({.name = name,
               .op_class = OpClass::kPointwise,
               .min_inputs = 1,
               .max_inputs = -1,
               .infer = infer::broadcast_numeric,
               .flops = variadic_flops,
               .summary = summary});
  }
}

}  // namespace

void add_pointwise_ops(OpTable& table) {
  add_unary(table);
  add_binary(table);
  add_variadic(table);
  add_activation_ops(table);
  add_quantization_ops(table);
  table.add({.name = "BitShift",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"direction", AttributeKind::kString, true}},
             .infer = infer_bit_shift,
             .summary = "the bits of a moved by b places"});
  table.add({.name = "Clip",
             .op_class = OpClass::kPointwise,
             .min_inputs = 1,
             .max_inputs = 3,
             .infer = infer_clip,
             .flops = infer::per_output<2>,
             .summary = "x limited to [min, max]"});
  table.add(
      {.name = "IsInf",
       .op_class = OpClass::kPointwise,
       .min_inputs = 1,
       .max_inputs = 1,
       .attributes = {{"detect_negative", AttributeKind::kInt}, {"detect_positive", AttributeKind::kInt}},
       .infer = infer_classify,
       .summary = "whether x is infinite"});
  table.add({.name = "Mod",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"fmod", AttributeKind::kInt}},
             .infer = infer::broadcast_numeric,
             .summary = "remainder of a / b, with the sign of b (fmod: of a)"});
  table.add({.name = "Where",
             .op_class = OpClass::kPointwise,
             .min_inputs = 3,
             .max_inputs = 3,
             .infer = infer_where,
             .summary = "a where the condition holds, b elsewhere"});
}

}  // namespace hone::graph
