// Conv and ConvTranspose, alone or as a group of kind "convolution": oneDNN's variants for the layouts in the
// graph.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "kernels/cpu/depthwise/depthwise.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/gemm/gathered_convolution.h"
#include "kernels/cpu/gemm/pointwise_convolution.h"
#include "kernels/cpu/gemm/transposed_convolution.h"
#include "kernels/cpu/winograd/winograd.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/group_view.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/cpu/window.h"

namespace hone::runtime::cpu {
namespace {

using kernels::Convolution;
using kernels::ConvolutionDesc;
using kernels::WinogradConvolution;

constexpr std::size_t kMaxConvolutionOperands = 8;

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

FastAlgorithm winograd_algorithm(WinogradTile tile, const ConvolutionDesc& desc) {
  const Shape output = desc.output();
  const double executed = winograd_flops({.images = desc.batch,
                                          .in_channels = desc.in_channels,
                                          .out_channels = desc.out_channels,
                                          .groups = desc.groups,
                                          .out_height = output[0],
                                          .out_width = output[1]},
                                         tile);
  return {winograd_name(tile), desc.flops() - executed};
}

Result<std::unique_ptr<Kernel>> make(const ConvolutionDesc& desc, const Tensor& weights, const Tensor* bias,
                                     std::size_t input, std::vector<std::size_t> operands,
                                     std::vector<std::size_t> unread) {
  HONE_ASSIGN(std::shared_ptr<Convolution> convolution,
              Convolution::create(desc, weights.data(), bias != nullptr ? bias->data() : nullptr));
  KernelTraits traits;
  traits.implementation = fmt::format("oneDNN {} ({} → {})", convolution->name(),
                                      layout_name(desc.src_layout), layout_name(desc.dst_layout));
  if (const auto tile = convolution->winograd_tile()) traits.algorithm = winograd_algorithm(*tile, desc);
  traits.scratch_bytes = convolution->scratch_bytes();
  traits.packed_bytes = convolution->packed_weight_bytes();
  traits.unread = std::move(unread);
  return make_kernel(std::move(traits), [convolution, input,
                                         operands = std::move(operands)](const KernelArguments& arguments) {
    std::array<const void*, kMaxConvolutionOperands> pointers{};
    for (std::size_t i = 0; i < operands.size(); ++i) pointers[i] = arguments.inputs[operands[i]];
    return convolution->execute(arguments.inputs[input], arguments.outputs[0],
                                std::span(pointers).first(operands.size()), arguments.scratch);
  });
}

// What a Conv's lowering knows beside the description; a copy lives in each candidate.
struct Parts {
  Tensor weights, bias;  // bias undefined if there is none
  std::size_t input = 0;
  std::vector<std::size_t> operands;
  std::vector<std::size_t> unread;
};

// Offers an own kernel, made by create(weights, bias): it reads at most one operand, the residual.
template <typename Create>
void add_own(std::string name, FastAlgorithm algorithm, const Parts& parts, const Create& create,
             std::vector<Candidate>& found) {
  const auto make_own = [name, algorithm, parts, create]() -> Result<std::unique_ptr<Kernel>> {
    HONE_ASSIGN(auto made, create(parts.weights.data(), parts.bias.defined() ? parts.bias.data() : nullptr));
    const std::shared_ptr own = std::move(made);
    constexpr bool kScratch = requires { own->scratch_bytes(); };
    KernelTraits traits;
    traits.implementation = name;
    traits.algorithm = algorithm;
    if constexpr (kScratch) traits.scratch_bytes = own->scratch_bytes();
    traits.packed_bytes = own->packed_weight_bytes();
    traits.unread = parts.unread;
    const std::optional<std::size_t> residual =
        parts.operands.empty() ? std::nullopt : std::optional(parts.operands[0]);
    return make_kernel(
        std::move(traits), [own, input = parts.input, residual](const KernelArguments& arguments) -> Status {
          const auto* from = static_cast<const float*>(arguments.inputs[input]);
          const auto* other = residual ? static_cast<const float*>(arguments.inputs[*residual]) : nullptr;
          auto* to = static_cast<float*>(arguments.outputs[0]);
          if constexpr (kScratch) {
            own->execute(from, other, to, arguments.scratch);
          } else {
            own->execute(from, other, to);
          }
          return {};
        });
  };
  found.push_back({std::move(name), make_own});
}

template <typename Own>
void add_own_if_supported(const ConvolutionDesc& desc, const Parts& parts, std::vector<Candidate>& found) {
  if (!Own::supports(desc).ok()) return;
  add_own(
      fmt::format("hone {}", Own::kName), {}, parts,
      [desc](const void* weights, const void* bias) { return Own::create(desc, weights, bias); }, found);
}

void add_winograd(const ConvolutionDesc& desc, const Parts& parts, std::vector<Candidate>& found) {
  if (!WinogradConvolution::supports(desc).ok()) return;
  for (const WinogradTile tile : {WinogradTile::k4x4, WinogradTile::k2x2}) {
    add_own(
        fmt::format("hone {}", WinogradConvolution::name(tile)), winograd_algorithm(tile, desc), parts,
        [desc, tile](const void* weights, const void* bias) {
          return WinogradConvolution::create(desc, tile, weights, bias);
        },
        found);
  }
}

}  // namespace

void lower_convolution(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node& node = group.anchor();
  if (node.op != "Conv" && node.op != "ConvTranspose") return;
  const auto epilogue = read_epilogue(group);
  if (!epilogue || epilogue->operand_inputs.size() > kMaxConvolutionOperands) return;
  const auto desc = describe(group, *epilogue);
  if (!desc) return;
  // Of nothing or to nothing: the reference's.
  if (element_count(desc->src_shape()) == 0 || element_count(desc->dst_shape()) == 0) return;
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
  const Parts parts{weights, bias != nullptr ? *bias : Tensor(), *input, epilogue->operand_inputs, unread};
  add_own_if_supported<kernels::DepthwiseConvolution>(*desc, parts, found);
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
  add_own_if_supported<kernels::PointwiseConvolution>(*desc, parts, found);
  add_own_if_supported<kernels::GatheredConvolution>(*desc, parts, found);
  add_own_if_supported<kernels::TransposedConvolution>(*desc, parts, found);
  add_winograd(*desc, parts, found);
}

}  // namespace hone::runtime::cpu
