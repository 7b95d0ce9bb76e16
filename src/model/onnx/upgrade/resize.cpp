// Resampling: Upsample became Resize, and Resize learned to say how it maps coordinates.
#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

Status upsample_height_width(Upgrade& u) {  // opset 1: images only
  u.attributes().set(
      "scales", Floats{1, 1, u.attributes().real("height_scale", 1), u.attributes().real("width_scale", 1)});
  u.attributes().erase("height_scale");
  u.attributes().erase("width_scale");
  if (u.attributes().text("mode", "nearest") == "bilinear") u.attributes().set("mode", std::string("linear"));
  return {};
}

Status upsample_scales(Upgrade& u) {
  const Floats scales = u.attributes().reals("scales");
  u.attributes().erase("scales");
  u.set_input(1, u.add_constant("scales", Tensor::f32({static_cast<int64_t>(scales.size())}, scales)));
  return {};
}

Status upsample_to_resize(Upgrade& u) {
  u.node.op = "Resize";
  if (u.attributes().text("mode", "nearest") == "bilinear") u.attributes().set("mode", std::string("linear"));
  return {};
}

// Opset 10 mapped coordinates one way: out / scale, rounded down for "nearest".
Status resize_coordinates(Upgrade& u) {
  if (u.has_input(1)) u.set_input(2, u.node.inputs[1]);
  u.set_input(1, graph::kNoValue);
  u.attributes().set("coordinate_transformation_mode", std::string("asymmetric"));
  if (u.attributes().text("mode", "nearest") == "nearest")
    u.attributes().set("nearest_mode", std::string("floor"));
  return {};
}

// Exporters write an empty tensor for an input that is not there.
Status resize_absent_inputs(Upgrade& u) {
  for (const std::size_t input : {1u, 2u, 3u})
    if (const Tensor* data = u.constant(input); data != nullptr && data->size() == 0)
      u.set_input(input, graph::kNoValue);
  return {};
}

Status grid_sample_modes(Upgrade& u) {
  const std::string mode = u.attributes().text("mode", "bilinear");
  if (mode == "bilinear") u.attributes().set("mode", std::string("linear"));
  if (mode == "bicubic") u.attributes().set("mode", std::string("cubic"));
  return {};
}

Status roi_align_coordinates(Upgrade& u) {
  if (!u.attributes().has("coordinate_transformation_mode"))
    u.attributes().set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

}  // namespace

const std::vector<UpgradeStep>& resize_steps() {
  static const std::vector<UpgradeStep> steps = {
      {"Upsample", 7, upsample_height_width},    {"Upsample", 9, upsample_scales},
      {"Upsample", 10, upsample_to_resize},      {"Resize", 11, resize_coordinates},
      {"Resize", kAlways, resize_absent_inputs}, {"GridSample", 20, grid_sample_modes},
      {"RoiAlign", 16, roi_align_coordinates},
  };
  return steps;
}

}  // namespace hone::model::onnx
