// Gradients of convolutions: the input's is the transposed convolution of the output's, and the other way round;
// the weight's has an operator of its own, because no forward convolution is fast at it.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "core/window.h"
#include "graph/gradients/context.h"
#include "graph/spelled_out/spelled_out.h"

namespace hone::graph {
namespace {

std::optional<Shape> spatial_extents(const TensorType& type) {
  Shape extents;
  if (!type.has_rank() || type.rank() < 3) return std::nullopt;
  for (std::size_t i = 2; i < type.dims->size(); ++i) {
    if (!(*type.dims)[i].known()) return std::nullopt;
    extents.push_back((*type.dims)[i].extent());
  }
  return extents;
}

// The windows of a Conv with such a weight, extents known, automatic padding resolved. Of a ConvTranspose, the Conv that
// it is the transpose of: `input` are the extents of its output.
struct Placed {
  std::vector<Window> axes;
  Shape input;  // spatial extents
  Shape output;
  int64_t group = 1;
};

Result<Placed> placed_windows(const GradientContext& c, ValueId weight) {
  const auto input = spatial_extents(c.type(c.input(0)));
  if (!input || !c.type(weight).is_static())
    return unsupported(
        fmt::format("unsupported: the gradient of {} of {} by {}; read the model with numbers for its "
                    "symbols",
                    c.node().op, c.type(c.input(0)).text(), c.type(weight).text()));
  const Shape extents = c.type(weight).shape();
  HONE_ASSIGN(WindowSpec spec, read_windows(c.attributes(), std::span(extents).subspan(2)));
  const int64_t group = c.attributes().integer("group", 1);
  if (c.node().op == "ConvTranspose") {
    HONE_ASSIGN(Shape output, place_transposed_windows(spec, c.attributes(), *input));
    return Placed{std::move(spec.axes), std::move(output), *input, group};
  }
  HONE_ASSIGN(Shape output, place_windows(spec, *input));
  return Placed{std::move(spec.axes), *input, std::move(output), group};
}

// One number of each window, as an attribute lists them.
template <typename F>
Ints each(const std::vector<Window>& axes, F&& f) {
  Ints values;
  for (const Window& window : axes) values.push_back(f(window));
  return values;
}

Ints pads_of(const std::vector<Window>& axes) {
  Ints pads = each(axes, [](const Window& w) { return w.pad_begin; });
  const Ints ends = each(axes, [](const Window& w) { return w.pad_end; });
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

Attributes attributes_of(const std::vector<Window>& axes, int64_t group) {
  return {{"strides", each(axes, [](const Window& w) { return w.stride; })},
          {"dilations", each(axes, [](const Window& w) { return w.dilation; })},
          {"pads", pads_of(axes)},
          {"group", group}};
}

// How many rows at the end of each axis no window reaches.
Ints unreached(const Placed& placed) {
  Ints missing;
  for (std::size_t i = 0; i < placed.axes.size(); ++i) {
    const Window& w = placed.axes[i];
    const int64_t reached = (placed.output[i] - 1) * w.stride + w.reach() - w.pad_begin - w.pad_end;
    missing.push_back(placed.input[i] - reached);
  }
  return missing;
}

// Whether every output reads one place of the input, its own.
bool is_pointwise(const Placed& placed) {
  return placed.group == 1 && placed.input == placed.output &&
         std::all_of(placed.axes.begin(), placed.axes.end(), [](const Window& w) {
           return w.kernel == 1 && w.stride == 1 && w.pad_begin == 0 && w.pad_end == 0;
         });
}

// Of the convolution with `weight`, where `g` flows into its result.
ValueId input_gradient(GradientContext& c, const Placed& placed, ValueId g, ValueId weight) {
  if (is_pointwise(placed)) {  // a convolution again, by the transposed matrix
    Ints perm(placed.axes.size() + 2);
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[0], perm[1]);
    return c.add("Conv", {g, c.add("Transpose", {weight}, {{"perm", perm}})});
  }
  Attributes attributes = attributes_of(placed.axes, placed.group);
  attributes.set("output_padding", unreached(placed));
  return c.add("ConvTranspose", {g, weight}, std::move(attributes));
}

// Pads of a value along its spatial axes: as many at the end of each as `ends` says, negative ones cut.
ValueId padded_at_end(GradientContext& c, ValueId x, const Ints& ends) {
  if (std::all_of(ends.begin(), ends.end(), [](int64_t pad) { return pad == 0; })) return x;
  Ints pads(ends.size(), 0);
  pads.insert(pads.end(), ends.begin(), ends.end());
  Ints spatial(ends.size());
  std::iota(spatial.begin(), spatial.end(), 2);
  return c.add("Pad", {x, c.ints(pads), kNoValue, c.ints(spatial)});
}

ValueId weight_gradient(GradientContext& c, const Placed& placed, ValueId x, ValueId g) {
  Attributes attributes = attributes_of(placed.axes, placed.group);
  attributes.set("kernel_shape", each(placed.axes, [](const Window& w) { return w.kernel; }));
  return c.add("hone.ConvWeightGradient", {x, g}, std::move(attributes));
}

void set_bias(GradientContext& c) {
  if (!c.has_input(2) || !c.wants(2)) return;
  const int64_t rank = c.rank_of(c.gradient());
  if (rank == 0)
    return c.fail(unsupported(
        fmt::format("unsupported: the gradient of {} of tensors whose rank is not known", c.node().op)));
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  c.set(2, c.add("ReduceSum", {c.gradient(), c.ints(axes)}, {{"keepdims", int64_t{0}}}));
}

Status conv_rule(GradientContext& c) {
  if (c.wants(0) || c.wants(1)) {
    HONE_ASSIGN(const Placed placed, placed_windows(c, c.input(1)));
    if (c.wants(0)) c.set(0, input_gradient(c, placed, c.gradient(), c.input(1)));
    if (c.wants(1)) c.set(1, weight_gradient(c, placed, c.input(0), c.gradient()));
  }
  set_bias(c);
  return {};
}

// The Conv that this is the transpose of takes the output's gradient to the input's; its weight is the same one.
Status conv_transpose_rule(GradientContext& c) {
  if (c.wants(0) || c.wants(1)) {
    HONE_ASSIGN(const Placed placed, placed_windows(c, c.input(1)));
    // Rows that output_padding or output_shape put behind the last window are not read; as many as a stride
    // would make room for one more window.
    Ints cut = unreached(placed);
    for (std::size_t i = 0; i < cut.size(); ++i) cut[i] = cut[i] < placed.axes[i].stride ? 0 : -cut[i];
    const ValueId g = padded_at_end(c, c.gradient(), cut);
    if (c.wants(0)) c.set(0, c.add("Conv", {g, c.input(1)}, attributes_of(placed.axes, placed.group)));
    if (c.wants(1)) c.set(1, weight_gradient(c, placed, g, c.input(0)));
  }
  set_bias(c);
  return {};
}

// Σ g · Conv(x, v) is what v takes of the weight's gradient: linear in x and in g, as the convolution itself is.
Status conv_weight_gradient_rule(GradientContext& c) {
  HONE_ASSIGN(const Placed placed, placed_windows(c, c.gradient()));
  if (c.wants(0)) c.set(0, input_gradient(c, placed, c.input(1), c.gradient()));
  if (c.wants(1))
    c.set(1, c.add("Conv", {c.input(0), c.gradient()}, attributes_of(placed.axes, placed.group)));
  return {};
}

// Windows are taken apart again: by a convolution of each plane with a unit matrix, a tap a channel.
Status col2im_rule(GradientContext& c) {
  const auto block = c.constant_ints(2);
  if (!block || block->empty())
    return unsupported("unsupported: the gradient of Col2Im with a block_shape that is computed");
  const int64_t taps = std::accumulate(block->begin(), block->end(), int64_t{1}, std::multiplies<>());
  ValueId planes = kNoValue;  // [batch · channels, 1, image…]
  if (const auto image = c.constant_ints(1)) {
    Ints shape{-1, 1};
    shape.insert(shape.end(), image->begin(), image->end());
    planes = c.ints(shape);
  } else {
    planes = c.add("Concat", {c.ints({-1, 1}), c.cast(c.input(1), DType::kI64)}, {{"axis", int64_t{0}}});
  }
  std::vector<double> unit(static_cast<std::size_t>(taps * taps), 0);
  for (int64_t i = 0; i < taps; ++i) unit[static_cast<std::size_t>(i * (taps + 1))] = 1;
  Shape shape{taps, 1};
  shape.insert(shape.end(), block->begin(), block->end());
  const ValueId weight =
      c.cast(c.tensor(Tensor::of<double>(DType::kF64, shape, unit)), c.type(c.gradient()).dtype);
  const ValueId columns = c.add("Conv", {c.add("Reshape", {c.gradient(), planes}), weight}, c.attributes());
  c.set(0, c.reshaped_to(columns, c.input(0)));
  return {};
}

}  // namespace

void add_convolution_gradients(OpTable& table) {
  table.set_gradient("Conv", conv_rule);
  table.set_gradient("ConvTranspose", conv_transpose_rule);
  table.set_gradient("hone.ConvWeightGradient", conv_weight_gradient_rule);
  table.set_gradient("Col2Im", col2im_rule);
  table.set_gradient("CausalConvWithState", through_spelled_out);
}

}  // namespace hone::graph
