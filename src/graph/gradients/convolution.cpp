// Gradients of convolutions: the input's is the transposed convolution of the output's; the weight's is a
// convolution of the input by the output's gradient, with batch and channels exchanged.
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "core/window.h"
#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// The windows of a Conv whose extents are known, automatic padding resolved.
struct Placed {
  std::vector<Window> axes;
  Shape input;  // spatial extents
  Shape output;
  int64_t group = 1;
};

std::optional<Shape> spatial_extents(const TensorType& type) {
  Shape extents;
  if (!type.has_rank() || type.rank() < 3) return std::nullopt;
  for (std::size_t i = 2; i < type.dims->size(); ++i) {
    if (!(*type.dims)[i].known()) return std::nullopt;
    extents.push_back((*type.dims)[i].extent());
  }
  return extents;
}

Result<Placed> placed_windows(const GradientContext& c) {
  const auto input = spatial_extents(c.type(c.input(0)));
  if (!input || !c.type(c.input(1)).is_static())
    return unsupported(
        fmt::format("unsupported: the gradient of Conv of {} by {}; read the model with numbers for its "
                    "symbols",
                    c.type(c.input(0)).text(), c.type(c.input(1)).text()));
  const Shape weight = c.type(c.input(1)).shape();
  HONE_ASSIGN(WindowSpec spec, read_windows(c.attributes(), std::span(weight).subspan(2)));
  HONE_ASSIGN(Shape output, place_windows(spec, *input));
  return Placed{std::move(spec.axes), *input, std::move(output), c.attributes().integer("group", 1)};
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

ValueId input_gradient(GradientContext& c, const Placed& placed) {
  Ints missing;  // rows at the end that no window reaches
  for (std::size_t i = 0; i < placed.axes.size(); ++i) {
    const Window& w = placed.axes[i];
    const int64_t reached = (placed.output[i] - 1) * w.stride + w.reach() - w.pad_begin - w.pad_end;
    missing.push_back(placed.input[i] - reached);
  }
  return c.add("ConvTranspose", {c.gradient(), c.input(1)},
               {{"strides", each(placed.axes, [](const Window& w) { return w.stride; })},
                {"dilations", each(placed.axes, [](const Window& w) { return w.dilation; })},
                {"pads", pads_of(placed.axes)},
                {"output_padding", missing},
                {"group", placed.group}});
}

ValueId exchanged(GradientContext& c, ValueId value) {
  Ints perm(c.type(value).has_rank() ? c.type(value).dims->size() : 2);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[1]);
  return c.add("Transpose", {value}, {{"perm", perm}});
}

// [batch, group · channels, …] as [channels, group · batch, …].
ValueId channels_as_batch(GradientContext& c, ValueId x, int64_t group, int64_t channels) {
  if (group == 1) return exchanged(c, x);
  const Shape spatial = *spatial_extents(c.type(x));
  Ints apart{0, group, channels};  // 0: the batch, whatever it is
  Ints together{channels, -1};
  apart.insert(apart.end(), spatial.begin(), spatial.end());
  together.insert(together.end(), spatial.begin(), spatial.end());
  Ints perm(apart.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[2]);
  const ValueId groups = c.add("Reshape", {x, c.ints(apart)});
  return c.add("Reshape", {c.add("Transpose", {groups}, {{"perm", perm}}), c.ints(together)});
}

// Tap t of the weight sums g[o] · x[o · stride + t · dilation - pad]: a window of g's extents, whose own
// dilation is the stride and whose stride is the dilation.
ValueId weight_gradient(GradientContext& c, const Placed& placed) {
  const Shape weight = c.type(c.input(1)).shape();
  std::vector<Window> axes;
  Ints cut(2 * placed.axes.size(), 0);  // pads of the input, negative where the last rows are never read
  for (std::size_t i = 0; i < placed.axes.size(); ++i) {
    const Window& w = placed.axes[i];
    Window swapped{placed.output[i], w.dilation, w.stride, w.pad_begin, 0};
    const int64_t end = (w.kernel - 1) * w.dilation + swapped.reach() - placed.input[i] - w.pad_begin;
    swapped.pad_end = std::max<int64_t>(end, 0);
    cut[placed.axes.size() + i] = std::min<int64_t>(end, 0);
    axes.push_back(swapped);
  }
  ValueId x = channels_as_batch(c, c.input(0), placed.group, weight[1]);
  if (std::any_of(cut.begin(), cut.end(), [](int64_t pad) { return pad != 0; })) {
    Ints spatial(placed.axes.size());
    std::iota(spatial.begin(), spatial.end(), 2);
    x = c.add("Pad", {x, c.ints(cut), kNoValue, c.ints(spatial)});
  }
  return exchanged(c, c.add("Conv", {x, exchanged(c, c.gradient())},
                            {{"strides", each(axes, [](const Window& w) { return w.stride; })},
                             {"dilations", each(axes, [](const Window& w) { return w.dilation; })},
                             {"pads", pads_of(axes)},
                             {"group", placed.group}}));
}

Status conv_rule(GradientContext& c) {
  if (c.wants(0) || c.wants(1)) {
    HONE_ASSIGN(const Placed placed, placed_windows(c));
    if (c.wants(0)) c.set(0, input_gradient(c, placed));
    if (c.wants(1)) c.set(1, weight_gradient(c, placed));
  }
  if (c.has_input(2) && c.wants(2)) {
    if (!c.type(c.gradient()).has_rank())
      return unsupported("unsupported: the gradient of Conv of tensors whose rank is not known");
    Ints axes(c.type(c.gradient()).dims->size());
    std::iota(axes.begin(), axes.end(), 0);
    axes.erase(axes.begin() + 1);
    c.set(2, c.add("ReduceSum", {c.gradient(), c.ints(axes)}, {{"keepdims", int64_t{0}}}));
  }
  return {};
}

}  // namespace

void add_convolution_gradients(OpTable& table) { table.set_gradient("Conv", conv_rule); }

}  // namespace hone::graph
