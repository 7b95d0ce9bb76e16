// Resize of images, nearest and linear, in the layout of the input: hone's own kernel, f32.
#include <algorithm>

#include <fmt/core.h>

#include "core/resize.h"
#include "kernels/cpu/resize/resize.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
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

void lower_resize(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.op != "Resize" || context.in(0).dtype != DType::kF32) return;
  const Shape in = context.in_shape(0);
  const Shape out = context.out_shape();
  if (in.size() < 3 || in.size() > 5 || element_count(in) == 0 || element_count(out) == 0) return;
  if (context.in(0).layout != context.out().layout) return;
  const auto axes = read_axes(context);
  if (!axes || !(*axes)[0].identity() || !(*axes)[1].identity()) return;
  ResizeDesc desc;
  if (!read_mode(node.attributes, desc)) return;
  desc.batch = in[0];
  desc.channels = in[1];
  desc.layout = context.in(0).layout;
  for (std::size_t i = 2; i < in.size(); ++i) {
    desc.in_spatial.push_back(in[i]);
    desc.out_spatial.push_back(out[i]);
    desc.scales.push_back((*axes)[i].scale);
  }
  std::vector<std::size_t> unread;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) unread.push_back(i);
  found.push_back({"hone resize", [desc, unread]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Resize resize, kernels::Resize::create(desc));
                     KernelTraits traits{.implementation =
                                             fmt::format("hone resize ({})", layout_name(desc.layout))};
                     traits.scratch_bytes = resize.scratch_bytes();
                     traits.unread = unread;
                     return make_kernel(std::move(traits),
                                        [resize = std::move(resize)](const KernelArguments& a) -> Status {
                                          resize.execute(static_cast<const float*>(a.inputs[0]),
                                                         static_cast<float*>(a.outputs[0]), a.scratch);
                                          return {};
                                        });
                   }});
}

}  // namespace hone::runtime::cpu
