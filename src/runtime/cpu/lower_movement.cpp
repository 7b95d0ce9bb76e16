// Strided copies (runtime/lower/copies_of_node.h), Pad and reorders between layouts.
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/movement/pad.h"
#include "kernels/cpu/movement/reorder.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/copies_of_node.h"

namespace hone::runtime::cpu {
namespace {

void offer_copies(NodeCopies given, std::vector<Candidate>& found) {
  found.push_back({"hone copy", [given = std::move(given)]() -> Result<std::unique_ptr<Kernel>> {
                     struct Made {
                       kernels::StridedCopy copy;
                       std::size_t input, output;
                     };
                     std::vector<Made> made;
                     for (const NodeCopy& copy : given.copies) {
                       HONE_ASSIGN(kernels::StridedCopy engine, kernels::StridedCopy::create(copy.desc));
                       made.push_back({std::move(engine), copy.input, copy.output});
                     }
                     return make_kernel({.implementation = "hone copy", .unread = given.unread},
                                        [made = std::move(made)](const KernelArguments& a) -> Status {
                                          for (const Made& m : made)
                                            m.copy.execute(a.inputs[m.input], a.outputs[m.output]);
                                          return {};
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
      {"hone pad", [desc, fill, unread = parameter_inputs(context)]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Pad pad, kernels::Pad::create(desc));
         return make_kernel({.implementation = "hone pad", .unread = unread},
                            [pad, fill](const KernelArguments& a) -> Status {
                              pad.execute(a.inputs[0], fill.data(), a.outputs[0]);
                              return {};
                            });
       }});
}

// Of f32, between two layouts or of one; elements of other sizes are strided copies.
void lower_reorder(const LowerContext& context, std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(0);
  if (shape.size() < 3) return;
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

}  // namespace

void lower_movement(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || context.in(0).dtype == DType::kString) return;
  const std::size_t size = dtype_size(context.in(0).dtype);
  if (size == 0 || element_count(context.out_shape()) == 0) return;
  if (node.op == "hone.Reorder" && context.in(0).dtype == DType::kF32) return lower_reorder(context, found);
  if (auto copies = copies_of_node(context)) return offer_copies(*std::move(copies), found);
  if (context.in(0).layout != Layout::kPlain || context.out().layout != Layout::kPlain) return;
  if (node.op == "Pad") lower_pad(context, size, found);
}

}  // namespace hone::runtime::cpu
