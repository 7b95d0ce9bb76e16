// Broadcasting before opset 7: only the second operand stretched, where attribute `broadcast` allowed it,
// from the axis that attribute `axis` named. NumPy's rules, which came then, cover it once the operand's
// shape ends where it should.
#include <numeric>

#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

using graph::ValueId;

// Appends `count` extents of 1 to the shape of `input`.
Status append_axes(Upgrade& u, std::size_t input, int64_t count) {
  const int64_t rank = u.type(input).rank();
  Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), rank);
  HONE_ASSIGN(const ValueId wide, u.emit("Unsqueeze", {u.node.inputs[input], u.ints("axes", axes)}));
  u.set_input(input, wide);
  return {};
}

Status second_operand(Upgrade& u) {
  const bool broadcasts = u.attributes().integer("broadcast", 0) != 0;
  const bool has_axis = u.attributes().has("axis");
  const int64_t stated = u.attributes().integer("axis", 0);
  u.attributes().erase("broadcast");
  u.attributes().erase("axis");
  if (!broadcasts || !has_axis) return {};
  if (!u.type(0).has_rank() || !u.type(1).has_rank())
    return unsupported(
        "attribute 'axis' of the opset 1 form needs operands of known rank; bind the input shapes");
  HONE_ASSIGN(const int64_t axis, normalize_axis(stated, u.type(0).rank()));
  const int64_t missing = u.type(0).rank() - axis - u.type(1).rank();
  if (missing < 0) return invalid("the second operand has too many axes for attribute 'axis'");
  return missing == 0 ? Status() : append_axes(u, 1, missing);
}

Status drop_broadcast(Upgrade& u) {
  u.attributes().erase("broadcast");
  return {};
}

// The slope held one number a channel; now it broadcasts like any operand.
Status channel_slope(Upgrade& u) {
  const graph::TensorType& data = u.type(0);
  const graph::TensorType& slope = u.type(1);
  if (!data.has_rank() || !slope.has_rank() || slope.rank() != 1 || data.rank() <= 2) return {};
  if ((*slope.dims)[0] == graph::Dim(1)) return {};
  return append_axes(u, 1, data.rank() - 2);
}

}  // namespace

const std::vector<UpgradeStep>& broadcast_steps() {
  static const std::vector<UpgradeStep> steps = {
      {"Add", 7, second_operand},     {"Sub", 7, second_operand},  {"Mul", 7, second_operand},
      {"Div", 7, second_operand},     {"Pow", 7, second_operand},  {"And", 7, second_operand},
      {"Or", 7, second_operand},      {"Xor", 7, second_operand},  {"Equal", 7, second_operand},
      {"Greater", 7, second_operand}, {"Less", 7, second_operand}, {"Gemm", 7, drop_broadcast},
      {"PRelu", 7, channel_slope},
  };
  return steps;
}

}  // namespace hone::model::onnx
