// Normalization and softmax: training outputs, per-group parameters, and the two dimensions that softmax saw.
#include <algorithm>

#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

using graph::ValueId;

// Until opset 12 softmax saw a matrix: axes before `axis` were rows, those from it on were columns.
Status softmax_of_matrix(Upgrade& u) {
  const int64_t axis = u.attributes().integer("axis", 1);
  const graph::TensorType& data = u.type(0);
  const bool last = axis == -1 || (data.has_rank() && axis == data.rank() - 1);
  if (last) {
    u.attributes().set("axis", int64_t{-1});
    return {};
  }
  if (!u.has_input(0)) return {};  // the operator table says what is wrong
  const ValueId input = u.node.inputs[0];
  HONE_ASSIGN(const ValueId shape, u.emit("Shape", {input}));
  HONE_ASSIGN(const ValueId matrix, u.emit("Flatten", {input}, {{"axis", axis}}));
  HONE_ASSIGN(const ValueId result, u.emit(u.node.op, {matrix}, {{"axis", int64_t{-1}}}));
  u.node.op = "Reshape";
  u.node.inputs = {result, shape};
  u.node.attributes = {};
  return {};
}

// Statistics over single elements instead of channels: no exporter of the last years writes it.
Status batch_spatial(Upgrade& u) {
  const bool spatial = u.attributes().integer("spatial", 1) != 0;
  u.attributes().erase("spatial");
  if (spatial || (u.type(0).has_rank() && u.type(0).rank() == 2)) return {};
  return unsupported("unsupported: BatchNormalization with spatial = 0; upgrade the model to opset 9");
}

// is_test (until opset 6) or merely asking for the statistics (until 13) said whether a node trains.
Status batch_training(Upgrade& u) {
  const bool is_test = u.attributes().integer("is_test", 0) != 0;
  u.attributes().erase("is_test");
  const auto wanted = [&](std::size_t i) { return i < u.wanted.size() && u.wanted[i]; };
  if (wanted(3) || wanted(4))
    return unsupported(
        "unsupported: BatchNormalization with saved statistics; upgrade the model to opset 14");
  const bool trains = !is_test && (wanted(1) || wanted(2));
  if (trains) u.attributes().set("training_mode", int64_t{1});
  u.output_names.resize(std::min<std::size_t>(u.output_names.size(), trains ? 3 : 1));
  u.wanted.resize(u.output_names.size());
  return {};
}

// Scale and bias held one number a group; now one a channel.
Status group_parameters(Upgrade& u) {
  const graph::TensorType& data = u.type(0);
  const int64_t groups = u.attributes().integer("num_groups", 0);
  if (!data.has_rank() || data.rank() < 2 || !(*data.dims)[1].known())
    return unsupported("the opset 18 form needs a known number of channels; bind the input shapes");
  const int64_t channels = (*data.dims)[1].extent();
  if (groups < 1 || channels % groups != 0) return invalid("num_groups does not divide the channels");
  for (const std::size_t input : {1u, 2u}) {
    if (!u.has_input(input)) continue;
    HONE_ASSIGN(const ValueId column,
                u.emit("Reshape", {u.node.inputs[input], u.ints("column", {groups, 1})}));
    HONE_ASSIGN(const ValueId wide, u.emit("Expand", {column, u.ints("wide", {groups, channels / groups})}));
    HONE_ASSIGN(const ValueId flat, u.emit("Reshape", {wide, u.ints("flat", {channels})}));
    u.set_input(input, flat);
  }
  return {};
}

}  // namespace

const std::vector<UpgradeStep>& normalization_steps() {
  static const std::vector<UpgradeStep> steps = {
      {"Softmax", 13, softmax_of_matrix},         {"LogSoftmax", 13, softmax_of_matrix},
      {"Hardmax", 13, softmax_of_matrix},         {"BatchNormalization", 9, batch_spatial},
      {"BatchNormalization", 14, batch_training}, {"GroupNormalization", 21, group_parameters},
  };
  return steps;
}

}  // namespace hone::model::onnx
