// Attributes that later opsets turned into inputs, so that a model can compute them.
#include <fmt/core.h>

#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

Status axes_to_second_input(Upgrade& u) {
  u.ints_to_input("axes", 1);
  return {};
}

Status clip_bounds(Upgrade& u) {
  HONE_CHECK(u.real_to_input("min", 1));
  return u.real_to_input("max", 2);
}

Status pad_paddings(Upgrade& u) {  // opset 1 spelled it "paddings"
  if (!u.attributes().has("paddings")) return {};
  u.attributes().set("pads", u.attributes().ints("paddings"));
  u.attributes().erase("paddings");
  return {};
}

Status pad_inputs(Upgrade& u) {
  const Ints pads = u.attributes().ints("pads");
  u.attributes().erase("pads");
  u.set_input(1, u.ints("pads", pads));
  return u.real_to_input("value", 2);
}

Status reshape_shape(Upgrade& u) {
  const Ints shape = u.attributes().ints("shape");
  u.attributes().erase("shape");
  u.set_input(1, u.ints("shape", shape));
  return {};
}

Status slice_ranges(Upgrade& u) {
  for (const char* required : {"starts", "ends"})
    if (!u.attributes().has(required)) return invalid(fmt::format("attribute '{}' is missing", required));
  const Ints starts = u.attributes().ints("starts");
  const Ints ends = u.attributes().ints("ends");
  u.attributes().erase("starts");
  u.attributes().erase("ends");
  u.set_input(1, u.ints("starts", starts));
  u.set_input(2, u.ints("ends", ends));
  u.ints_to_input("axes", 3);
  return {};
}

Status split_sizes(Upgrade& u) {
  u.ints_to_input("split", 1);
  return {};
}

// From opset 18 a Split without sizes says how many parts it makes; before, its outputs said it.
Status split_count(Upgrade& u) {
  if (!u.has_input(1)) u.attributes().set("num_outputs", static_cast<int64_t>(u.output_names.size()));
  return {};
}

Status topk_count(Upgrade& u) {
  if (!u.attributes().has("k")) return invalid("attribute 'k' is missing");
  const int64_t k = u.attributes().integer("k", 0);
  u.attributes().erase("k");
  u.set_input(1, u.ints("k", {k}));
  return {};
}

// tiles and axis, two scalars, became one count for each axis.
Status tile_repeats(Upgrade& u) {
  const Tensor* tiles = u.constant(1);
  const Tensor* axis = u.constant(2);
  if (u.node.inputs.size() < 3) return {};
  if (tiles == nullptr || axis == nullptr || tiles->size() != 1 || axis->size() != 1 || !u.type(0).has_rank())
    return unsupported(
        "unsupported: Tile in its opset 1 form with computed tiles or axis; upgrade the model");
  const int64_t rank = u.type(0).rank();
  HONE_ASSIGN(const int64_t at, normalize_axis(static_cast<int64_t>(axis->at(0)), rank));
  Ints repeats(static_cast<std::size_t>(rank), 1);
  repeats[static_cast<std::size_t>(at)] = static_cast<int64_t>(tiles->at(0));
  u.node.inputs.resize(1);
  u.set_input(1, u.ints("repeats", repeats));
  return {};
}

Status dropout_ratio(Upgrade& u) {
  u.attributes().erase("is_test");  // hone reads models for inference unless they say otherwise (opset 12)
  HONE_CHECK(u.real_to_input("ratio", 1));
  // The mask was of the data's type until opset 10 made it boolean.
  const bool mask = u.output_names.size() > 1 && u.wanted[1];
  if (mask && u.opset() < 10)
    u.then(1, "Cast",
           {{"to", static_cast<int64_t>(u.type(0).dtype == DType::kF64   ? 11
                                        : u.type(0).dtype == DType::kF16 ? 10
                                                                         : 1)}});
  return {};
}

Status dft_axis(Upgrade& u) {
  const int64_t axis = u.attributes().integer("axis", 1);
  u.attributes().erase("axis");
  u.set_input(2, u.add_constant("axis", Tensor::scalar_i64(axis)));
  return {};
}

}  // namespace

const std::vector<UpgradeStep>& input_steps() {
  static const std::vector<UpgradeStep> steps = {
      {"Squeeze", 13, axes_to_second_input},
      {"Unsqueeze", 13, axes_to_second_input},
      {"ReduceSum", 13, axes_to_second_input},
      {"ReduceL1", 18, axes_to_second_input},
      {"ReduceL2", 18, axes_to_second_input},
      {"ReduceLogSum", 18, axes_to_second_input},
      {"ReduceLogSumExp", 18, axes_to_second_input},
      {"ReduceMax", 18, axes_to_second_input},
      {"ReduceMean", 18, axes_to_second_input},
      {"ReduceMin", 18, axes_to_second_input},
      {"ReduceProd", 18, axes_to_second_input},
      {"ReduceSumSquare", 18, axes_to_second_input},
      {"Clip", 11, clip_bounds},
      {"Pad", 2, pad_paddings},
      {"Pad", 11, pad_inputs},
      {"Reshape", 5, reshape_shape},
      {"Slice", 10, slice_ranges},
      {"Split", 13, split_sizes},
      {"Split", 18, split_count},
      {"TopK", 10, topk_count},
      {"Tile", 6, tile_repeats},
      {"Dropout", 12, dropout_ratio},
      {"DFT", 20, dft_axis},
  };
  return steps;
}

}  // namespace hone::model::onnx
