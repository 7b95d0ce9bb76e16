#include "passes/strided_view.h"

#include <algorithm>
#include <numeric>

namespace hone::passes {

StrideAxis canonical(StrideAxis axis) {
  StrideAxis result;
  for (const StridePart& part : axis) {
    if (part.extent == 1) continue;
    if (!result.empty() && result.back().stride == part.stride * part.extent) {
      result.back() = {result.back().extent * part.extent, part.stride};
    } else {
      result.push_back(part);
    }
  }
  return result;
}

std::vector<StrideAxis> dense_axes(std::span<const int64_t> shape) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<StrideAxis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(canonical({{shape[i], strides[i]}}));
  return axes;
}

std::optional<std::vector<StrideAxis>> regroup(const std::vector<StrideAxis>& axes,
                                               std::span<const int64_t> shape) {
  StrideAxis rest;  // innermost part last: taken from the back
  for (const StrideAxis& axis : axes) rest.insert(rest.end(), axis.begin(), axis.end());
  std::vector<StrideAxis> result(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    int64_t wanted = shape[i];
    while (wanted > 1) {
      if (rest.empty()) return std::nullopt;
      StridePart& last = rest.back();
      if (wanted % last.extent == 0) {
        wanted /= last.extent;
        result[i].insert(result[i].begin(), last);
        rest.pop_back();
      } else if (last.extent % wanted == 0) {
        result[i].insert(result[i].begin(), {wanted, last.stride});
        last = {last.extent / wanted, last.stride * wanted};
        wanted = 1;
      } else {
        return std::nullopt;
      }
    }
    result[i] = canonical(std::move(result[i]));
  }
  return rest.empty() ? std::optional(std::move(result)) : std::nullopt;
}

int64_t extent_of(const StrideAxis& axis) {
  return std::accumulate(axis.begin(), axis.end(), int64_t{1},
                         [](int64_t n, const StridePart& part) { return n * part.extent; });
}

namespace {

// Elements [start, start + length) of an axis.
bool narrow(StridedView& view, std::size_t axis, int64_t start, int64_t length) {
  StrideAxis& parts = view.axes[axis];
  if (length == extent_of(parts)) return true;
  if (parts.size() > 1) return false;  // would begin or end within a part
  view.offset += start * parts[0].stride;
  parts = canonical({{length, parts[0].stride}});
  return true;
}

std::optional<std::size_t> axis_of(const Node& node, std::size_t rank, int64_t otherwise) {
  const int64_t axis = node.attributes.integer("axis", otherwise);
  const int64_t at = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  return at >= 0 && at < static_cast<int64_t>(rank) ? std::optional(static_cast<std::size_t>(at))
                                                    : std::nullopt;
}

bool transpose(const Node& node, StridedView& view) {
  Ints reversed(view.axes.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<StrideAxis> axes;
  for (int64_t axis : node.attributes.ints("perm", reversed))
    axes.push_back(view.axes[static_cast<std::size_t>(axis)]);
  view.axes = std::move(axes);
  return true;
}

bool expand(const GraphBuilder& builder, const Node& node, StridedView& view) {
  const Shape to = builder.type(node.outputs[0]).shape();
  view.axes.insert(view.axes.begin(), to.size() - view.axes.size(), StrideAxis{});
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (extent_of(view.axes[i]) != to[i]) view.axes[i] = {{to[i], 0}};
  }
  return true;
}

bool gather(const GraphBuilder& builder, const Node& node, StridedView& view) {
  const auto index = int_constant(builder, node.inputs[1]);
  const auto axis = axis_of(node, view.axes.size(), 0);
  if (!index || index->size() != 1 || !axis) return false;
  const int64_t at = (*index)[0] < 0 ? (*index)[0] + extent_of(view.axes[*axis]) : (*index)[0];
  if (at < 0 || !narrow(view, *axis, at, 1)) return false;
  if (constant_data(builder, node.inputs[1])->rank() == 0)
    view.axes.erase(view.axes.begin() + static_cast<std::ptrdiff_t>(*axis));
  return true;
}

bool split(const GraphBuilder& builder, const Node& node, std::size_t output, StridedView& view) {
  const auto axis = axis_of(node, view.axes.size(), 0);
  if (!axis) return false;
  int64_t start = 0;
  for (std::size_t i = 0; i <= output; ++i) {
    if (!node.has_output(i) || !builder.type(node.outputs[i]).is_static()) return false;
    const int64_t length = builder.type(node.outputs[i]).shape()[*axis];
    if (i == output) return narrow(view, *axis, start, length);
    start += length;
  }
  return false;
}

bool slice(const GraphBuilder& builder, const Node& node, StridedView& view) {
  const auto starts = int_constant(builder, node.inputs[1]);
  std::vector<int64_t> axes(starts ? starts->size() : 0);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) axes = int_constant(builder, node.inputs[3]).value_or(std::vector<int64_t>{});
  const auto steps = node.has_input(4) ? int_constant(builder, node.inputs[4]) : std::vector<int64_t>{};
  if (!starts || axes.size() != starts->size() || !steps) return false;
  if (std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; })) return false;
  const Shape to = builder.type(node.outputs[0]).shape();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(to.size()) : axes[i]);
    const int64_t extent = extent_of(view.axes[axis]);
    const int64_t start =
        std::clamp<int64_t>((*starts)[i] < 0 ? (*starts)[i] + extent : (*starts)[i], 0, extent);
    if (!narrow(view, axis, start, to[axis])) return false;
  }
  return true;
}

}  // namespace

std::optional<StridedView> apply_view(const GraphBuilder& builder, const Node& node, std::size_t output,
                                      StridedView view) {
  if (!node.has_output(output) || !builder.type(node.outputs[output]).is_static() ||
      element_count(builder.type(node.outputs[output]).shape()) == 0)
    return std::nullopt;
  bool is_view = false;
  if (node.op == "Transpose") is_view = transpose(node, view);
  if (node.op == "Expand") is_view = expand(builder, node, view);
  if (node.op == "Gather") is_view = gather(builder, node, view);
  if (node.op == "Split") is_view = split(builder, node, output, view);
  if (node.op == "Slice") is_view = slice(builder, node, view);
  if (node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
      node.op == "Identity") {
    auto axes = regroup(view.axes, builder.type(node.outputs[0]).shape());
    if (!axes) return std::nullopt;
    view.axes = std::move(*axes);
    is_view = true;
  }
  return is_view ? std::optional(std::move(view)) : std::nullopt;
}

std::vector<StridedView> views_of(const GraphBuilder& builder, ValueId value) {
  constexpr std::size_t kMaxDepth = 16;
  std::vector<StridedView> found;
  std::vector<ValueId> chain;  // from the value back
  for (ValueId at = value; chain.size() < kMaxDepth && builder.type(at).is_static();) {
    chain.push_back(at);
    StridedView view{at, 0, dense_axes(builder.type(at).shape())};
    bool known = true;
    for (std::size_t i = chain.size() - 1; i-- > 0 && known;) {
      const graph::Value& step = builder.value(chain[i]);
      auto next = apply_view(builder, builder.node(step.producer), step.output_index, std::move(view));
      known = next.has_value();
      if (known) view = std::move(*next);
    }
    if (!known) return found;
    found.push_back(std::move(view));
    const NodeId producer = builder.value(at).producer;
    if (!producer.valid() || builder.node(producer).inputs.empty() ||
        !builder.node(producer).inputs[0].valid())
      return found;
    at = builder.node(producer).inputs[0];
  }
  return found;
}

}  // namespace hone::passes
