// The gradient of Resize, which is linear in the image and works along one axis at a time: along each axis the
// gradient is multiplied by the weights that the resizing gave to the input's elements. Those are a resized unit
// matrix, so that every mode and every coordinate transformation has one definition.
#include "core/resize.h"

#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

std::optional<std::vector<double>> constant_reals(const GradientContext& c, std::size_t i) {
  const Tensor* tensor = c.constant(i);
  if (tensor == nullptr || tensor->size() == 0) return std::nullopt;
  return tensor->to_doubles();
}

// How each axis is resized; an error where that is known only when the graph runs.
Result<std::vector<ResizeAxis>> resized_axes(const GradientContext& c) {
  const TensorType& x = c.type(c.input(0));
  const auto scales = constant_reals(c, 2);
  auto sizes = c.constant_ints(3);
  if (sizes && sizes->empty()) sizes.reset();
  const bool crops =
      c.attributes().text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  const auto roi = crops ? constant_reals(c, 1) : std::nullopt;
  const Error unknown = unsupported(
      fmt::format("unsupported: the gradient of Resize of {} to a size that is computed; read the model with "
                  "numbers for its symbols",
                  x.text()));
  if (!x.has_rank() || (!scales && !sizes) || (crops && c.has_input(1) && !roi)) return unknown;
  if (!scales && c.attributes().text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return unsupported("unsupported: the gradient of Resize that keeps the aspect ratio");
  // An extent that is not known must not be resized: 1 stands for it.
  Shape extents;
  for (const Dim& dim : *x.dims) extents.push_back(dim.known() ? dim.extent() : 1);
  HONE_ASSIGN(std::vector<ResizeAxis> plan,
              plan_resize(c.attributes(), extents, roi ? *roi : std::vector<double>{}, scales, sizes));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if ((*x.dims)[i].known()) continue;
    const bool kept = (scales && plan[i].scale == 1) || (*x.dims)[i].same_as((*c.type(c.output(0)).dims)[i]);
    if (!kept) return unknown;
    plan[i] = {.input = 1, .output = 1};
  }
  return plan;
}

// [input, output]: what each element of the axis gives to each place of the resized one.
ValueId weights_of(GradientContext& c, const ResizeAxis& axis, bool scaled, DType dtype) {
  Attributes attributes = c.attributes();
  attributes.set("axes", Ints{1});
  attributes.set("extrapolation_value", 0.0f);
  const auto n = static_cast<std::size_t>(axis.input);
  std::vector<double> unit(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) unit[i * n + i] = 1;
  const Shape square{axis.input, axis.input};
  ValueId scales = kNoValue, sizes = kNoValue, roi = kNoValue;
  if (scaled) {
    const float scale = static_cast<float>(axis.scale);
    scales = c.tensor(Tensor::f32({1}, std::span(&scale, 1)));
  } else {
    sizes = c.ints({axis.output});
  }
  if (axis.roi_begin != 0 || axis.roi_end != 1) {
    const std::vector<double> range{axis.roi_begin, axis.roi_end};
    roi = c.tensor(Tensor::of<double>(DType::kF64, {2}, range));
  }
  const ValueId eye = c.tensor(Tensor::of<double>(DType::kF64, square, unit));
  std::vector<ValueId> inputs{eye, roi, scales};
  if (sizes.valid()) inputs.push_back(sizes);
  return c.cast(c.add("Resize", std::move(inputs), std::move(attributes)), dtype);
}

// Images enlarged to blocks of equal pixels, as U-Nets do: the gradient is the sum over each block.
bool repeats_pixels(const GradientContext& c, const std::vector<ResizeAxis>& plan) {
  if (c.attributes().text("mode", "nearest") != "nearest" || plan.size() < 3 || plan.size() > 5) return false;
  const std::string coordinates = c.attributes().text("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = c.attributes().text("nearest_mode", "round_prefer_floor");
  const bool floors = coordinates == "asymmetric" && rounding == "floor";
  const bool rounds = (coordinates == "half_pixel" || coordinates == "half_pixel_symmetric") &&
                      (rounding == "round_prefer_floor" || rounding == "round_prefer_ceil");
  if (!floors && !rounds) return false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto factor = static_cast<int64_t>(plan[i].scale);
    if (static_cast<double>(factor) != plan[i].scale || plan[i].output != plan[i].input * factor)
      return false;
    if (i < 2 && !plan[i].identity()) return false;
  }
  return true;
}

ValueId summed_blocks(GradientContext& c, const std::vector<ResizeAxis>& plan) {
  Ints block;
  double count = 1;
  for (const ResizeAxis& axis : std::span(plan).subspan(2)) {
    block.push_back(static_cast<int64_t>(axis.scale));
    count *= axis.scale;
  }
  const ValueId mean = c.add("AveragePool", {c.gradient()}, {{"kernel_shape", block}, {"strides", block}});
  return c.times(mean, count);
}

Status resize_rule(GradientContext& c) {
  HONE_ASSIGN(const std::vector<ResizeAxis> plan, resized_axes(c));
  if (repeats_pixels(c, plan)) {
    c.set(0, summed_blocks(c, plan));
    return {};
  }
  const bool scaled = constant_reals(c, 2).has_value();
  const int64_t rank = static_cast<int64_t>(plan.size());
  ValueId g = c.gradient();
  for (int64_t i = rank; i-- > 0;) {
    const ResizeAxis& axis = plan[static_cast<std::size_t>(i)];
    if (axis.identity()) continue;
    const ValueId weights = weights_of(c, axis, scaled, c.type(g).dtype);
    if (i + 1 == rank) {  // rows times [output, input]
      g = c.add("MatMul", {g, c.add("Transpose", {weights}, {{"perm", Ints{1, 0}}})});
    } else if (i + 2 == rank) {  // [input, output] times matrices
      g = c.add("MatMul", {weights, g});
    } else {  // the axis goes next to the last for its turn
      Ints perm(plan.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm[static_cast<std::size_t>(i)], perm[plan.size() - 2]);
      const auto swapped = [&](ValueId value) { return c.add("Transpose", {value}, {{"perm", perm}}); };
      g = swapped(c.add("MatMul", {weights, swapped(g)}));
    }
  }
  c.set(0, g);
  return {};
}

}  // namespace

void add_resize_gradients(OpTable& table) { table.set_gradient("Resize", resize_rule); }

}  // namespace hone::graph
