// Conv and ConvTranspose, alone or as a group of kind "convolution": oneDNN's variants for the layouts in the
// graph.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/cpu/dnnl/convolution.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/group_view.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/cpu/window.h"

namespace hone::runtime::cpu {
namespace {

using kernels::Convolution;
using kernels::ConvolutionDesc;

constexpr std::size_t kMaxOperands = 8;

// Everything of the description but the variant. nullopt for what oneDNN does not take.
std::optional<ConvolutionDesc> describe(const GroupView& group, const Epilogue& epilogue) {
  const graph::Node& node = group.anchor();
  const graph::TensorType& in = group.type(node.inputs[0]);
  const Tensor* weights = group.constant(node.inputs[1]);
  if (in.dtype != DType::kF32 || weights == nullptr || in.rank() < 3 || in.rank() > 5) return std::nullopt;
  if (node.has_input(2) && group.constant(node.inputs[2]) == nullptr) return std::nullopt;
  ConvolutionDesc desc;
  const Shape shape = in.shape();
  const Shape out = group.type(node.outputs[0]).shape();
  desc.batch = shape[0];
  desc.in_channels = shape[1];
  desc.out_channels = out[1];
  desc.groups = node.attributes.integer("group", 1);
  desc.input.assign(shape.begin() + 2, shape.end());
  desc.kernel.assign(weights->shape().begin() + 2, weights->shape().end());
  desc.transposed = node.op == "ConvTranspose";
  const Shape out_spatial(out.begin() + 2, out.end());
  const Window window = read_window(node, desc.input, desc.kernel, out_spatial, desc.transposed);
  desc.strides = window.strides;
  desc.dilations = window.dilations;
  desc.pads_begin = window.pads_begin;
  desc.pads_end = window.pads_end;
  if (desc.transposed) desc.output_padding = window.output_padding;
  desc.has_bias = node.has_input(2);
  desc.post_ops = epilogue.post_ops;
  desc.src_layout = in.layout;
  desc.dst_layout = group.type(group.nodes()[group.last()].outputs[0]).layout;
  return desc;
}

Result<std::unique_ptr<Kernel>> make(const ConvolutionDesc& desc, const Tensor& weights, const Tensor* bias,
                                     std::size_t input, std::vector<std::size_t> operands,
                                     std::vector<std::size_t> unread) {
  HONE_ASSIGN(std::shared_ptr<Convolution> convolution,
              Convolution::create(desc, weights.data(), bias != nullptr ? bias->data() : nullptr));
  KernelTraits traits;
  traits.implementation = fmt::format("oneDNN {} ({} → {})", convolution->name(),
                                      layout_name(desc.src_layout), layout_name(desc.dst_layout));
  traits.scratch_bytes = convolution->scratch_bytes();
  traits.packed_bytes = convolution->packed_weight_bytes();
  traits.unread = std::move(unread);
  return make_kernel(std::move(traits), [convolution, input,
                                         operands = std::move(operands)](const KernelArguments& arguments) {
    std::array<const void*, kMaxOperands> pointers{};
    for (std::size_t i = 0; i < operands.size(); ++i) pointers[i] = arguments.inputs[operands[i]];
    return convolution->execute(arguments.inputs[input], arguments.outputs[0],
                                std::span(pointers).first(operands.size()), arguments.scratch);
  });
}

}  // namespace

void lower_convolution(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node& node = group.anchor();
  if (node.op != "Conv" && node.op != "ConvTranspose") return;
  const auto epilogue = read_epilogue(group);
  if (!epilogue || epilogue->operand_inputs.size() > kMaxOperands) return;
  const auto desc = describe(group, *epilogue);
  if (!desc) return;
  const Tensor weights = *group.constant(node.inputs[1]);
  const Tensor* bias = node.has_input(2) ? group.constant(node.inputs[2]) : nullptr;
  const auto input = group.input_index(node.inputs[0]);
  if (!input) return;  // a constant within the group
  // What is packed need not be there to be read, unless the epilogue reads it, too.
  std::vector<std::size_t> unread;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const auto index = node.has_input(i) ? group.input_index(node.inputs[i]) : std::nullopt;
    const auto& read = epilogue->operand_inputs;
    if (index && *index != *input && std::find(read.begin(), read.end(), *index) == read.end())
      unread.push_back(*index);
  }
  for (const kernels::ConvolutionVariant& variant : Convolution::candidates(*desc)) {
    if (variant.src_layout != desc->src_layout || variant.dst_layout != desc->dst_layout) continue;
    ConvolutionDesc chosen = *desc;
    variant.apply_to(chosen);
    found.push_back({variant.name(), [chosen, weights, bias = bias != nullptr ? *bias : Tensor(),
                                      input = *input, operands = epilogue->operand_inputs, unread] {
                       return make(chosen, weights, bias.defined() ? &bias : nullptr, input, operands,
                                   unread);
                     }});
  }
}

}  // namespace hone::runtime::cpu
