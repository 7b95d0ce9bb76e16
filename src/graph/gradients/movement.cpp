// Gradients of operators that move elements: the same movement backwards. What is read twice adds up. Gathers
// and scatters are in indexing.cpp.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/context.h"
#include "graph/gradients/scattered.h"

namespace hone::graph {
namespace {

Status same_rule(GradientContext& c) {
  c.set(0, c.gradient());
  return {};
}

Status copy_to_rule(GradientContext& c) {
  const std::string back = c.type(c.input(0)).device.text();
  c.set(0, c.add("hone.CopyTo", {c.gradient()}, {{"device", back}}));
  return {};
}

Status reshape_rule(GradientContext& c) {
  c.set(0, c.reshaped_to(c.gradient(), c.input(0)));
  return {};
}

Status expand_rule(GradientContext& c) {
  c.set(0, c.summed_to(c.gradient(), c.input(0)));
  return {};
}

Status transpose_rule(GradientContext& c) {
  Attributes attributes;
  if (c.attributes().has("perm")) {
    const Ints perm = c.attributes().ints("perm");
    Ints inverse(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) {
      HONE_ASSIGN(const int64_t from, normalize_axis(perm[i], static_cast<int64_t>(perm.size())));
      inverse[static_cast<std::size_t>(from)] = static_cast<int64_t>(i);
    }
    attributes.set("perm", inverse);
  }
  c.set(0, c.add("Transpose", {c.gradient()}, std::move(attributes)));
  return {};
}

// How long each input is along the axis that they are joined at. Their ranks are known.
ValueId joined_extents(GradientContext& c, int64_t axis) {
  Ints known;
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const TensorType& type = c.type(c.input(i));
    const Dim& dim = (*type.dims)[static_cast<std::size_t>(axis < 0 ? axis + type.rank() : axis)];
    if (dim.known()) known.push_back(dim.extent());
  }
  if (known.size() == c.input_count()) return c.ints(known);
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    Attributes range{{"start", axis}};
    if (axis != -1) range.set("end", axis + 1);
    parts.push_back(c.add("Shape", {c.input(i)}, std::move(range)));
  }
  return c.add("Concat", std::move(parts), {{"axis", int64_t{0}}});
}

Status concat_rule(GradientContext& c) {
  const int64_t axis = c.attributes().integer("axis", 0);
  if (c.input_count() == 1) return same_rule(c);
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (!c.type(c.input(i)).has_rank())
      return unsupported("unsupported: the gradient of Concat of tensors whose rank is not known");
  const std::vector<ValueId> parts =
      c.add_many("Split", {c.gradient(), joined_extents(c, axis)}, c.input_count(), {{"axis", axis}});
  for (std::size_t i = 0; i < parts.size(); ++i) c.set(i, parts[i]);
  return {};
}

Status split_rule(GradientContext& c) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
    if (!c.output(i).valid()) return unsupported("unsupported: the gradient of Split with an absent output");
    parts.push_back(c.gradient(i).valid() ? c.gradient(i) : c.zeros_like(c.output(i)));
  }
  c.set(0, c.add("Concat", std::move(parts), {{"axis", c.attributes().integer("axis", 0)}}));
  return {};
}

// An axis that is sliced with steps takes an index for each of its elements, as a constant of the model.
constexpr int64_t kLongestStrided = int64_t{1} << 22;

// One axis of a slice: `count` elements from `start` on, each `step` after the last.
struct Range {
  int64_t axis = 0;
  int64_t extent = 0;  // of the axis before it was sliced
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

Result<std::vector<Range>> sliced_ranges(const GradientContext& c) {
  const TensorType& x = c.type(c.input(0));
  const TensorType& y = c.type(c.output(0));
  const auto starts = c.constant_ints(1);
  const auto given_axes = c.constant_ints(3);
  const auto given_steps = c.constant_ints(4);
  const bool computed =
      !starts || !c.constant_ints(2) || (c.has_input(3) && !given_axes) || (c.has_input(4) && !given_steps);
  if (computed || !x.has_rank() || !y.has_rank())
    return unsupported("unsupported: the gradient of Slice with ranges that are computed");
  Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (given_axes) axes = *given_axes;
  const Ints steps = given_steps ? *given_steps : Ints(axes.size(), 1);
  if (starts->size() < axes.size() || steps.size() < axes.size())
    return invalid("starts, axes and steps differ in length");
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    const Dim& extent = (*x.dims)[static_cast<std::size_t>(axis)];
    const Dim& count = (*y.dims)[static_cast<std::size_t>(axis)];
    if (extent.same_as(count) && steps[i] == 1) continue;  // the whole axis
    if (!extent.known() || !count.known())
      return unsupported(
          fmt::format("unsupported: the gradient of Slice along axis {} of {}, whose extent is not known; "
                      "read the model with numbers for its symbols",
                      axis, x.text()));
    const int64_t last = steps[i] > 0 ? extent.extent() : extent.extent() - 1;
    const int64_t first = (*starts)[i] < 0 ? (*starts)[i] + extent.extent() : (*starts)[i];
    const int64_t start = std::clamp<int64_t>(first, 0, std::max<int64_t>(last, 0));
    if (steps[i] != 1 && extent.extent() > kLongestStrided)
      return unsupported(
          fmt::format("unsupported: the gradient of Slice with steps along {} elements, more than {}",
                      extent.extent(), kLongestStrided));
    ranges.push_back({axis, extent.extent(), start, steps[i], count.extent()});
  }
  return ranges;
}

// Zeros around `value` along some axes: as many before and after as `pads` says.
ValueId padded(GradientContext& c, ValueId value, const Ints& axes, const Ints& pads) {
  return c.add("Pad", {value, c.ints(pads), kNoValue, c.ints(axes)});
}

// Elements that lie apart: each place of the longer axis takes its element, or the zero put behind the last.
ValueId scattered(GradientContext& c, ValueId value, const Range& range) {
  Ints source(static_cast<std::size_t>(range.extent), range.count);
  for (int64_t i = 0; i < range.count; ++i)
    source[static_cast<std::size_t>(range.start + i * range.step)] = i;
  const ValueId with_zero = padded(c, value, {range.axis}, {0, 1});
  return c.add("Gather", {with_zero, c.ints(source)}, {{"axis", range.axis}});
}

Status slice_rule(GradientContext& c) {
  HONE_ASSIGN(const std::vector<Range> ranges, sliced_ranges(c));
  Ints axes, before, after;
  ValueId g = c.gradient();
  for (const Range& range : ranges) {
    if (range.step != 1) {
      g = scattered(c, g, range);
      continue;
    }
    axes.push_back(range.axis);
    before.push_back(range.start);
    after.push_back(range.extent - range.start - range.count);
  }
  before.insert(before.end(), after.begin(), after.end());
  c.set(0, axes.empty() ? g : padded(c, g, axes, before));
  return {};
}

// What was put around is cut off: pads may be negative.
Status constant_pad_rule(GradientContext& c, const Ints& pads) {
  Ints negative = pads;
  for (int64_t& pad : negative) {
    if (pad == std::numeric_limits<int64_t>::min()) return invalid("a pad is too large");
    pad = -pad;
  }
  std::vector<ValueId> inputs{c.gradient(), c.ints(negative)};
  if (c.has_input(3)) inputs.insert(inputs.end(), {kNoValue, c.input(3)});
  const ValueId inside = c.add("Pad", std::move(inputs));
  c.set(0, inside);
  if (c.has_input(2) && c.wants(2)) {  // the constant gets what is not inside
    const auto total = [&](ValueId value) { return c.add("ReduceSum", {value}, {{"keepdims", int64_t{0}}}); };
    c.set(2, c.reshaped_to(c.minus(total(c.gradient()), total(inside)), c.input(2)));
  }
  return {};
}

// Which element of an axis each place of the padded axis repeats.
Result<Ints> repeated_elements(const std::string& mode, int64_t extent, int64_t before, int64_t after) {
  Ints source;
  for (int64_t i = -before; i < extent + after; ++i) {
    if (mode == "edge") {
      source.push_back(std::clamp<int64_t>(i, 0, extent - 1));
    } else if (mode == "wrap") {
      source.push_back(((i % extent) + extent) % extent);
    } else {
      const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
      const int64_t at = ((i % period) + period) % period;
      source.push_back(at < extent ? at : period - at);
    }
  }
  return source;
}

// Elements that the border repeats get the sum of what flows into their copies, axis by axis.
Status repeating_pad_rule(GradientContext& c, const Ints& pads) {
  const TensorType& x = c.type(c.input(0));
  Ints axes(pads.size() / 2);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has_input(3)) {
    const auto given = c.constant_ints(3);
    if (!given) return unsupported("unsupported: the gradient of Pad of axes that are computed");
    axes = *given;
  }
  ValueId g = c.gradient();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = pads[i], after = pads[i + axes.size()];
    if (before == 0 && after == 0) continue;
    const int64_t axis = axes[i] < 0 ? axes[i] + c.rank_of(c.input(0)) : axes[i];
    if (!x.has_rank() || axis >= x.rank() || !(*x.dims)[static_cast<std::size_t>(axis)].known())
      return unsupported(
          fmt::format("unsupported: the gradient of Pad along axis {} of {}, whose extent is not "
                      "known; read the model with numbers for its symbols",
                      axis, x.text()));
    const int64_t extent = (*x.dims)[static_cast<std::size_t>(axis)].extent();
    HONE_ASSIGN(const Ints source,
                repeated_elements(c.attributes().text("mode", "constant"), extent, before, after));
    g = scattered_along(c, g, axis, c.ints(source), 1, extent);
  }
  c.set(0, g);
  return {};
}

Status pad_rule(GradientContext& c) {
  const auto pads = c.constant_ints(1);
  if (!pads) return unsupported("unsupported: the gradient of Pad with pads that are computed");
  return c.attributes().text("mode", "constant") == "constant" ? constant_pad_rule(c, *pads)
                                                               : repeating_pad_rule(c, *pads);
}

// [r·d, …] as [r, d, …]: the sum over the repetitions.
Status tile_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  if (!c.type(x).has_rank())
    return unsupported("unsupported: the gradient of Tile of a tensor whose rank is not known");
  const int64_t rank = c.type(x).rank();
  if (rank == 0) {
    c.set(0, c.gradient());
    return {};
  }
  const auto column = [&](ValueId list) { return c.add("Unsqueeze", {list, c.ints({1})}); };
  const auto repeats = c.constant_ints(1);
  ValueId apart = kNoValue;  // the repetitions and extents of each axis
  if (repeats && c.type(x).is_static()) {
    Ints shape;
    for (std::size_t i = 0; i < repeats->size(); ++i)
      shape.insert(shape.end(), {(*repeats)[i], c.type(x).shape()[i]});
    apart = c.ints(shape);
  } else {
    const ValueId pairs =
        c.add("Concat", {column(c.input(1)), column(c.shape_of(x))}, {{"axis", int64_t{1}}});
    apart = c.add("Reshape", {pairs, c.ints({2 * rank})});
  }
  Ints repetitions;
  for (int64_t i = 0; i < rank; ++i) repetitions.push_back(2 * i);
  const ValueId parts = c.add("Reshape", {c.gradient(), apart}, {{"allowzero", int64_t{1}}});
  c.set(0, c.add("ReduceSum", {parts, c.ints(repetitions)}, {{"keepdims", int64_t{0}}}));
  return {};
}

// The same triangle of the gradient.
Status trilu_rule(GradientContext& c) {
  std::vector<ValueId> inputs = c.node().inputs;
  inputs[0] = c.gradient();
  c.set(0, c.add("Trilu", std::move(inputs), c.attributes()));
  return {};
}

Status depth_to_space_rule(GradientContext& c) {
  c.set(0, c.add(c.node().op == "DepthToSpace" ? "SpaceToDepth" : "DepthToSpace", {c.gradient()},
                 c.attributes()));
  return {};
}

// What was cut off gets zeros, what was put around is cut off: half of it in front, as forward.
Status center_crop_pad_rule(GradientContext& c) {
  ValueId shape = c.shape_of(c.input(0));
  if (c.attributes().has("axes")) shape = c.add("Gather", {shape, c.ints(c.attributes().ints("axes"))});
  c.set(0, c.add("CenterCropPad", {c.gradient(), shape}, c.attributes()));
  return {};
}

// Twice in reverse is forward again.
Status reverse_sequence_rule(GradientContext& c) {
  c.set(0, c.add("ReverseSequence", {c.gradient(), c.input(1)}, c.attributes()));
  return {};
}

}  // namespace

void add_movement_gradients(OpTable& table) {
  table.set_gradient("Identity", same_rule);
  table.set_gradient("hone.Recompute", same_rule);
  table.set_gradient("hone.CopyTo", copy_to_rule);
  for (std::string_view op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    table.set_gradient(op, reshape_rule);
  table.set_gradient("Expand", expand_rule);
  table.set_gradient("Transpose", transpose_rule);
  table.set_gradient("Concat", concat_rule);
  table.set_gradient("Split", split_rule);
  table.set_gradient("Slice", slice_rule);
  table.set_gradient("Pad", pad_rule);
  table.set_gradient("Tile", tile_rule);
  table.set_gradient("Trilu", trilu_rule);
  table.set_gradient("DepthToSpace", depth_to_space_rule);
  table.set_gradient("SpaceToDepth", depth_to_space_rule);
  table.set_gradient("CenterCropPad", center_crop_pad_rule);
  table.set_gradient("ReverseSequence", reverse_sequence_rule);
  for (std::string_view op : {"Shape", "Size", "ConstantOfShape", "EyeLike", "NonZero"})
    table.set_gradient(op, no_gradient);
}

}  // namespace hone::graph
