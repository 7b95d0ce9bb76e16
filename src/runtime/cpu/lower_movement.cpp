// Transpose, Concat, Split, Slice, Expand, Tile, Gather, Pad, DepthToSpace and reorders between layouts.
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/movement/copies.h"
#include "kernels/cpu/movement/gather.h"
#include "kernels/cpu/movement/pad.h"
#include "kernels/cpu/movement/reorder.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

using kernels::StridedCopy;
using kernels::StridedCopyDesc;

// One copy: from input number `input` to output number `output`.
struct Copy {
  StridedCopyDesc desc;
  std::size_t input = 0;
  std::size_t output = 0;
};

void offer_copies(std::vector<Copy> copies, std::vector<std::size_t> unread, std::vector<Candidate>& found) {
  found.push_back(
      {"hone copy",
       [copies = std::move(copies), unread = std::move(unread)]() -> Result<std::unique_ptr<Kernel>> {
         struct Made {
           StridedCopy copy;
           std::size_t input, output;
         };
         std::vector<Made> made;
         for (const Copy& copy : copies) {
           HONE_ASSIGN(StridedCopy engine, StridedCopy::create(copy.desc));
           made.push_back({std::move(engine), copy.input, copy.output});
         }
         return make_kernel({.implementation = "hone copy", .unread = unread},
                            [made = std::move(made)](const KernelArguments& a) -> Status {
                              for (const Made& m : made)
                                m.copy.execute(a.inputs[m.input], a.outputs[m.output]);
                              return {};
                            });
       }});
}

// Inputs after the first that are known constants need not be read.
std::vector<std::size_t> parameters(const LowerContext& context) {
  std::vector<std::size_t> unread;
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) unread.push_back(i);
  return unread;
}

void lower_transpose(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(0);
  Ints reversed(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) reversed[i] = static_cast<int64_t>(shape.size() - 1 - i);
  offer_copies({{kernels::transpose_copy(size, shape, context.node.attributes.ints("perm", reversed)), 0, 0}},
               {}, found);
}

void lower_concat(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Shape out = context.out_shape();
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(out.size()));
  if (!axis.ok()) return;
  std::vector<Copy> copies;
  int64_t at = 0;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    const Shape part = context.in_shape(i);
    if (element_count(part) > 0) copies.push_back({kernels::concat_copy(size, part, *axis, at, out), i, 0});
    at += part[static_cast<std::size_t>(*axis)];
  }
  offer_copies(std::move(copies), {}, found);
}

void lower_split(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Shape in = context.in_shape(0);
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(in.size()));
  if (!axis.ok()) return;
  std::vector<Copy> copies;
  std::vector<int64_t> starts(in.size(), 0);
  const std::vector<int64_t> steps(in.size(), 1);
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    if (!context.node.has_output(i)) return;
    const Shape part = context.out_shape(i);
    if (element_count(part) > 0) copies.push_back({kernels::slice_copy(size, in, starts, steps, part), 0, i});
    starts[static_cast<std::size_t>(*axis)] += part[static_cast<std::size_t>(*axis)];
  }
  offer_copies(std::move(copies), parameters(context), found);
}

void lower_slice(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Shape in = context.in_shape(0);
  const auto rank = static_cast<int64_t>(in.size());
  const Tensor* starts = context.constant(1);
  const Tensor* axes = context.has(3) ? context.constant(3) : nullptr;
  const Tensor* steps = context.has(4) ? context.constant(4) : nullptr;
  if (starts == nullptr || (context.has(3) && axes == nullptr) || (context.has(4) && steps == nullptr))
    return;
  std::vector<int64_t> first(in.size(), 0);
  std::vector<int64_t> step(in.size(), 1);
  for (int64_t i = 0; i < starts->size(); ++i) {
    auto axis = normalize_axis(axes != nullptr ? axes->int_at(i) : i, rank);
    if (!axis.ok()) return;
    const auto at = static_cast<std::size_t>(*axis);
    step[at] = steps != nullptr ? steps->int_at(i) : 1;
    // ONNX Slice: negative starts count from the end; then clamped to the axis, for negative steps to its
    // last element.
    int64_t start = starts->int_at(i);
    if (start < 0) start += in[at];
    first[at] = std::clamp<int64_t>(start, 0, step[at] < 0 ? in[at] - 1 : in[at]);
  }
  offer_copies({{kernels::slice_copy(size, in, first, step, context.out_shape()), 0, 0}}, parameters(context),
               found);
}

void lower_gather(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Shape in = context.in_shape(0);
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(in.size()));
  if (!axis.ok()) return;
  const auto at = static_cast<std::size_t>(*axis);
  kernels::GatherDesc desc;
  desc.element_size = size;
  desc.outer = element_count(std::span(in).first(at));
  desc.axis = in[at];
  desc.inner = element_count(std::span(in).subspan(at + 1));
  desc.indices = element_count(context.in_shape(1));
  desc.index_type = context.in(1).dtype;
  found.push_back({"hone gather", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Gather gather, kernels::Gather::create(desc));
                     return make_kernel(
                         {.implementation = "hone gather"},
                         [gather, extent = desc.axis](const KernelArguments& a) -> Status {
                           if (gather.execute(a.inputs[0], a.inputs[1], a.outputs[0])) return {};
                           return invalid(fmt::format("an index is out of range for an axis of {}", extent));
                         });
                   }});
}

void lower_pad(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const Tensor* pads = context.constant(1);
  const Tensor* axes = context.has(3) ? context.constant(3) : nullptr;
  const Tensor* value = context.has(2) ? context.constant(2) : nullptr;
  if (pads == nullptr || (context.has(3) && axes == nullptr) || (context.has(2) && value == nullptr)) return;
  const Shape in = context.in_shape(0);
  kernels::PadDesc desc;
  desc.element_size = size;
  desc.shape = in;
  desc.before.assign(in.size(), 0);
  desc.after.assign(in.size(), 0);
  const int64_t count = pads->size() / 2;
  for (int64_t i = 0; i < count; ++i) {
    auto axis = normalize_axis(axes != nullptr ? axes->int_at(i) : i, static_cast<int64_t>(in.size()));
    if (!axis.ok()) return;
    desc.before[static_cast<std::size_t>(*axis)] = pads->int_at(i);
    desc.after[static_cast<std::size_t>(*axis)] = pads->int_at(count + i);
  }
  const std::string mode = context.node.attributes.text("mode", "constant");
  desc.mode = mode == "edge"      ? kernels::PadMode::kEdge
              : mode == "reflect" ? kernels::PadMode::kReflect
              : mode == "wrap"    ? kernels::PadMode::kWrap
                                  : kernels::PadMode::kConstant;
  std::array<std::byte, 16> fill{};
  if (value != nullptr) std::memcpy(fill.data(), value->data(), size);
  found.push_back(
      {"hone pad", [desc, fill, unread = parameters(context)]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Pad pad, kernels::Pad::create(desc));
         return make_kernel({.implementation = "hone pad", .unread = unread},
                            [pad, fill](const KernelArguments& a) -> Status {
                              pad.execute(a.inputs[0], fill.data(), a.outputs[0]);
                              return {};
                            });
       }});
}

// Between row-major and blocked channels, elements of any size: whole blocks, then the channels that fill
// none. What pads the last block is left as it is: kernels that read padding read f32.
void lower_strided_reorder(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  if (context.in(0).layout == context.out().layout) {
    const Shape flat{storage_elements(context.in_shape(0), context.in(0).layout)};
    return offer_copies({{kernels::expand_copy(size, flat, flat), 0, 0}}, {}, found);
  }
  const bool to_blocks = context.in(0).layout == Layout::kPlain;
  const int64_t block = channel_block((to_blocks ? context.out() : context.in(0)).layout);
  if (block == 1 || (to_blocks ? context.in(0) : context.out()).layout != Layout::kPlain) return;
  const Shape shape = context.in_shape(0);
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const int64_t channels = shape[1], full = channels / block, rest = channels % block;
  const int64_t image = channels * positions;
  const int64_t blocked_image = (channels + block - 1) / block * block * positions;
  std::vector<Copy> copies;
  const auto add = [&](Shape extents, std::vector<int64_t> plain, std::vector<int64_t> blocked,
                       int64_t offset) {
    if (element_count(extents) == 0) return;
    StridedCopyDesc desc{.element_size = size, .shape = std::move(extents)};
    desc.in_strides = to_blocks ? plain : blocked;
    desc.out_strides = to_blocks ? blocked : plain;
    desc.in_offset = desc.out_offset = offset;
    copies.push_back({std::move(desc), 0, 0});
  };
  add({shape[0], full, block, positions}, {image, block * positions, positions, 1},
      {blocked_image, block * positions, 1, block}, 0);
  add({shape[0], rest, positions}, {image, positions, 1}, {blocked_image, 1, block},
      full * block * positions);
  offer_copies(std::move(copies), {}, found);
}

void lower_reorder(const LowerContext& context, std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(0);
  if (shape.size() < 3) return;
  if (context.in(0).dtype != DType::kF32)
    return lower_strided_reorder(context, dtype_size(context.in(0).dtype), found);
  kernels::ReorderDesc desc;
  desc.batch = shape[0];
  desc.channels = shape[1];
  desc.spatial = element_count(std::span(shape).subspan(2));
  desc.from = context.in(0).layout;
  desc.to = context.out().layout;
  found.push_back(
      {"hone reorder", [desc]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Reorder reorder, kernels::Reorder::create(desc));
         const std::string name =
             fmt::format("hone reorder ({} → {})", layout_name(desc.from), layout_name(desc.to));
         return make_kernel({.implementation = name}, [reorder](const KernelArguments& a) -> Status {
           reorder.execute(static_cast<const float*>(a.inputs[0]), static_cast<float*>(a.outputs[0]));
           return {};
         });
       }});
}

// The extents by which blocked or channels-last tensors are copied along their channels: images, blocks (or
// positions), and what of a block (or position) lies together.
Shape physical_shape(const Shape& shape, int64_t block) {
  const int64_t spatial = element_count(std::span(shape).subspan(2));
  return block > 1 ? Shape{shape[0], shape[1] / block, spatial * block} : Shape{shape[0], spatial, shape[1]};
}

// Concat and Split along channels of tensors that are not plain: the blocks of each part, one after another,
// for each image.
void lower_blocked_parts(const LowerContext& context, std::size_t size, std::vector<Candidate>& found) {
  const bool split = context.node.op == "Split";
  const graph::TensorType& type = split ? context.in(0) : context.out();
  const int64_t block = channel_block(type.layout);
  const Shape shape = type.shape();
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || *axis != 1) return;
  const Shape whole = physical_shape(shape, block);
  const std::size_t copy_axis = block > 1 ? 1 : 2;
  std::vector<int64_t> start(whole.size(), 0);
  const std::vector<int64_t> steps(whole.size(), 1);
  std::vector<Copy> copies;
  const std::size_t parts = split ? context.node.outputs.size() : context.node.inputs.size();
  for (std::size_t i = 0; i < parts; ++i) {
    if (split && !context.node.has_output(i)) return;
    const graph::TensorType& part = split ? context.out(i) : context.in(i);
    if (part.layout != type.layout || part.shape()[1] % block != 0) return;
    const Shape own = physical_shape(part.shape(), block);
    copies.push_back(split ? Copy{kernels::slice_copy(size, whole, start, steps, own), 0, i}
                           : Copy{kernels::concat_copy(size, own, static_cast<int64_t>(copy_axis),
                                                       start[copy_axis], whole),
                                  i, 0});
    start[copy_axis] += own[copy_axis];
  }
  offer_copies(std::move(copies), split ? parameters(context) : std::vector<std::size_t>{}, found);
}

}  // namespace

void lower_movement(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || context.in(0).dtype == DType::kString) return;
  const std::size_t size = dtype_size(context.in(0).dtype);
  if (size == 0 || element_count(context.out_shape()) == 0) return;
  if (node.op == "hone.Reorder") return lower_reorder(context, found);
  if ((node.op == "Concat" || node.op == "Split") && context.out().layout != Layout::kPlain)
    return lower_blocked_parts(context, size, found);
  if (context.in(0).layout != Layout::kPlain || context.out().layout != Layout::kPlain) return;
  if (node.op == "Transpose") lower_transpose(context, size, found);
  if (node.op == "Concat") lower_concat(context, size, found);
  if (node.op == "Split") lower_split(context, size, found);
  if (node.op == "Slice") lower_slice(context, size, found);
  if (node.op == "Gather") lower_gather(context, size, found);
  if (node.op == "Pad") lower_pad(context, size, found);
  if (node.op == "Expand")
    offer_copies({{kernels::expand_copy(size, context.in_shape(0), context.out_shape()), 0, 0}},
                 parameters(context), found);
  if (node.op == "Tile" && context.constant(1) != nullptr) {
    offer_copies({{kernels::tile_copy(size, context.in_shape(0), context.constant(1)->to_ints()), 0, 0}},
                 parameters(context), found);
  }
  if (node.op == "DepthToSpace") {
    const bool crd = node.attributes.text("mode", "DCR") == "CRD";
    offer_copies({{kernels::depth_to_space_copy(size, context.in_shape(0),
                                                node.attributes.integer("blocksize", 1), crd),
                   0, 0}},
                 {}, found);
  }
  if (node.op == "SpaceToDepth" && node.attributes.text("mode", "DCR") == "DCR") {
    const int64_t block = node.attributes.integer("blocksize", 1);
    offer_copies({{kernels::space_to_depth_copy(size, context.in_shape(0), block), 0, 0}}, {}, found);
  }
  // What views cannot alias (a graph input given out under another shape, say) is a copy.
  if (node.op == "Identity" || node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" ||
      node.op == "Unsqueeze") {
    const Shape flat{element_count(context.out_shape())};
    offer_copies({{kernels::expand_copy(size, flat, flat), 0, 0}}, parameters(context), found);
  }
}

}  // namespace hone::runtime::cpu
