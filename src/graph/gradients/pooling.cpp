// Gradients of pooling over windows, whole planes and neighbouring channels.
#include <numeric>

#include <fmt/core.h>

#include "core/window.h"
#include "graph/gradients/context.h"
#include "graph/spelled_out/spelled_out.h"

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

}  // namespace

void add_pooling_gradients(OpTable& table) {
  table.set_gradient("MaxPool", max_pool_rule);
  table.set_gradient("AveragePool", average_pool_rule);
  table.set_gradient("hone.AveragePoolGradient", average_pool_gradient_rule);
  table.set_gradient("LpPool", through_spelled_out);
  table.set_gradient("MaxUnpool", max_unpool_rule);
  table.set_gradient("GlobalAveragePool", through_rule<mean_of_planes>);
  table.set_gradient("GlobalMaxPool", through_rule<largest_of_planes>);
  table.set_gradient("GlobalLpPool", through_spelled_out);
  table.set_gradient("LRN", through_spelled_out);
}

}  // namespace hone::graph
