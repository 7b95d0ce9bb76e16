// Operators that move elements by a rule that no data decides: Transpose, Concat, Slice, Pad, Tile, …
// Gathers, scatters and what else is driven by index tensors is in indexing.cpp. Every element type works,
// strings included.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;
// For each position along an axis of the output, that of the input, or -1.
using AxisMap = std::vector<int64_t>;

AxisMap whole_axis(int64_t extent) {
  AxisMap map(static_cast<std::size_t>(extent));
  std::iota(map.begin(), map.end(), 0);
  return map;
}

std::vector<AxisMap> whole(const Shape& shape) {
  std::vector<AxisMap> maps;
  for (int64_t extent : shape) maps.push_back(whole_axis(extent));
  return maps;
}

// The tensor whose element at (i, j, …) is that of x at (maps[0][i], maps[1][j], …), or `fill` (zero where
// undefined) if one of them is -1.
Outputs take(const RefCall& call, const Tensor& x, const std::vector<AxisMap>& maps,
             const Tensor& fill = {}) {
  Shape shape;
  for (const AxisMap& map : maps) shape.push_back(static_cast<int64_t>(map.size()));
  HONE_CHECK(make_tensor(call, x.dtype(), shape));
  const auto strides = row_major_strides(x.shape());
  std::vector<int64_t> source;
  const int64_t count = element_count(shape);
  source.reserve(static_cast<std::size_t>(count));
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i, next_index(index, shape)) {
    int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size() && offset >= 0; ++axis) {
      const int64_t at = maps[axis][static_cast<std::size_t>(index[axis])];
      offset = at < 0 ? -1 : offset + at * strides[axis];
    }
    source.push_back(offset);
  }
  return one(gather_elements(x, std::move(shape), source, fill));
}

Result<Ints> axes_of(const RefCall& call, Ints axes, int64_t rank) {
  for (int64_t& axis : axes) {
    auto normal = normalize_axis(axis, rank);
    if (!normal.ok()) return normal.error().within(std::string(call.op));
    axis = *normal;
  }
  return axes;
}

// The axes that an optional input names; the first `count` where it is absent.
Result<Ints> axes_input(const RefCall& call, std::size_t input, std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(input)) axes = call.inputs[input].to_ints();
  if (axes.size() != count) return bad_call(call, fmt::format("{} axes for {} values", axes.size(), count));
  return axes_of(call, std::move(axes), call.inputs[0].rank());
}

Outputs transpose(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  Ints perm(x.shape().size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  HONE_ASSIGN(perm, axes_of(call, call.attributes.ints("perm", perm), x.rank()));
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != whole_axis(x.rank())) return bad_call(call, "perm does not order the axes");
  const auto strides = row_major_strides(x.shape());
  Shape shape;
  std::vector<int64_t> moved;
  for (int64_t axis : perm) {
    shape.push_back(x.shape()[static_cast<std::size_t>(axis)]);
    moved.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  const auto source = strided_offsets(shape, moved);
  return one(gather_elements(x, std::move(shape), source));
}

Outputs concat(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, std::max<std::size_t>(call.inputs.size(), 1)));
  const Tensor& first = call.inputs[0];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, first.rank()));
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = first.shape();
  shape[at] = 0;
  for (const Tensor& input : call.inputs) {
    Shape rest = input.shape();
    if (rest.size() == shape.size()) {
      shape[at] += rest[at];
      rest[at] = shape[at];
    }
    if (rest != shape || input.dtype() != first.dtype()) {
      return bad_call(call, fmt::format("inputs {} and {} do not fit", shape_text(first.shape()),
                                        shape_text(input.shape())));
    }
  }
  HONE_ASSIGN(Tensor result, make_tensor(call, first.dtype(), shape));
  const AxisView view = around_axis(shape, axis);
  with_storage(first.dtype(), [&]<typename T>(T) {
    auto to = elements<T>(result).begin();
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      for (const Tensor& input : call.inputs) {
        const int64_t run = input.shape()[at] * view.inner;
        to = std::copy_n(elements<T>(input).begin() + outer * run, run, to);
      }
    }
  });
  return one(std::move(result));
}

Outputs split(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, x.rank()));
  const auto at = static_cast<std::size_t>(axis);
  const int64_t extent = x.shape()[at];
  Ints sizes;
  if (call.has(1)) {
    sizes = call.inputs[1].to_ints();
  } else {
    const auto parts = static_cast<int64_t>(call.output_count);
    const int64_t chunk = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(extent - i * chunk, 0, chunk));
  }
  const bool fits = sizes.size() == call.output_count && *std::min_element(sizes.begin(), sizes.end()) >= 0 &&
                    std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == extent;
  if (!fits) return bad_call(call, fmt::format("sizes {} do not split {}", shape_text(sizes), extent));
  std::vector<Tensor> outputs;
  auto maps = whole(x.shape());
  int64_t start = 0;
  for (int64_t size : sizes) {
    maps[at] = whole_axis(size);
    for (int64_t& position : maps[at]) position += start;
    HONE_ASSIGN(auto part, take(call, x, maps));
    outputs.push_back(std::move(part[0]));
    start += size;
  }
  return outputs;
}

// The positions that a slice with ONNX's (numpy's) rules picks from an axis.
AxisMap sliced(int64_t extent, int64_t start, int64_t end, int64_t step) {
  auto clamp = [&](int64_t value, int64_t low, int64_t high) {
    return std::clamp(value < 0 ? value + extent : value, low, std::max(low, high));
  };
  AxisMap map;
  if (step > 0) {
    start = clamp(start, 0, extent);
    end = clamp(end, 0, extent);
    for (int64_t i = start; i < end; i += std::min(step, extent)) map.push_back(i);
    return map;
  }
  start = clamp(start, 0, extent - 1);
  end = clamp(end, -1, extent - 1);
  if (extent == 0) return map;
  for (int64_t i = start; i > end; i += std::max(step, -extent)) map.push_back(i);
  return map;
}

Outputs slice(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  const Tensor& x = call.inputs[0];
  const Ints starts = call.inputs[1].to_ints();
  const Ints ends = call.inputs[2].to_ints();
  const Ints steps = call.has(4) ? call.inputs[4].to_ints() : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || steps.size() != starts.size()) {
    return bad_call(call, "starts, ends and steps differ in length");
  }
  HONE_ASSIGN(const Ints axes, axes_input(call, 3, starts.size()));
  auto maps = whole(x.shape());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return bad_call(call, "a step is 0");
    const auto at = static_cast<std::size_t>(axes[i]);
    maps[at] = sliced(x.shape()[at], starts[i], ends[i], steps[i]);
  }
  return take(call, x, maps);
}

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };

Result<PadMode> pad_mode(const RefCall& call) {
  const std::string mode = call.attributes.text("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return bad_call(call, fmt::format("mode '{}' is not constant, reflect, edge or wrap", mode));
}

// Where position `at`, possibly outside [0, extent), takes its element from.
int64_t padded_position(PadMode mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return at < 0 ? 0 : extent - 1;
    case PadMode::kWrap:
      return modulo(at, extent);
    case PadMode::kReflect: {
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t folded = modulo(at, period);
      return folded < extent ? folded : period - folded;
    }
  }
  return -1;
}

Outputs pad(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Ints pads = call.inputs[1].to_ints();
  HONE_ASSIGN(const PadMode mode, pad_mode(call));
  HONE_ASSIGN(const Ints axes, axes_input(call, 3, pads.size() / 2));
  if (call.has(2) && (call.inputs[2].size() != 1 || call.inputs[2].dtype() != x.dtype())) {
    return bad_call(call, "the constant must be one element of the dtype of the data");
  }
  constexpr int64_t kLargest = int64_t{1} << 40;
  auto maps = whole(x.shape());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = pads[i];
    const int64_t after = pads[i + axes.size()];
    const auto at = static_cast<std::size_t>(axes[i]);
    const int64_t extent = x.shape()[at];
    if (std::max({before, -before, after, -after}) > kLargest || extent + before + after < 0) {
      return bad_call(call, fmt::format("pads {}, {} do not suit an axis of {}", before, after, extent));
    }
    const int64_t size = extent + before + after;
    if (extent == 0 && size > 0 && mode != PadMode::kConstant) {
      return bad_call(call, "an empty axis has nothing to pad with");
    }
    HONE_CHECK(make_tensor(call, DType::kI64, {size}));
    maps[at].clear();
    for (int64_t position = -before; position < extent + after; ++position) {
      maps[at].push_back(padded_position(mode, position, extent));
    }
  }
  return take(call, x, maps, call.has(2) ? call.inputs[2] : Tensor());
}

Outputs tile(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Ints repeats = call.inputs[1].to_ints();
  if (repeats.size() != x.shape().size()) return bad_call(call, "needs one repeat count an axis");
  auto maps = whole(x.shape());
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    HONE_CHECK(make_tensor(call, DType::kI64, {x.shape()[i], repeats[i]}));
    const AxisMap once = maps[i];
    maps[i].clear();
    for (int64_t r = 0; r < repeats[i]; ++r) maps[i].insert(maps[i].end(), once.begin(), once.end());
  }
  return take(call, x, maps);
}

Outputs expand(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  auto shape = broadcast_shapes(x.shape(), call.inputs[1].to_ints());
  if (!shape.ok()) return shape.error().within(std::string(call.op));
  HONE_CHECK(make_tensor(call, x.dtype(), *shape));
  const auto source = broadcast_offsets(x.shape(), *shape);
  return one(gather_elements(x, *shape, source));
}

Outputs trilu(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  if (x.rank() < 2) return bad_call(call, "the input needs rank 2 or more");
  const bool upper = call.attributes.integer("upper", 1) != 0;
  const int64_t given = call.has(1) && call.inputs[1].size() == 1 ? call.inputs[1].int_at(0) : 0;
  const int64_t rows = x.shape()[x.shape().size() - 2];
  const int64_t columns = x.shape().back();
  const int64_t k = std::clamp(given, -rows, columns);  // further diagonals are as far outside
  std::vector<int64_t> source(static_cast<std::size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t row = i / columns % rows;
    const int64_t column = i % columns;
    const bool kept = upper ? column - row >= k : column - row <= k;
    source[static_cast<std::size_t>(i)] = kept ? i : -1;
  }
  return one(gather_elements(x, x.shape(), source));
}

Outputs reverse_sequence(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const auto batch = static_cast<std::size_t>(call.attributes.integer("batch_axis", 1));
  const auto time = static_cast<std::size_t>(call.attributes.integer("time_axis", 0));
  if (x.rank() < 2 || batch > 1 || time > 1 || batch == time) {
    return bad_call(call, "batch_axis and time_axis must be 0 and 1, in some order");
  }
  const Ints lengths = call.inputs[1].to_ints();
  if (static_cast<int64_t>(lengths.size()) != x.shape()[batch]) {
    return bad_call(call, "needs one length a sequence");
  }
  for (int64_t length : lengths) {
    if (length < 0 || length > x.shape()[time]) {
      return bad_call(call, fmt::format("length {} of a sequence of {}", length, x.shape()[time]));
    }
  }
  const auto strides = row_major_strides(x.shape());
  std::vector<int64_t> source(static_cast<std::size_t>(x.size()));
  std::vector<int64_t> index(x.shape().size(), 0);
  for (std::size_t i = 0; i < source.size(); ++i, next_index(index, x.shape())) {
    const int64_t length = lengths[static_cast<std::size_t>(index[batch])];
    const int64_t at = index[time] < length ? length - 1 - index[time] : index[time];
    source[i] = static_cast<int64_t>(i) + (at - index[time]) * strides[time];
  }
  return one(gather_elements(x, x.shape(), source));
}

// Views the input as six axes, reorders them, and views the result as four.
Outputs regrouped(const RefCall& call, const Shape& six, const std::array<std::size_t, 6>& order,
                  Shape four) {
  const auto strides = row_major_strides(six);
  Shape shape;
  std::vector<int64_t> moved;
  for (std::size_t axis : order) {
    shape.push_back(six[axis]);
    moved.push_back(strides[axis]);
  }
  return one(gather_elements(call.inputs[0], std::move(four), strided_offsets(shape, moved)));
}

Outputs depth_to_space(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Shape& s = call.inputs[0].shape();
  const int64_t b = call.attributes.integer("blocksize", 0);
  if (s.size() != 4 || b <= 0 || b > s[1] || s[1] % (b * b) != 0) {
    return bad_call(call, fmt::format("blocks of {} do not divide {}", b, shape_text(s)));
  }
  const int64_t channels = s[1] / (b * b);
  Shape four = {s[0], channels, s[2] * b, s[3] * b};
  const std::string mode = call.attributes.text("mode", "DCR");
  if (mode == "DCR") return regrouped(call, {s[0], b, b, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, four);
  if (mode == "CRD") return regrouped(call, {s[0], channels, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, four);
  return bad_call(call, fmt::format("mode '{}' is not DCR or CRD", mode));
}

Outputs space_to_depth(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Shape& s = call.inputs[0].shape();
  const int64_t b = call.attributes.integer("blocksize", 0);
  if (s.size() != 4 || b <= 0 || s[2] % b != 0 || s[3] % b != 0) {
    return bad_call(call, fmt::format("blocks of {} do not divide {}", b, shape_text(s)));
  }
  Shape four = {s[0], s[1] * b * b, s[2] / b, s[3] / b};
  const Shape six = {s[0], s[1], s[2] / b, b, s[3] / b, b};
  const std::string mode = call.attributes.text("mode", "DCR");
  if (mode == "DCR") return regrouped(call, six, {0, 3, 5, 1, 2, 4}, std::move(four));
  if (mode == "CRD") return regrouped(call, six, {0, 1, 3, 5, 2, 4}, std::move(four));
  return bad_call(call, fmt::format("mode '{}' is not DCR or CRD", mode));
}

Outputs center_crop_pad(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Ints wanted = call.inputs[1].to_ints();
  Ints axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  HONE_ASSIGN(axes, axes_of(call, call.attributes.ints("axes", axes), x.rank()));
  if (wanted.size() != axes.size()) return bad_call(call, "needs one extent an axis");
  auto maps = whole(x.shape());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::size_t>(axes[i]);
    const int64_t extent = x.shape()[at];
    HONE_CHECK(make_tensor(call, DType::kI64, {wanted[i]}));
    // Odd differences: the window is half a pixel to the left, the extra border on the right.
    const int64_t start = extent >= wanted[i] ? (extent - wanted[i]) / 2 : -((wanted[i] - extent) / 2);
    maps[at].clear();
    for (int64_t j = 0; j < wanted[i]; ++j) {
      maps[at].push_back(padded_position(PadMode::kConstant, start + j, extent));
    }
  }
  return take(call, x, maps);
}

Outputs eye_like(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  if (x.rank() != 2) return bad_call(call, "the input must be a matrix");
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", x.dtype()));
  HONE_CHECK(expect_real(call, dtype));
  const int64_t k = call.attributes.integer("k", 0);
  std::vector<int64_t> values(static_cast<std::size_t>(x.size()), 0);
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    for (int64_t column = 0; column < x.shape()[1]; ++column) {
      if (column - row == k) values[static_cast<std::size_t>(row * x.shape()[1] + column)] = 1;
    }
  }
  return one(narrow(dtype, x.shape(), values));
}

}  // namespace

void add_movement_kernels(RefTable& table) {
  add_indexing_kernels(table);
  table.add("Transpose", transpose);
  table.add("Concat", concat);
  table.add("Split", split);
  table.add("Slice", slice);
  table.add("Pad", pad);
  table.add("Tile", tile);
  table.add("Expand", expand);
  table.add("Trilu", trilu);
  table.add("ReverseSequence", reverse_sequence);
  table.add("DepthToSpace", depth_to_space);
  table.add("SpaceToDepth", space_to_depth);
  table.add("CenterCropPad", center_crop_pad);
  table.add("EyeLike", eye_like);
}

}  // namespace hone::kernels::ref
