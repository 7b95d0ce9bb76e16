// Gradients of what reads images between their pixels: GridSample, AffineGrid, RoiAlign, deformable convolution.
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

bool reads_nearest(const GradientContext& c) {
  return c.attributes().text("mode", "linear") == "nearest";  // moving a point then changes nothing
}

Status grid_sample_rule(GradientContext& c) {
  if (c.wants(0))
    c.set(0, c.add("hone.GridSampleGradient", {c.gradient(), c.shape_of(c.input(0)), c.input(1)},
                   c.attributes()));
  if (c.wants(1) && !reads_nearest(c))
    c.set(1, c.add("hone.GridSampleGridGradient", {c.gradient(), c.input(0), c.input(1)}, c.attributes()));
  return {};
}

// Linear in what flows, and its adjoint is GridSample: Σ v · GridSampleGradient(g) = Σ g · GridSample(v).
Status grid_sample_gradient_rule(GradientContext& c) {
  const ValueId v = c.gradient(), grid = c.input(2);
  if (c.wants(0)) c.set(0, c.add("GridSample", {v, grid}, c.attributes()));
  if (c.wants(2) && !reads_nearest(c))
    c.set(2, c.add("hone.GridSampleGridGradient", {c.input(0), v, grid}, c.attributes()));
  return {};
}

// A point of the grid is theta · (place, 1): the places are the grid of the map that changes nothing.
Status affine_grid_rule(GradientContext& c) {
  const DType dtype = c.type(c.input(0)).dtype;
  const int64_t axes = c.type(c.gradient()).has_rank() ? c.rank_of(c.gradient()) - 2 : 0;
  if (axes < 1)
    return unsupported(
        "unsupported: the gradient of AffineGrid whose size has an unknown number of extents; read the model "
        "with numbers for its symbols");
  std::vector<double> unit(static_cast<std::size_t>(axes * (axes + 1)), 0);
  for (int64_t i = 0; i < axes; ++i) unit[static_cast<std::size_t>(i * (axes + 2))] = 1;
  const ValueId unchanged =
      c.cast(c.tensor(Tensor::of<double>(DType::kF64, {1, axes, axes + 1}, unit)), dtype);
  ValueId size = kNoValue;  // of one image
  if (auto known = c.constant_ints(1)) {
    (*known)[0] = 1;
    size = c.ints(*known);
  } else {
    const ValueId rest = c.add("Slice", {c.cast(c.input(1), DType::kI64), c.ints({1}),
                                         c.ints({std::numeric_limits<int64_t>::max()})});
    size = c.add("Concat", {c.ints({1}), rest}, {{"axis", int64_t{0}}});
  }
  const ValueId places =
      c.add("Reshape", {c.add("AffineGrid", {unchanged, size}, c.attributes()), c.ints({-1, axes})});
  const ValueId rows = c.add("Reshape", {c.gradient(), c.ints({0, -1, axes})});
  const ValueId linear = c.add("MatMul", {c.add("Transpose", {rows}, {{"perm", Ints{0, 2, 1}}}), places});
  const ValueId moved =
      c.add("Unsqueeze", {c.add("ReduceSum", {rows, c.ints({1})}, {{"keepdims", int64_t{0}}}), c.ints({2})});
  c.set(0, c.add("Concat", {linear, moved}, {{"axis", int64_t{2}}}));
  return {};
}

// Regions are taken as given, as torchvision takes them: detectors learn boxes by losses of their own.
Status roi_align_rule(GradientContext& c) {
  if (!c.wants(0)) return {};
  std::vector<ValueId> inputs{c.gradient(), c.shape_of(c.input(0)), c.input(1), c.input(2)};
  if (c.attributes().text("mode", "avg") == "max") inputs.push_back(c.input(0));
  c.set(0, c.add("hone.RoiAlignGradient", std::move(inputs), c.attributes()));
  return {};
}

Status roi_align_gradient_rule(GradientContext& c) {
  if (c.attributes().text("mode", "avg") == "max")
    return unsupported("unsupported: the gradient of hone.RoiAlignGradient with mode max");
  if (c.wants(0)) c.set(0, c.add("RoiAlign", {c.gradient(), c.input(2), c.input(3)}, c.attributes()));
  return {};
}

Status deform_columns_rule(GradientContext& c) {
  std::vector<ValueId> inputs{c.gradient()};
  for (std::size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.input(i));
  const std::vector<ValueId> gradients =
      c.add_many("hone.DeformColumnsGradient", std::move(inputs), c.has_input(2) ? 3 : 2, c.attributes());
  for (std::size_t i = 0; i < gradients.size(); ++i) c.set(i, gradients[i]);
  return {};
}

// The product of the weight's rows and the columns of samples.
Result<std::vector<ValueId>> by_columns(GradientContext& c, const std::vector<ValueId>& in) {
  const TensorType& w = c.type(in[1]);
  if (!w.is_static())
    return unsupported(
        fmt::format("unsupported: the gradient of DeformConv with a weight {}, whose extents are "
                    "not known; read the model with numbers for its symbols",
                    w.text()));
  const Shape shape = w.shape();
  const int64_t group = c.attributes().integer("group", 1);
  const Ints kernel(shape.begin() + 2, shape.end());
  const int64_t taps = std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
  Attributes attributes = c.attributes();
  attributes.erase("group");
  attributes.set("kernel_shape", kernel);
  std::vector<ValueId> sampled{in[0], in[2]};
  if (c.has_input(4)) sampled.push_back(in[4]);
  ValueId columns = c.add("hone.DeformColumns", std::move(sampled), std::move(attributes));
  ValueId rows = kNoValue;
  if (group == 1) {
    rows = c.add("Reshape", {in[1], c.ints({shape[0], taps})});
  } else {
    rows = c.add("Reshape", {in[1], c.ints({group, shape[0] / group, taps})});
    columns = c.add("Reshape", {columns, c.ints({0, group, taps, -1})});
  }
  ValueId y = c.reshaped_to(c.add("MatMul", {rows, columns}), c.output(0));
  if (c.has_input(3)) {
    Ints behind(kernel.size());  // the channels
    std::iota(behind.begin(), behind.end(), 1);
    y = c.plus(y, c.add("Unsqueeze", {in[3], c.ints(behind)}));
  }
  return std::vector<ValueId>{y};
}

Status deform_conv_rule(GradientContext& c) { return c.set_through(by_columns); }

}  // namespace

void add_vision_gradients(OpTable& table) {
  table.set_gradient("GridSample", grid_sample_rule);
  table.set_gradient("hone.GridSampleGradient", grid_sample_gradient_rule);
  table.set_gradient("AffineGrid", affine_grid_rule);
  table.set_gradient("RoiAlign", roi_align_rule);
  table.set_gradient("hone.RoiAlignGradient", roi_align_gradient_rule);
  table.set_gradient("hone.DeformColumns", deform_columns_rule);
  table.set_gradient("DeformConv", deform_conv_rule);
}

}  // namespace hone::graph
