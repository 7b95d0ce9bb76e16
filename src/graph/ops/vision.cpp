// Resizing and sampling of images, regions of interest, suppression of overlapping boxes.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/resize.h"
#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

std::optional<std::vector<double>> constant_reals(const InferContext& context, std::size_t input) {
  const Tensor* tensor = context.constant(input);
  if (tensor == nullptr || tensor->size() == 0) return std::nullopt;
  return tensor->to_doubles();
}

// Axes whose scale is 1 keep their extent, symbols included; known ones are computed; the others are unknown.
Result<Dims> resized(const Attributes& attributes, const Dims& input,
                     const std::optional<std::vector<double>>& scales,
                     const std::optional<std::vector<int64_t>>& sizes) {
  Shape extents;
  for (const Dim& dim : input) extents.push_back(dim.known() ? dim.extent() : 1);
  HONE_ASSIGN(const auto plan, plan_resize(attributes, extents, {}, scales, sizes));
  const bool stretch = attributes.text("keep_aspect_ratio_policy", "stretch") == "stretch" || !sizes;
  std::vector<bool> named(input.size(), !attributes.has("axes"));
  for (int64_t axis : attributes.ints("axes")) {
    named[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int64_t>(input.size()) : axis)] = true;
  }
  bool all_known = true;
  for (const Dim& dim : input) all_known = all_known && dim.known();
  Dims output;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const bool kept = !named[i] || (scales && plan[i].scale == 1);
    if (kept) {
      output.push_back(input[i]);
    } else if (sizes ? stretch || all_known : input[i].known()) {
      output.emplace_back(plan[i].output);
    } else {
      output.emplace_back();
    }
  }
  return output;
}

Status infer_resize(InferContext& context) {
  TensorType output = context.input(0);
  const auto scales = constant_reals(context, 2);
  auto sizes = context.ints(3);
  if (sizes && sizes->empty()) sizes.reset();
  if (!output.has_rank()) {
    context.set_output(0, output);
    return {};
  }
  if (scales || sizes) {
    HONE_ASSIGN(output.dims, resized(context.attributes(), *output.dims, scales, sizes));
  } else {
    for (Dim& dim : *output.dims) dim = Dim();
  }
  context.set_output(0, output);
  return {};
}

// Multiply-adds of the separable filter: taps an axis that changes, for each output element of that pass,
// counted as if every pass had the size of the output. Nearest moves only.
double resize_flops(const CostContext& context) {
  const std::string mode = context.node.attributes.text("mode", "nearest");
  if (mode == "nearest") return 0;
  const bool antialias = context.node.attributes.integer("antialias", 0) != 0;
  const Shape input = context.in(0).shape();
  const Shape output = context.out(0).shape();
  double taps = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == output[i] || output[i] == 0) continue;
    const double shrink = static_cast<double>(input[i]) / static_cast<double>(output[i]);
    taps += (mode == "cubic" ? 4 : 2) * (antialias ? std::max(1.0, shrink) : 1);
  }
  return 2 * taps * infer::elements(context.out(0));
}

Status infer_grid_sample(InferContext& context) {
  const TensorType& x = context.input(0);
  const TensorType& grid = context.input(1);
  HONE_CHECK(infer::expect_dtype(context, 1, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  if (x.has_rank()) HONE_CHECK(infer::expect_rank(context, 1, x.rank()));
  if (!x.has_rank() || !grid.has_rank()) {
    context.set_output(0, unranked(x.dtype));
    return {};
  }
  Dims dims{(*x.dims)[0], (*x.dims)[1]};
  dims.insert(dims.end(), grid.dims->begin() + 1, grid.dims->end() - 1);
  context.set_output(0, tensor_type(x.dtype, std::move(dims)));
  return {};
}

// The gradient of GridSample's output, the shape of its images, and the grid.
Status infer_grid_sample_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_dtype(context, 2, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  const TensorType& g = context.input(0);
  TensorType output = g;
  const auto shape = context.ints(1);
  if (g.has_rank()) {
    HONE_CHECK(infer::expect_rank(context, 2, g.rank()));
    for (std::size_t i = 2; i < output.dims->size(); ++i) (*output.dims)[i] = Dim();
  }
  if (shape) {
    if (g.has_rank() && static_cast<int64_t>(shape->size()) != g.rank())
      return context.error(
          fmt::format("a gradient {} does not fit images of {}", g.text(), shape_text(*shape)));
    output.dims = to_dims(*shape);
  }
  context.set_output(0, std::move(output));
  return {};
}

// The gradient of GridSample's output, its images and the grid.
Status infer_grid_sample_grid_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_dtype(context, 2, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  if (context.input(0).has_rank())
    for (const std::size_t i : {1, 2}) HONE_CHECK(infer::expect_rank(context, i, context.input(0).rank()));
  context.set_output(0, context.input(2));
  return {};
}

// Pixels that a point reads.
double grid_sample_taps(const CostContext& context) {
  const std::string mode = context.node.attributes.text("mode", "linear");
  const auto axes = static_cast<double>(context.in(0).rank() - 2);
  return mode == "nearest" ? 1 : std::pow(mode == "cubic" ? 4 : 2, axes);
}

// A multiply-add a tap, of each element of the output's gradient.
double grid_sample_gradient_flops(const CostContext& context) {
  return 2 * grid_sample_taps(context) * infer::elements(context.in(0));
}

// The same, and one an axis for each tap of a point.
double grid_sample_grid_gradient_flops(const CostContext& context) {
  return 2 * grid_sample_taps(context) * (infer::elements(context.in(0)) + infer::elements(context.out(0)));
}

// 2ⁿ (linear) or 4ⁿ (cubic) multiply-adds an output element.
double grid_sample_flops(const CostContext& context) {
  const double taps = grid_sample_taps(context);
  return taps == 1 ? 0 : 2 * taps * infer::elements(context.out(0));
}

Status infer_affine_grid(InferContext& context) {
  const TensorType& theta = context.input(0);
  HONE_CHECK(infer::expect_rank(context, 0, 3));
  const auto size = context.ints(1);
  Dims dims;
  if (size) {
    if (size->size() != 4 && size->size() != 5) return context.error("size needs 4 values (2-D) or 5 (3-D)");
    for (std::size_t i = 0; i < size->size(); ++i) {
      if ((*size)[i] < 0) return context.error(fmt::format("size has the extent {}", (*size)[i]));
      if (i != 1) dims.emplace_back((*size)[i]);
    }
  } else if (context.input(1).is_static()) {
    const Shape shape = context.input(1).shape();
    if (shape.size() != 1 || shape[0] < 4 || shape[0] > 5) return context.error("size needs 4 or 5 values");
    dims.resize(static_cast<std::size_t>(shape[0]) - 1);
  } else {
    context.set_output(0, unranked(theta.dtype));
    return {};
  }
  dims.emplace_back(static_cast<int64_t>(dims.size()) - 1);
  context.set_output(0, tensor_type(theta.dtype, std::move(dims)));
  return {};
}

double affine_grid_flops(const CostContext& context) {  // a row of theta times a homogeneous point
  return 2 * infer::elements(context.out(0)) * static_cast<double>(context.in(0).shape().back());
}

Status infer_roi_align(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 4));
  HONE_CHECK(infer::expect_rank(context, 1, 2));
  const TensorType& x = context.input(0);
  const TensorType& rois = context.input(1);
  const int64_t height = context.attributes().integer("output_height", 1);
  const int64_t width = context.attributes().integer("output_width", 1);
  if (height < 1 || width < 1) return context.error("output_height and output_width must be positive");
  context.set_output(0, tensor_type(x.dtype, Dims{rois.has_rank() ? (*rois.dims)[0] : Dim(),
                                                  x.has_rank() ? (*x.dims)[1] : Dim(), height, width}));
  return {};
}

// A bilinear interpolation (4 multiply-adds) and an addition for each sample. Without sampling_ratio the
// number of samples depends on the regions; 2 × 2 a bin, the usual choice, stands in.
double roi_align_flops(const CostContext& context) {
  const auto ratio = static_cast<double>(context.node.attributes.integer("sampling_ratio", 0));
  const double samples = ratio > 0 ? ratio * ratio : 4;
  return infer::elements(context.out(0)) * samples * 9;
}

// The gradient of RoiAlign's output, the shape of its images, regions and their images; the images where the largest counts.
Status infer_roi_align_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank(context, 0, 4));
  HONE_CHECK(infer::expect_rank(context, 2, 2));
  const bool maximum = context.attributes().text("mode", "avg") == "max";
  if (maximum != context.has_input(4))
    return context.error("the images are an input where mode is max, and only there");
  if (maximum) HONE_CHECK(infer::expect_same_dtype(context, 0, 4));
  const TensorType& g = context.input(0);
  const auto shape = context.ints(1);
  if (shape && shape->size() != 4)
    return context.error(fmt::format("the images have the shape {}, must have 4 axes", shape_text(*shape)));
  Dims dims = shape ? to_dims(*shape) : Dims(4);
  if (!shape && g.has_rank()) dims[1] = (*g.dims)[1];
  if (maximum && context.input(4).has_rank()) dims = *context.input(4).dims;
  context.set_output(0, tensor_type(g.dtype, std::move(dims)));
  return {};
}

double roi_align_gradient_flops(const CostContext& context) {
  const auto ratio = static_cast<double>(context.node.attributes.integer("sampling_ratio", 0));
  return infer::elements(context.in(0)) * (ratio > 0 ? ratio * ratio : 4) * 8;  // a multiply-add a neighbour
}

Status infer_non_max_suppression(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 3));
  HONE_CHECK(infer::expect_rank(context, 1, 3));
  context.set_output(0, tensor_type(DType::kI64, Dims{Dim(), Dim(3)}));
  return {};
}

// As many rows as there can be. Only where it is known how many boxes of a class are wanted.
Status infer_bounded_suppression(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 3));
  HONE_CHECK(infer::expect_rank(context, 1, 3));
  const TensorType& scores = context.input(1);
  Dim rows;
  const Tensor* const most = context.constant(2);
  if (scores.is_static() && most != nullptr && most->size() == 1) {
    const Shape shape = scores.shape();
    const int64_t kept = std::clamp<int64_t>(most->int_at(0), 0, shape[2]);
    HONE_ASSIGN(const int64_t all, checked_element_count(Shape{shape[0], shape[1], kept}));
    rows = all;
  }
  context.set_output(0, tensor_type(DType::kI64, Dims{rows, Dim(3)}));
  context.set_output(1, tensor_type(DType::kI64, Dims{}));
  return {};
}

Status infer_first_rows(InferContext& context) {
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 1));
  TensorType type = context.input(0);
  (*type.dims)[0] = Dim();
  context.set_output(0, std::move(type));
  return {};
}

}  // namespace

void add_vision_ops(OpTable& table) {
  using enum AttributeKind;
  const std::vector<AttributeSpec> roi_align = {{"coordinate_transformation_mode", kString},
                                                {"mode", kString},
                                                {"output_height", kInt},
                                                {"output_width", kInt},
                                                {"sampling_ratio", kInt},
                                                {"spatial_scale", kFloat}};
  table.add({.name = "Resize",
             .op_class = OpClass::kOther,
             .min_inputs = 1,
             .max_inputs = 4,
             .attributes = {{"antialias", kInt},
                            {"axes", kInts},
                            {"coordinate_transformation_mode", kString},
                            {"cubic_coeff_a", kFloat},
                            {"exclude_outside", kInt},
                            {"extrapolation_value", kFloat},
                            {"keep_aspect_ratio_policy", kString},
                            {"mode", kString},
                            {"nearest_mode", kString}},
             .infer = infer_resize,
             .flops = resize_flops,
             .layouts = LayoutRule::kKept,
             .summary = "images at another size: nearest, linear or cubic"});
  table.add({.name = "GridSample",
             .op_class = OpClass::kOther,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"align_corners", kInt}, {"mode", kString}, {"padding_mode", kString}},
             .infer = infer_grid_sample,
             .flops = grid_sample_flops,
             .summary = "images read at the points of a grid"});
  table.add(
      {.name = "hone.GridSampleGradient",
       .op_class = OpClass::kOther,
       .min_inputs = 3,
       .max_inputs = 3,
       .attributes = {{"align_corners", kInt}, {"mode", kString}, {"padding_mode", kString}},
       .infer = infer_grid_sample_gradient,
       .flops = grid_sample_gradient_flops,
       .summary = "the gradient of GridSample's images, of its output's, those images' shape and the grid"});
  table.add({.name = "hone.GridSampleGridGradient",
             .op_class = OpClass::kOther,
             .min_inputs = 3,
             .max_inputs = 3,
             .attributes = {{"align_corners", kInt}, {"mode", kString}, {"padding_mode", kString}},
             .infer = infer_grid_sample_grid_gradient,
             .flops = grid_sample_grid_gradient_flops,
             .summary = "the gradient of GridSample's grid, of its output's, the images and the grid"});
  table.add({.name = "AffineGrid",
             .op_class = OpClass::kOther,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"align_corners", kInt}},
             .infer = infer_affine_grid,
             .flops = affine_grid_flops,
             .summary = "the sampling grid of an affine map"});
  table.add({.name = "RoiAlign",
             .op_class = OpClass::kPooling,
             .min_inputs = 3,
             .max_inputs = 3,
             .attributes = roi_align,
             .infer = infer_roi_align,
             .flops = roi_align_flops,
             .summary = "bins of regions of interest, sampled between pixels"});
  table.add({.name = "hone.RoiAlignGradient",
             .op_class = OpClass::kPooling,
             .min_inputs = 4,
             .max_inputs = 5,
             .attributes = roi_align,
             .infer = infer_roi_align_gradient,
             .flops = roi_align_gradient_flops,
             .summary =
                 "the gradient of RoiAlign's images, of its output's, those images' shape, the regions and "
                 "their images' numbers; and of those images for the largest"});
  table.add({.name = "NonMaxSuppression",
             .op_class = OpClass::kOther,
             .min_inputs = 2,
             .max_inputs = 5,
             .attributes = {{"center_point_box", kInt}},
             .infer = infer_non_max_suppression,
             .summary = "the best boxes of each class that overlap little"});
  // What a plan makes of it where the device has a kernel (runtime/bounded_results.h): all shapes are known.
  table.add({.name = "hone.NonMaxSuppression",
             .op_class = OpClass::kOther,
             .min_inputs = 3,
             .max_inputs = 5,
             .min_outputs = 2,
             .max_outputs = 2,
             .attributes = {{"center_point_box", kInt}},
             .infer = infer_bounded_suppression,
             .summary = "NonMaxSuppression with zeros behind the boxes, and how many boxes there are"});
  table.add({.name = "hone.FirstRows",
             .op_class = OpClass::kMovement,
             .min_inputs = 2,
             .max_inputs = 2,
             .infer = infer_first_rows,
             .summary = "as many slices of the first axis as the second input says"});
}

}  // namespace hone::graph
