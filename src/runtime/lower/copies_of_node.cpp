#include "runtime/lower/copies_of_node.h"

#include <algorithm>

namespace hone::runtime {
namespace {

using kernels::StridedCopyDesc;
using Copies = std::optional<NodeCopies>;

Copies one_copy(StridedCopyDesc desc, std::vector<std::size_t> unread = {}) {
  return NodeCopies{{{std::move(desc), 0, 0}}, std::move(unread)};
}

Copies copies_of_transpose(const LowerContext& context, std::size_t size) {
  const Shape shape = context.in_shape(0);
  Ints reversed(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) reversed[i] = static_cast<int64_t>(shape.size() - 1 - i);
  return one_copy(kernels::transpose_copy(size, shape, context.node.attributes.ints("perm", reversed)));
}

Copies copies_of_concat(const LowerContext& context, std::size_t size) {
  const Shape out = context.out_shape();
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(out.size()));
  if (!axis.ok()) return std::nullopt;
  NodeCopies made;
  int64_t at = 0;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    const Shape part = context.in_shape(i);
    if (element_count(part) > 0)
      made.copies.push_back({kernels::concat_copy(size, part, *axis, at, out), i, 0});
    at += part[static_cast<std::size_t>(*axis)];
  }
  return made;
}

Copies copies_of_split(const LowerContext& context, std::size_t size) {
  const Shape in = context.in_shape(0);
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(in.size()));
  if (!axis.ok()) return std::nullopt;
  NodeCopies made{{}, parameter_inputs(context)};
  std::vector<int64_t> starts(in.size(), 0);
  const std::vector<int64_t> steps(in.size(), 1);
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    if (!context.node.has_output(i)) return std::nullopt;
    const Shape part = context.out_shape(i);
    if (element_count(part) > 0)
      made.copies.push_back({kernels::slice_copy(size, in, starts, steps, part), 0, i});
    starts[static_cast<std::size_t>(*axis)] += part[static_cast<std::size_t>(*axis)];
  }
  return made;
}

Copies copies_of_slice(const LowerContext& context, std::size_t size) {
  const Shape in = context.in_shape(0);
  const auto rank = static_cast<int64_t>(in.size());
  const Tensor* starts = context.constant(1);
  const Tensor* axes = context.has(3) ? context.constant(3) : nullptr;
  const Tensor* steps = context.has(4) ? context.constant(4) : nullptr;
  if (starts == nullptr || (context.has(3) && axes == nullptr) || (context.has(4) && steps == nullptr))
    return std::nullopt;
  std::vector<int64_t> first(in.size(), 0);
  std::vector<int64_t> step(in.size(), 1);
  for (int64_t i = 0; i < starts->size(); ++i) {
    auto axis = normalize_axis(axes != nullptr ? axes->int_at(i) : i, rank);
    if (!axis.ok()) return std::nullopt;
    const auto at = static_cast<std::size_t>(*axis);
    step[at] = steps != nullptr ? steps->int_at(i) : 1;
    // ONNX Slice: negative starts count from the end; then clamped to the axis, for negative steps to its
    // last element.
    int64_t start = starts->int_at(i);
    if (start < 0) start += in[at];
    first[at] = std::clamp<int64_t>(start, 0, step[at] < 0 ? in[at] - 1 : in[at]);
  }
  return one_copy(kernels::slice_copy(size, in, first, step, context.out_shape()), parameter_inputs(context));
}

// Between row-major and channels that lie last or in blocks: whole blocks, then the channels that fill none.
Copies copies_of_reorder(const LowerContext& context, std::size_t size) {
  const Shape shape = context.in_shape(0);
  if (shape.size() < 3) return std::nullopt;
  const Layout from = context.in(0).layout, to = context.out().layout;
  if (from == to) {
    const Shape flat{storage_elements(shape, from)};
    return one_copy(kernels::expand_copy(size, flat, flat));
  }
  const bool from_plain = from == Layout::kPlain;
  if (!from_plain && to != Layout::kPlain) return std::nullopt;
  const Layout other = from_plain ? to : from;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const int64_t channels = shape[1];
  const int64_t block = other == Layout::kChannelsLast ? channels : channel_block(other);
  const int64_t full = channels / block, rest = channels % block;
  const int64_t image = channels * positions;
  const int64_t blocked_image = (channels + block - 1) / block * block * positions;
  NodeCopies made;
  const auto add = [&](Shape extents, std::vector<int64_t> plain, std::vector<int64_t> blocked,
                       int64_t offset) {
    if (element_count(extents) == 0) return;
    StridedCopyDesc desc{.element_size = size, .shape = std::move(extents)};
    desc.in_strides = from_plain ? plain : blocked;
    desc.out_strides = from_plain ? blocked : plain;
    desc.in_offset = desc.out_offset = offset;
    made.copies.push_back({std::move(desc), 0, 0});
  };
  add({shape[0], full, block, positions}, {image, block * positions, positions, 1},
      {blocked_image, block * positions, 1, block}, 0);
  add({shape[0], rest, positions}, {image, positions, 1}, {blocked_image, 1, block},
      full * block * positions);
  return made;
}

// The extents by which blocked or channels-last tensors are copied along their channels: images, blocks (or
// positions), and what of a block (or position) lies together.
Shape physical_shape(const Shape& shape, int64_t block) {
  const int64_t spatial = element_count(std::span(shape).subspan(2));
  return block > 1 ? Shape{shape[0], shape[1] / block, spatial * block} : Shape{shape[0], spatial, shape[1]};
}

// Concat and Split along channels of tensors that are not plain: the blocks of each part, one after another,
// for each image.
Copies copies_of_blocked_parts(const LowerContext& context, std::size_t size) {
  const bool split = context.node.op == "Split";
  const graph::TensorType& type = split ? context.in(0) : context.out();
  const int64_t block = channel_block(type.layout);
  const Shape shape = type.shape();
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || *axis != 1) return std::nullopt;
  const Shape whole = physical_shape(shape, block);
  const std::size_t copy_axis = block > 1 ? 1 : 2;
  std::vector<int64_t> start(whole.size(), 0);
  const std::vector<int64_t> steps(whole.size(), 1);
  NodeCopies made{{}, split ? parameter_inputs(context) : std::vector<std::size_t>{}};
  const std::size_t parts = split ? context.node.outputs.size() : context.node.inputs.size();
  for (std::size_t i = 0; i < parts; ++i) {
    if (split && !context.node.has_output(i)) return std::nullopt;
    const graph::TensorType& part = split ? context.out(i) : context.in(i);
    if (part.layout != type.layout || part.shape()[1] % block != 0) return std::nullopt;
    const Shape own = physical_shape(part.shape(), block);
    made.copies.push_back(split ? NodeCopy{kernels::slice_copy(size, whole, start, steps, own), 0, i}
                                : NodeCopy{kernels::concat_copy(size, own, static_cast<int64_t>(copy_axis),
                                                                start[copy_axis], whole),
                                           i, 0});
    start[copy_axis] += own[copy_axis];
  }
  return made;
}

// Operators whose output is the input under another shape, or whose bytes are of another type.
bool renames(const LowerContext& context) {
  const std::string_view op = context.node.op;
  // Elements of less than a byte are held as numbers, which are others in the other type.
  if (op == "BitCast")
    return dtype_bits(context.in(0).dtype) >= 8 &&
           dtype_size(context.out().dtype) == dtype_size(context.in(0).dtype);
  return op == "Identity" || op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze";
}

}  // namespace

std::vector<std::size_t> parameter_inputs(const LowerContext& context) {
  std::vector<std::size_t> unread;
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) unread.push_back(i);
  return unread;
}

std::optional<NodeCopies> copies_of_node(const LowerContext& context) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || !node.has_output(0) || context.in(0).dtype == DType::kString)
    return std::nullopt;
  const std::size_t size = dtype_size(context.in(0).dtype);
  if (size == 0 || element_count(context.out_shape()) == 0) return std::nullopt;
  if (node.op == "hone.Reorder") return copies_of_reorder(context, size);
  if ((node.op == "Concat" || node.op == "Split") && context.out().layout != Layout::kPlain)
    return copies_of_blocked_parts(context, size);
  if (context.in(0).layout != Layout::kPlain || context.out().layout != Layout::kPlain) return std::nullopt;
  const Shape in = context.in_shape(0);
  if (node.op == "Transpose") return copies_of_transpose(context, size);
  if (node.op == "Concat") return copies_of_concat(context, size);
  if (node.op == "Split") return copies_of_split(context, size);
  if (node.op == "Slice") return copies_of_slice(context, size);
  if (node.op == "Expand")
    return one_copy(kernels::expand_copy(size, in, context.out_shape()), parameter_inputs(context));
  if (node.op == "Tile" && context.constant(1) != nullptr)
    return one_copy(kernels::tile_copy(size, in, context.constant(1)->to_ints()), parameter_inputs(context));
  const int64_t block = node.attributes.integer("blocksize", 1);
  const std::string mode = node.attributes.text("mode", "DCR");
  if (node.op == "DepthToSpace")
    return one_copy(kernels::depth_to_space_copy(size, in, block, mode == "CRD"));
  if (node.op == "SpaceToDepth" && mode == "DCR")
    return one_copy(kernels::space_to_depth_copy(size, in, block));
  // What views cannot alias (a graph input given out under another shape, say) is a copy.
  if (renames(context)) {
    const Shape flat{element_count(context.out_shape())};
    return one_copy(kernels::expand_copy(size, flat, flat), parameter_inputs(context));
  }
  return std::nullopt;
}

}  // namespace hone::runtime
