#include "passes/precision_table.h"

#include <algorithm>
#include <array>

#include "graph/op_table.h"
#include "graph/training/step_part.h"

namespace hone::passes {
namespace {

using enum PrecisionRule;
using graph::OpClass;

constexpr std::string_view kMagnifies = "it magnifies how its input was rounded";
constexpr std::string_view kSums = "it stores sums, which are large or lose what is small";
constexpr std::string_view kCompares = "it compares, and equal numbers must stay equal";

constexpr std::array kRows = {
    PrecisionRow{"MatMul", kNarrow, {}},
    PrecisionRow{"Gemm", kNarrow, {}},
    PrecisionRow{"Conv", kNarrow, {}},
    PrecisionRow{"ConvTranspose", kNarrow, {}},
    PrecisionRow{"Attention", kNarrow, {}},
    PrecisionRow{"hone.AttentionGradient", kNarrow, {}},
    PrecisionRow{"hone.ConvWeightGradient", kNarrow, {}},
    // Sums over a row stay in their kernels' registers, in f32; what is stored is of the size of one number.
    PrecisionRow{"Softmax", kFollows, {}},
    PrecisionRow{"LayerNormalization", kFollows, {}},
    PrecisionRow{"RMSNormalization", kFollows, {}},
    PrecisionRow{"GroupNormalization", kFollows, {}},
    PrecisionRow{"InstanceNormalization", kFollows, {}},
    // Images alone: statistics, scale and bias have ranges of their own and stay f32, the gradients of those, too.
    PrecisionRow{"BatchNormalization", kFollows, {}, 0b1},
    PrecisionRow{"hone.BatchNormalizationRelu", kFollows, {}, 0b1},
    PrecisionRow{"hone.BatchNormalizationGradient", kFollows, {}, 0b1011},
    PrecisionRow{
        .op = "hone.LayerNormalizationGradient", .rule = kFollows, .why = {}, .operands = 0b11, .leads = 1},
    PrecisionRow{"hone.CrossEntropyGradient", kFollows, {}, 0b1},
    PrecisionRow{"RotaryEmbedding", kFollows, {}},  // pairs are turned: nothing grows
    PrecisionRow{.op = "Add", .rule = kFollows, .why = {}, .promotes = true},
    PrecisionRow{.op = "Sum", .rule = kFollows, .why = {}, .promotes = true},
    PrecisionRow{"ReduceMax", kFollows, {}, 0b1},
    PrecisionRow{"ReduceMin", kFollows, {}, 0b1},
    PrecisionRow{"Resize", kFollows, {}, 0b1},
    PrecisionRow{"LogSoftmax", kKeeps, kMagnifies},
    PrecisionRow{"TopK", kKeeps, kCompares},
    PrecisionRow{"ArgMax", kKeeps, kCompares},
    PrecisionRow{"ArgMin", kKeeps, kCompares},
    PrecisionRow{"Hardmax", kKeeps, kCompares},
    PrecisionRow{"ReduceSum", kKeeps, kSums, 0b1, "hone.ReduceSum"},
    PrecisionRow{"SoftmaxCrossEntropyLoss", kKeeps, kSums, 0b1, "hone.SoftmaxCrossEntropyLoss"},
    PrecisionRow{"hone.AdamW", kKeeps, "parameters and moments gather small steps"},
    PrecisionRow{"hone.Sgd", kKeeps, "parameters and moments gather small steps"},
    PrecisionRow{"LpPool", kKeeps, kSums},
    PrecisionRow{"GlobalLpPool", kKeeps, kSums},
    PrecisionRow{"LRN", kKeeps, kSums},
    PrecisionRow{"EyeLike", kKeeps, "it reads no numbers"},
    PrecisionRow{"Exp", kKeeps, kMagnifies},
    PrecisionRow{"Log", kKeeps, kMagnifies},
    PrecisionRow{"Pow", kKeeps, kMagnifies},
    PrecisionRow{"Reciprocal", kKeeps, kMagnifies},
    PrecisionRow{"Sqrt", kKeeps, kMagnifies},
    PrecisionRow{"Sin", kKeeps, kMagnifies},
    PrecisionRow{"Cos", kKeeps, kMagnifies},
    PrecisionRow{"Tan", kKeeps, kMagnifies},
    PrecisionRow{"Asin", kKeeps, kMagnifies},
    PrecisionRow{"Acos", kKeeps, kMagnifies},
    PrecisionRow{"Sinh", kKeeps, kMagnifies},
    PrecisionRow{"Cosh", kKeeps, kMagnifies},
    PrecisionRow{"Acosh", kKeeps, kMagnifies},
    PrecisionRow{"Atanh", kKeeps, kMagnifies},
    PrecisionRow{"Softplus", kKeeps, kMagnifies},
    PrecisionRow{"Mod", kKeeps, kMagnifies},
    PrecisionRow{"Floor", kKeeps, kMagnifies},
    PrecisionRow{"Ceil", kKeeps, kMagnifies},
    PrecisionRow{"Round", kKeeps, kMagnifies},
    PrecisionRow{"Equal", kKeeps, kCompares},
    PrecisionRow{"Less", kKeeps, kCompares},
    PrecisionRow{"LessOrEqual", kKeeps, kCompares},
    PrecisionRow{"Greater", kKeeps, kCompares},
    PrecisionRow{"GreaterOrEqual", kKeeps, kCompares},
    PrecisionRow{"IsInf", kKeeps, kCompares},
    PrecisionRow{"IsNaN", kKeeps, kCompares},
    PrecisionRow{"QuantizeLinear", kKeeps, "it rounds to steps of its own"},
    PrecisionRow{"DequantizeLinear", kKeeps, "it rounds to steps of its own"},
    PrecisionRow{"hone.Recompute", kKeeps, "what stands behind it is computed anew on purpose"},
};

PrecisionRow of_class(OpClass op_class) {
  switch (op_class) {
    case OpClass::kPointwise:  // one rounding each; Add and Sub may cancel, which is measured
    case OpClass::kPooling:    // the largest, or a mean whose sum is the kernel's
    case OpClass::kMovement:
    case OpClass::kView:
      return {.op = {}, .rule = kFollows, .why = {}};
    case OpClass::kReduction:
      return {.op = {}, .rule = kKeeps, .why = kSums};
    default:
      return {.op = {}, .rule = kKeeps, .why = "nothing is known of it in a narrow type"};
  }
}

}  // namespace

PrecisionRow precision_row(const graph::Node& node) {
  if (graph::part_of_step(node) == graph::StepPart::kAccumulation)
    return {.op = {}, .rule = kKeeps, .why = "it gathers the gradients of micro-batches"};
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const PrecisionRow& each) { return each.op == node.op; });
  if (row != kRows.end()) return *row;
  const graph::OpEntry* entry = graph::find_entry(node);
  return of_class(entry != nullptr ? entry->op_class : OpClass::kOther);
}

}  // namespace hone::passes
