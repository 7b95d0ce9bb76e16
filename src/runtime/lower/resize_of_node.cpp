#include "runtime/lower/resize_of_node.h"

#include "runtime/lower/copies_of_node.h"

namespace hone::runtime {
namespace {

using kernels::ResizeDesc;

// Scale and extents of every axis, from constant scales or sizes.
std::optional<std::vector<ResizeAxis>> read_axes(const LowerContext& context) {
  const Tensor* scales = context.constant(2);
  const Tensor* sizes = context.constant(3);
  std::optional<std::vector<double>> by_scale;
  std::optional<std::vector<int64_t>> by_size;
  if (scales != nullptr && scales->size() > 0) by_scale = scales->to_doubles();
  if (sizes != nullptr && sizes->size() > 0) by_size = sizes->to_ints();
  if (by_scale.has_value() == by_size.has_value()) return std::nullopt;
  auto axes = plan_resize(context.node.attributes, context.in_shape(0), {}, by_scale, by_size);
  if (!axes.ok()) return std::nullopt;
  return *axes;
}

bool read_mode(const Attributes& attributes, ResizeDesc& desc) {
  const auto coordinates = read_coordinates(attributes);
  if (!coordinates.ok()) return false;
  if (*coordinates == ResizeCoordinates::kTfCropAndResize) return false;
  desc.coordinates = *coordinates;
  const std::string mode = attributes.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear") return false;
  desc.mode = mode == "linear" ? kernels::ResizeMode::kLinear : kernels::ResizeMode::kNearest;
  const std::string rounding = attributes.text("nearest_mode", "round_prefer_floor");
  desc.rounding = rounding == "floor"               ? kernels::ResizeRounding::kFloor
                  : rounding == "ceil"              ? kernels::ResizeRounding::kCeil
                  : rounding == "round_prefer_ceil" ? kernels::ResizeRounding::kPreferCeil
                                                    : kernels::ResizeRounding::kPreferFloor;
  return attributes.integer("antialias", 0) == 0;
}

}  // namespace

std::optional<NodeResize> resize_of_node(const LowerContext& context) {
  const graph::Node& node = context.node;
  if (node.op != "Resize") return std::nullopt;
  const Shape in = context.in_shape(0);
  const Shape out = context.out_shape();
  if (in.size() < 3 || in.size() > 5 || element_count(in) == 0 || element_count(out) == 0)
    return std::nullopt;
  if (context.in(0).layout != context.out().layout) return std::nullopt;
  const auto axes = read_axes(context);
  if (!axes || !(*axes)[0].identity() || !(*axes)[1].identity()) return std::nullopt;
  ResizeDesc desc;
  if (!read_mode(node.attributes, desc)) return std::nullopt;
  desc.batch = in[0];
  desc.channels = in[1];
  desc.layout = context.in(0).layout;
  for (std::size_t i = 2; i < in.size(); ++i) {
    desc.in_spatial.push_back(in[i]);
    desc.out_spatial.push_back(out[i]);
    desc.scales.push_back((*axes)[i].scale);
  }
  return NodeResize{std::move(desc), parameter_inputs(context)};
}

}  // namespace hone::runtime
