// Gradients of pooling over windows, whole planes and neighbouring channels.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "core/window.h"
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

Status max_pool_rule(GradientContext& c) {
  if (!c.gradient(0).valid()) return {};  // indices have none
  c.set(0, c.add("hone.MaxPoolGradient", {c.gradient(0), c.input(0)}, c.attributes()));
  return {};
}

Status average_pool_rule(GradientContext& c) {
  c.set(0, c.add("hone.AveragePoolGradient", {c.gradient(), c.shape_of(c.input(0))}, c.attributes()));
  return {};
}

Status average_pool_gradient_rule(GradientContext& c) {
  c.set(0, c.add("AveragePool", {c.gradient()}, c.attributes()));
  return {};
}

Result<Ints> spatial_axes(const GradientContext& c) {
  const int64_t rank = c.rank_of(c.input(0));
  if (rank < 2)
    return unsupported(
        fmt::format("unsupported: the gradient of {} of a tensor whose rank is not known", c.node().op));
  Ints axes(static_cast<std::size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

// A mean over axes, in the terms of which ReduceMean is differentiated.
Result<std::vector<ValueId>> mean_of_planes(GradientContext& c, const std::vector<ValueId>& in) {
  HONE_ASSIGN(const Ints axes, spatial_axes(c));
  return std::vector<ValueId>{axes.empty() ? c.add("Identity", {in[0]}) : c.averaged(in[0], axes)};
}

Result<std::vector<ValueId>> largest_of_planes(GradientContext& c, const std::vector<ValueId>& in) {
  HONE_ASSIGN(const Ints axes, spatial_axes(c));
  if (axes.empty()) return std::vector<ValueId>{c.add("Identity", {in[0]})};
  return std::vector<ValueId>{c.add("ReduceMax", {in[0], c.ints(axes)}, {{"keepdims", int64_t{1}}})};
}

// |x|^p, whose slope at 0 is 0 from p = 2 on.
ValueId power(GradientContext& c, ValueId x, int64_t p) {
  if (p == 1) return c.add("Abs", {x});
  if (p == 2) return c.times(x, x);
  return c.add("Pow", {c.add("Abs", {x}), c.scalar(static_cast<double>(p), x)});
}

// The p-th root; a sum of nothing but zeros passes nothing back.
ValueId root(GradientContext& c, ValueId sum, int64_t p) {
  if (p == 1) return sum;
  const ValueId none = c.add("Equal", {sum, c.scalar(0, sum)});
  const ValueId some = c.choose(none, c.scalar(1, sum), sum);
  const ValueId root =
      p == 2 ? c.add("Sqrt", {some}) : c.add("Pow", {some, c.scalar(1 / static_cast<double>(p), some)});
  return c.choose(none, c.scalar(0, root), root);
}

Result<std::vector<ValueId>> norm_of_planes(GradientContext& c, const std::vector<ValueId>& in) {
  HONE_ASSIGN(const Ints axes, spatial_axes(c));
  const int64_t p = c.attributes().integer("p", 2);
  const ValueId powers = power(c, in[0], p);
  return std::vector<ValueId>{root(c, axes.empty() ? powers : c.summed(powers, axes), p)};
}

// Pads for windows that reach beyond the end (ceil_mode), so that all of them lie within the padding.
Status reach_within_pads(const TensorType& x, Attributes& attributes) {
  Shape extents;
  for (std::size_t i = 2; x.has_rank() && i < x.dims->size(); ++i)
    if ((*x.dims)[i].known()) extents.push_back((*x.dims)[i].extent());
  HONE_ASSIGN(WindowSpec windows, read_windows(attributes, {}));
  if (extents.size() != windows.axes.size())
    return unsupported(
        fmt::format("unsupported: the gradient of LpPool with ceil_mode of {}; read the model with "
                    "numbers for its symbols",
                    x.text()));
  HONE_ASSIGN(const Shape places, place_windows(windows, extents));
  Ints pads, ends;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Window& window = windows.axes[i];
    const int64_t end = (places[i] - 1) * window.stride + window.reach() - window.pad_begin;
    pads.push_back(window.pad_begin);
    ends.push_back(std::max<int64_t>(end - extents[i], 0));
  }
  pads.insert(pads.end(), ends.begin(), ends.end());
  attributes.erase("auto_pad");
  attributes.erase("ceil_mode");
  attributes.set("pads", pads);
  return {};
}

// By the mean under each window, padding included, times how many elements a window has.
Result<std::vector<ValueId>> norm_of_windows(GradientContext& c, const std::vector<ValueId>& in) {
  const int64_t p = c.attributes().integer("p", 2);
  Attributes attributes = c.attributes();
  attributes.erase("p");
  attributes.set("count_include_pad", int64_t{1});
  if (attributes.integer("ceil_mode", 0) != 0) HONE_CHECK(reach_within_pads(c.type(in[0]), attributes));
  double count = 1;
  for (const int64_t extent : attributes.ints("kernel_shape")) count *= static_cast<double>(extent);
  const ValueId mean = c.add("AveragePool", {power(c, in[0], p)}, std::move(attributes));
  return std::vector<ValueId>{root(c, c.times(mean, count), p)};
}

// Indices count through the shape that the windows give; a larger output_shape has zeros behind that, a smaller one lacks
// its end.
Status max_unpool_rule(GradientContext& c) {
  const TensorType& x = c.type(c.input(0));
  ValueId g = c.gradient();
  if (c.has_input(2)) {
    const auto output = c.constant_ints(2);
    if (!output || !x.is_static() || static_cast<int64_t>(output->size()) != x.rank())
      return unsupported(
          "unsupported: the gradient of MaxUnpool to a shape that is computed; read the model with numbers "
          "for its "
          "symbols");
    const Shape in = x.shape();
    HONE_ASSIGN(WindowSpec windows, read_windows(c.attributes(), {}));
    HONE_ASSIGN(const Shape spatial, place_transposed_windows(windows, {}, std::span(in).subspan(2)));
    Ints pads(2 * output->size(), 0);
    for (std::size_t i = 0; i < spatial.size(); ++i)
      pads[output->size() + 2 + i] = spatial[i] - (*output)[i + 2];
    g = c.add("Pad", {g, c.ints(pads)});
  }
  c.set(0, c.add("Gather", {c.add("Reshape", {g, c.ints({-1})}), c.input(1)}));
  return {};
}

template <Result<std::vector<ValueId>> (*expand)(GradientContext&, const std::vector<ValueId>&)>
Status through_rule(GradientContext& c) {
  return c.set_through(expand);
}

// x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels: an average pool along them, padded by
// zeros that count.
Result<std::vector<ValueId>> by_neighbours(GradientContext& c, const std::vector<ValueId>& in) {
  const int64_t rank = c.rank_of(in[0]);
  const TensorType& type = c.type(in[0]);
  if (rank < 2 || !(*type.dims)[1].known())
    return unsupported(
        fmt::format("unsupported: the gradient of LRN of {}, whose channels are not known", type.text()));
  const int64_t size = c.attributes().integer("size", 1);
  const double alpha = c.attributes().real("alpha", 1e-4F);
  const double beta = c.attributes().real("beta", 0.75F);
  const double bias = c.attributes().real("bias", 1.0F);
  const ValueId x = in[0];
  // [N, C, …] as [N, 1, C, all else]
  const ValueId squares = c.add("Reshape", {c.times(x, x), c.ints({0, 1, (*type.dims)[1].extent(), -1})});
  const ValueId mean = c.add("AveragePool", {squares},
                             {{"kernel_shape", Ints{size, 1}},
                              {"pads", Ints{(size - 1) / 2, 0, size / 2, 0}},
                              {"count_include_pad", int64_t{1}}});
  const ValueId scale = c.plus(c.times(c.reshaped_to(mean, x), alpha), c.scalar(bias, x));
  return std::vector<ValueId>{c.times(x, c.add("Pow", {scale, c.scalar(-beta, scale)}))};
}

}  // namespace

void add_pooling_gradients(OpTable& table) {
  table.set_gradient("MaxPool", max_pool_rule);
  table.set_gradient("AveragePool", average_pool_rule);
  table.set_gradient("hone.AveragePoolGradient", average_pool_gradient_rule);
  table.set_gradient("LpPool", through_rule<norm_of_windows>);
  table.set_gradient("MaxUnpool", max_unpool_rule);
  table.set_gradient("GlobalAveragePool", through_rule<mean_of_planes>);
  table.set_gradient("GlobalMaxPool", through_rule<largest_of_planes>);
  table.set_gradient("GlobalLpPool", through_rule<norm_of_planes>);
  table.set_gradient("LRN", through_rule<by_neighbours>);
}

}  // namespace hone::graph
