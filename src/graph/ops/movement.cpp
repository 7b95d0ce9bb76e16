// Operators that move elements by a rule that no data decides: Transpose, Concat, Slice, Pad, Tile, …
// Gathers, scatters and what else is driven by index tensors is in indexing.cpp.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

Status infer_transpose(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(x.dtype);
  if (x.has_rank()) {
    Ints perm = context.attributes().ints("perm");
    if (!context.attributes().has("perm")) {
      perm.resize(x.dims->size());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    HONE_ASSIGN(const Ints sorted, infer::normalized_axes(perm, x.rank()));
    if (sorted.size() != x.dims->size()) {
      return context.error(fmt::format("perm {} does not order the axes of {}", shape_text(perm), x.text()));
    }
    type.dims = Dims{};
    for (int64_t axis : perm) {
      type.dims->push_back((*x.dims)[static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis)]);
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

// Blocked layouts concatenate along channels only where no block is padded.
Status check_concat_layout(const InferContext& context, int64_t axis) {
  const Layout layout = context.input(0).layout;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const TensorType& type = context.input(i);
    if (type.layout != layout) {
      return context.error(fmt::format("inputs 0 and {} have layouts {} and {}: add a hone.Reorder", i,
                                       layout_name(layout), layout_name(type.layout)));
    }
    const int64_t block = channel_block(layout);
    if (block == 1 || axis != 1 || !type.has_rank()) continue;
    const Dim& channels = (*type.dims)[1];
    if (!channels.known() || channels.extent() % block != 0) {
      return context.error(fmt::format("input {} ({}) ends within a block of channels", i, type.text()));
    }
  }
  return {};
}

Status infer_concat(InferContext& context) {
  TensorType type = unranked(context.input(0).dtype);
  bool ranked = true;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    HONE_CHECK(infer::expect_same_dtype(context, 0, i));
    ranked = ranked && context.input(i).has_rank();
  }
  if (!ranked) {
    context.set_output(0, std::move(type));
    return {};
  }
  const int64_t rank = context.input(0).rank();
  HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, rank));
  HONE_CHECK(check_concat_layout(context, axis));
  Dims dims = *context.input(0).dims;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const TensorType& input = context.input(i);
    HONE_CHECK(infer::expect_rank(context, i, rank));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Dim& dim = (*input.dims)[d];
      if (d == static_cast<std::size_t>(axis)) {
        dims[d] = infer::sum(dims[d], dim);
      } else if (dims[d].known() && dim.known() && dims[d].extent() != dim.extent()) {
        return context.error(fmt::format("input {} ({}) does not fit input 0 ({}) in axis {}", i,
                                         input.text(), context.input(0).text(), d));
      } else if (!dims[d].known() && (dim.known() || (dim.symbolic() && !dims[d].symbolic()))) {
        dims[d] = dim;
      }
    }
  }
  type.dims = std::move(dims);
  type.layout = context.input(0).layout;
  context.set_output(0, std::move(type));
  return {};
}

// The extents of the parts that Split makes along its axis.
Result<Dims> split_parts(const InferContext& context, const Dim& extent) {
  const std::size_t count = context.output_count();
  if (context.has_input(1)) {
    const auto sizes = infer::dims_input(context, 1);
    if (!sizes) return infer::unknown_dims(static_cast<int64_t>(count));
    if (sizes->size() != count) {
      return context.error(fmt::format("has {} outputs, but {} sizes", count, sizes->size()));
    }
    const Dim total = std::accumulate(sizes->begin(), sizes->end(), Dim(0), infer::sum);
    if (total.known() && extent.known() && total.extent() != extent.extent()) {
      return context.error(
          fmt::format("the sizes add up to {}, the axis has {}", total.extent(), extent.extent()));
    }
    return *sizes;
  }
  const int64_t parts = context.attributes().integer("num_outputs", static_cast<int64_t>(count));
  if (parts != static_cast<int64_t>(count)) {
    return context.error(fmt::format("num_outputs is {}, but the node has {} outputs", parts, count));
  }
  if (!extent.known()) return infer::unknown_dims(parts);
  // Equal parts; the last ones are smaller where the axis does not divide.
  const int64_t chunk = (extent.extent() + parts - 1) / parts;
  Dims dims;
  for (int64_t i = 0; i < parts; ++i) {
    dims.emplace_back(std::clamp<int64_t>(extent.extent() - i * chunk, 0, chunk));
  }
  return dims;
}

Status infer_split(InferContext& context) {
  const TensorType& x = context.input(0);
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output(i, unranked(x.dtype));
  if (!x.has_rank()) return {};
  HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, x.rank()));
  const auto at = static_cast<std::size_t>(axis);
  HONE_ASSIGN(const Dims parts, split_parts(context, (*x.dims)[at]));
  const int64_t block = axis == 1 ? channel_block(x.layout) : 1;
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    if (block > 1 && (!parts[i].known() || parts[i].extent() % block != 0))
      return context.error(fmt::format("part {} of {} ends within a block of channels", i, x.text()));
    Dims dims = *x.dims;
    dims[at] = parts[i];
    TensorType type = tensor_type(x.dtype, std::move(dims));
    type.layout = x.layout;
    context.set_output(i, std::move(type));
  }
  return {};
}

// The extent that a slice leaves of `dim`.
Dim sliced(const Dim& dim, int64_t start, int64_t end, int64_t step) {
  if (!dim.known()) {
    const bool whole = step == 1 && start == 0 && end >= std::numeric_limits<int32_t>::max();
    return whole ? dim : Dim();
  }
  const int64_t extent = dim.extent();
  auto clamp = [&](int64_t value, int64_t low, int64_t high) {
    return std::clamp(value < 0 ? value + extent : value, low, std::max(low, high));
  };
  if (step > 0) {
    start = clamp(start, 0, extent);
    end = clamp(end, 0, extent);
    return end > start ? (end - start - 1) / step + 1 : 0;
  }
  start = clamp(start, 0, extent - 1);
  end = clamp(end, -1, extent - 1);
  if (extent == 0 || start <= end) return 0;
  const uint64_t stride = static_cast<uint64_t>(-(step + 1)) + 1;  // -step, of INT64_MIN too
  return static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / stride + 1);
}

Status infer_slice(InferContext& context) {
  const TensorType& x = context.input(0);
  if (!x.has_rank()) {
    context.set_output(0, unranked(x.dtype));
    return {};
  }
  Dims dims = *x.dims;
  const auto starts = context.ints(1);
  const auto ends = context.ints(2);
  std::optional<Ints> axes = context.ints(3);
  std::optional<Ints> steps = context.ints(4);
  if (!context.has_input(3)) {
    const auto count = infer::dims_input(context, 1);
    axes = Ints(count ? count->size() : dims.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!axes) {
    dims = infer::unknown_dims(x.rank());
  } else {
    HONE_CHECK(infer::normalized_axes(*axes, x.rank()));
    if (!context.has_input(4)) steps = Ints(axes->size(), 1);
    for (std::size_t i = 0; i < axes->size(); ++i) {
      Dim& dim = dims[static_cast<std::size_t>((*axes)[i] < 0 ? (*axes)[i] + x.rank() : (*axes)[i])];
      const bool known = starts && ends && steps;
      if (known && (starts->size() <= i || ends->size() <= i || steps->size() <= i)) {
        return context.error("starts, ends, axes and steps differ in length");
      }
      if (known && (*steps)[i] == 0) return context.error("a step is 0");
      dim = known ? sliced(dim, (*starts)[i], (*ends)[i], (*steps)[i]) : Dim();
    }
  }
  context.set_output(0, tensor_type(x.dtype, std::move(dims)));
  return {};
}

Status infer_pad(InferContext& context) {
  const TensorType& x = context.input(0);
  if (!x.has_rank()) {
    context.set_output(0, unranked(x.dtype));
    return {};
  }
  Ints axes(x.dims->size());
  std::iota(axes.begin(), axes.end(), 0);
  const auto pads = context.ints(1);
  const auto given_axes = context.ints(3);
  TensorType type = tensor_type(x.dtype, infer::unknown_dims(x.rank()));
  if (pads && (given_axes || !context.has_input(3))) {
    if (given_axes) axes = *given_axes;
    HONE_CHECK(infer::normalized_axes(axes, x.rank()));
    if (pads->size() != 2 * axes.size()) {
      return context.error(fmt::format("{} pads for {} axes of {}", pads->size(), axes.size(), x.text()));
    }
    type.dims = x.dims;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Dim& dim = (*type.dims)[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i])];
      int64_t added = 0;
      int64_t extent = 0;
      if (__builtin_add_overflow((*pads)[i], (*pads)[i + axes.size()], &added) ||
          __builtin_add_overflow(dim.known() ? dim.extent() : 0, added, &extent)) {
        return context.error("the pads are too large");
      }
      if (dim.known() && extent < 0) {
        return context.error(fmt::format("pads remove more of {} than it has", x.text()));
      }
      dim = dim.known() ? Dim(extent) : added == 0 ? dim : Dim();
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_tile(InferContext& context) {
  const TensorType& x = context.input(0);
  if (!x.has_rank()) {
    context.set_output(0, unranked(x.dtype));
    return {};
  }
  TensorType type = tensor_type(x.dtype, infer::unknown_dims(x.rank()));
  if (const auto repeats = context.ints(1)) {
    if (repeats->size() != x.dims->size()) {
      return context.error(fmt::format("{} repeats for {}", repeats->size(), x.text()));
    }
    for (std::size_t i = 0; i < repeats->size(); ++i) {
      if ((*repeats)[i] < 0) return context.error("a repeat count is negative");
      (*type.dims)[i] = infer::product((*x.dims)[i], Dim((*repeats)[i]));
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_expand(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(x.dtype);
  const auto dims = infer::dims_input(context, 1);
  if (dims && x.has_rank() && context.ints(1)) {
    HONE_ASSIGN(type.dims, broadcast_dims(*x.dims, *dims));
  } else if (dims && x.has_rank()) {
    type.dims = infer::unknown_dims(std::max<int64_t>(x.rank(), static_cast<int64_t>(dims->size())));
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_trilu(InferContext& context) {
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  return infer::same_as_first(context);
}

Status infer_reverse_sequence(InferContext& context) {
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  HONE_CHECK(infer::expect_rank(context, 1, 1));
  return infer::same_as_first(context);
}

Status infer_depth_to_space(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 4));
  const TensorType& x = context.input(0);
  const int64_t block = context.attributes().integer("blocksize", 0);
  if (block <= 0) return context.error(fmt::format("blocksize is {}, must be positive", block));
  TensorType type = tensor_type(x.dtype, infer::unknown_dims(4));
  if (x.has_rank()) {
    const Dims& d = *x.dims;
    if (context.node().op == "DepthToSpace") {
      type.dims = Dims{d[0], infer::quotient(d[1], block * block), infer::product(d[2], block),
                       infer::product(d[3], block)};
    } else {
      type.dims = Dims{d[0], infer::product(d[1], block * block), infer::quotient(d[2], block),
                       infer::quotient(d[3], block)};
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_center_crop_pad(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(x.dtype);
  if (x.has_rank()) {
    Ints axes(x.dims->size());
    std::iota(axes.begin(), axes.end(), 0);
    axes = context.attributes().ints("axes", axes);
    HONE_CHECK(infer::normalized_axes(axes, x.rank()));
    const auto dims = infer::dims_input(context, 1);
    if (dims && dims->size() != axes.size()) {
      return context.error(fmt::format("{} extents for {} axes", dims->size(), axes.size()));
    }
    type.dims = x.dims;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      (*type.dims)[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i])] =
          dims ? (*dims)[i] : Dim();
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_eye_like(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 2));
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "dtype", context.input(0).dtype));
  TensorType type = context.input(0);
  type.dtype = dtype;
  context.set_output(0, std::move(type));
  return {};
}

// Reads only what it writes, and its small inputs.
void output_sized_bytes(const CostContext& context, Cost& cost) {
  cost.bytes_read = context.out(0).bytes();
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    if (context.inputs[i] != nullptr) cost.bytes_read += context.in(i).bytes();
  }
  cost.bytes_written = context.out(0).bytes();
}

OpEntry movement(std::string_view name, int min_inputs, int max_inputs, InferFunction rule,
                 std::vector<AttributeSpec> attributes, std::string_view summary) {
  return {.name = name,
          .op_class = OpClass::kMovement,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .attributes = std::move(attributes),
          .infer = rule,
          .summary = summary};
}

}  // namespace

void add_movement_ops(OpTable& table) {
  using enum AttributeKind;
  add_indexing_ops(table);
  table.add(movement("Transpose", 1, 1, infer_transpose, {{"perm", kInts}}, "axes in another order"));
  OpEntry concat = movement("Concat", 1, -1, infer_concat, {{"axis", kInt, true}},
                            "inputs one after another along an axis");
  concat.layouts = LayoutRule::kKept;
  table.add(std::move(concat));
  OpEntry split =
      movement("Split", 1, 2, infer_split, {{"axis", kInt}, {"num_outputs", kInt}}, "parts along an axis");
  split.max_outputs = -1;
  split.layouts = LayoutRule::kKept;
  table.add(std::move(split));
  OpEntry slice = movement("Slice", 3, 5, infer_slice, {}, "a range of each axis, with steps");
  slice.bytes = output_sized_bytes;
  table.add(std::move(slice));
  table.add(movement("Pad", 2, 4, infer_pad, {{"mode", kString}},
                     "a border around the tensor: constant, reflect, edge or wrap"));
  table.add(movement("Tile", 2, 2, infer_tile, {}, "the tensor repeated along each axis"));
  table.add(movement("Expand", 2, 2, infer_expand, {}, "the tensor broadcast to a shape"));
  table.add(
      movement("Trilu", 1, 2, infer_trilu, {{"upper", kInt}}, "the upper or lower triangle, zero elsewhere"));
  table.add(movement("ReverseSequence", 2, 2, infer_reverse_sequence,
                     {{"batch_axis", kInt}, {"time_axis", kInt}},
                     "the first elements of each sequence in reverse"));
  table.add(movement("DepthToSpace", 1, 1, infer_depth_to_space,
                     {{"blocksize", kInt, true}, {"mode", kString}}, "channels moved to blocks of pixels"));
  table.add(movement("SpaceToDepth", 1, 1, infer_depth_to_space,
                     {{"blocksize", kInt, true}, {"mode", kString}}, "blocks of pixels moved to channels"));
  table.add(movement("CenterCropPad", 2, 2, infer_center_crop_pad, {{"axes", kInts}},
                     "cropped or padded around the centre to a shape"));
  OpEntry eye = movement("EyeLike", 1, 1, infer_eye_like, {{"dtype", kInt}, {"k", kInt}},
                         "ones on a diagonal, in the shape of the input");
  eye.bytes = infer::written_bytes;
  table.add(std::move(eye));
}

}  // namespace hone::graph
