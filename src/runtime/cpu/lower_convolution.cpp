// Conv and ConvTranspose, alone or as a group of kind "convolution": oneDNN's variants for the layouts in the
// graph.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "core/as_f32.h"
#include "kernels/cpu/depthwise/depthwise.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/convolution_weight_gradient.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/gemm/fused_epilogue.h"
#include "kernels/cpu/gemm/gathered_convolution.h"
#include "kernels/cpu/gemm/pointwise_convolution.h"
#include "kernels/cpu/gemm/transposed_convolution.h"
#include "kernels/cpu/winograd/winograd.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/cpu/window.h"
#include "runtime/lower/group_view.h"

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
  const graph::TensorType& weights = group.type(node.inputs[1]);
  if ((in.dtype != DType::kF32 && in.dtype != DType::kBF16) || weights.layout != Layout::kPlain ||
      in.rank() < 3 || in.rank() > 5)
    return std::nullopt;
  ConvolutionDesc desc;
  desc.dtype = in.dtype;
  desc.result = group.type(group.last().outputs[0]).dtype;
  const Shape shape = in.shape();
  const Shape out = group.type(node.outputs[0]).shape();
  desc.batch = shape[0];
  desc.in_channels = shape[1];
  desc.out_channels = out[1];
  desc.groups = node.attributes.integer("group", 1);
  desc.input.assign(shape.begin() + 2, shape.end());
  const Shape filter = weights.shape();
  desc.kernel.assign(filter.begin() + 2, filter.end());
  desc.constant_weights = group.constant(node.inputs[1]) != nullptr &&
                          (!node.has_input(2) || group.constant(node.inputs[2]) != nullptr);
  desc.transposed = node.op == "ConvTranspose";
  const Shape out_spatial(out.begin() + 2, out.end());
  const Window window = read_window(node, desc.input, desc.kernel, out_spatial, desc.transposed);
  desc.strides = window.strides;
  desc.dilations = window.dilations;
  desc.pads_begin = window.pads_begin;
  desc.pads_end = window.pads_end;
  if (desc.transposed) desc.output_padding = window.output_padding;
  if (desc.output() != out_spatial) return std::nullopt;  // output_shape beyond what the window reaches
  desc.has_bias = node.has_input(2);
  desc.post_ops = epilogue.post_ops;
  desc.src_layout = in.layout;
  desc.dst_layout = group.type(group.last().outputs[0]).layout;
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

// What a Conv's lowering knows beside the description; a copy lives in each candidate.
struct Parts {
  Tensor weights, bias;  // undefined if computed, bias also if there is none
  std::size_t input = 0;
  std::size_t weights_input = 0, bias_input = 0;  // where they are not constant
  std::vector<std::size_t> operands;
  std::vector<std::size_t> unread;
};

Result<std::unique_ptr<Kernel>> make_convolution(ConvolutionDesc desc, const Parts& parts) {
  const std::vector<kernels::PostOp> tail = take_own_tail(desc.post_ops);
  const ResultRuns runs = runs_of(desc.dst_shape(), desc.given_plain ? Layout::kPlain : desc.dst_layout);
  HONE_ASSIGN(std::shared_ptr<Convolution> convolution,
              Convolution::create(desc, parts.weights.defined() ? parts.weights.data() : nullptr,
                                  parts.bias.defined() ? parts.bias.data() : nullptr));
  KernelTraits traits;
  traits.implementation =
      fmt::format("oneDNN {} ({} → {}{})", convolution->name(), layout_name(desc.src_layout),
                  layout_name(desc.dst_layout), desc.given_plain ? ", from plain" : "");
  if (const auto tile = convolution->winograd_tile()) traits.algorithm = winograd_algorithm(*tile, desc);
  traits.scratch_bytes = convolution->scratch_bytes();
  traits.packed_bytes = convolution->packed_weight_bytes();
  traits.unread = parts.unread;
  return make_kernel(
      std::move(traits),
      [convolution, tail, runs, input = parts.input, weights = parts.weights_input, bias = parts.bias_input,
       operands = parts.operands](const KernelArguments& arguments) -> Status {
        std::array<const void*, kMaxConvolutionOperands> pointers{};
        for (std::size_t i = 0; i < operands.size(); ++i) pointers[i] = arguments.inputs[operands[i]];
        HONE_CHECK(convolution->execute_with(arguments.inputs[weights], arguments.inputs[bias],
                                             arguments.inputs[input], arguments.outputs[0],
                                             std::span(pointers).first(operands.size()), arguments.scratch));
        if (!tail.empty()) apply_to_result(tail, static_cast<float*>(arguments.outputs[0]), runs);
        return {};
      });
}

// Whether steps done on the finished result would leave other numbers than zeros in channels that are none.
bool fills_padding(const ConvolutionDesc& desc, const std::vector<kernels::PostOp>& tail) {
  const kernels::FusedEpilogue steps{.activations = tail};
  return desc.out_channels % channel_block(desc.dst_layout) != 0 && !steps.keeps_zero();
}

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

// What is packed need not be there to be read, unless the epilogue reads it, too.
std::vector<std::size_t> packed_inputs(const GroupView& group, const Parts& parts) {
  const graph::Node& node = group.anchor();
  std::vector<std::size_t> unread;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const auto index = node.has_input(i) ? group.input_index(node.inputs[i]) : std::nullopt;
    const auto& read = parts.operands;
    if (index && *index != parts.input && std::find(read.begin(), read.end(), *index) == read.end())
      unread.push_back(*index);
  }
  return unread;
}

// Of bf16, where the CPU has tiles, only what runs on them: the library's other kernels are slower than those of f32, which
// is what a convolution that tiles do not fit (a depthwise one) is left in.
template <typename Chosen>
void keep_tiles(std::vector<Chosen>& found) {
  if (!kernels::has_tiles_of_bf16()) return;
  std::erase_if(found,
                [](const Chosen& each) { return each.implementation.find("amx") == std::string::npos; });
}

// hone.ConvWeightGradient: oneDNN's.
void lower_weight_gradient(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::TensorType& x = context.in(0);
  const graph::TensorType& g = context.in(1);
  if ((x.dtype != DType::kF32 && x.dtype != DType::kBF16) || x.rank() > 5) return;
  const Shape in = context.in_shape(0), out = context.in_shape(1), weight = context.out_shape();
  ConvolutionDesc desc;
  desc.dtype = x.dtype;
  desc.result = context.out().dtype;
  desc.src_layout = x.layout;
  desc.dst_layout = g.layout;
  desc.batch = in[0];
  desc.in_channels = in[1];
  desc.out_channels = out[1];
  desc.groups = context.node.attributes.integer("group", 1);
  desc.input.assign(in.begin() + 2, in.end());
  desc.kernel.assign(weight.begin() + 2, weight.end());
  const Shape spatial(out.begin() + 2, out.end());
  const Window window = read_window(context.node, desc.input, desc.kernel, spatial, false);
  desc.strides = window.strides;
  desc.dilations = window.dilations;
  desc.pads_begin = window.pads_begin;
  desc.pads_end = window.pads_end;
  if (element_count(in) == 0 || element_count(out) == 0 || desc.output() != spatial) return;
  std::vector<ConvolutionDesc> kernels = kernels::ConvolutionWeightGradient::candidates(desc);
  if (desc.dtype == DType::kBF16) keep_tiles(kernels);
  for (const ConvolutionDesc& chosen : kernels) {
    found.push_back(
        {"oneDNN weight gradient " + chosen.implementation, [chosen]() -> Result<std::unique_ptr<Kernel>> {
           HONE_ASSIGN(std::shared_ptr<kernels::ConvolutionWeightGradient> made,
                       kernels::ConvolutionWeightGradient::create(chosen));
           KernelTraits traits{.implementation = "oneDNN weight gradient " + made->name()};
           traits.scratch_bytes = made->scratch_bytes();
           return make_kernel(std::move(traits), [made](const KernelArguments& a) {
             return made->execute(a.inputs[0], a.inputs[1], a.outputs[0], a.scratch);
           });
         }});
  }
}

}  // namespace

void lower_convolution(const LowerContext& context, std::vector<Candidate>& found) {
  if (context.node.op == "hone.ConvWeightGradient") return lower_weight_gradient(context, found);
  const GroupView group(context);
  const graph::Node& node = group.anchor();
  if (node.op != "Conv" && node.op != "ConvTranspose") return;
  auto epilogue = read_epilogue(group);
  std::vector<std::size_t> in_steps;  // inputs whose numbers are steps of the epilogue now
  if (!epilogue ||
      !take_channel_steps(group, group.type(group.last().outputs[0]).layout, *epilogue, in_steps) ||
      epilogue->operand_inputs.size() > kMaxConvolutionOperands)
    return;
  const auto desc = describe(group, *epilogue);
  if (!desc) return;
  // The library does the steps behind a transposed convolution element by element, in a loop a hundred times as
  // slow as a pass of their own; hone's kernels for constant weights do not.
  if (desc->transposed && !desc->constant_weights && !epilogue->post_ops.empty()) return;
  // An empty image, or an empty result: the reference runs it.
  if (element_count(desc->src_shape()) == 0 || element_count(desc->dst_shape()) == 0) return;
  const auto input = group.input_index(node.inputs[0]);
  if (!input) return;  // a constant within the group
  Parts parts;
  parts.input = *input;
  parts.operands = epilogue->operand_inputs;
  if (desc->constant_weights) {
    parts.weights = *group.constant(node.inputs[1]);
    if (desc->has_bias) parts.bias = as_f32(*group.constant(node.inputs[2]));
    parts.unread = packed_inputs(group, parts);
  } else {
    const auto weights_input = group.input_index(node.inputs[1]);
    const auto bias_input = desc->has_bias ? group.input_index(node.inputs[2]) : weights_input;
    if (!weights_input || !bias_input) return;
    parts.weights_input = *weights_input;
    parts.bias_input = *bias_input;
  }
  for (const std::size_t step : in_steps) {
    const bool read = step == parts.input ||
                      (!desc->constant_weights && (step == parts.weights_input || step == parts.bias_input));
    if (!read) parts.unread.push_back(step);
  }
  if (desc->constant_weights) add_own_if_supported<kernels::DepthwiseConvolution>(*desc, parts, found);
  ConvolutionDesc library = *desc;
  const std::vector<kernels::PostOp> tail = take_own_tail(library.post_ops);
  std::vector<kernels::ConvolutionVariant> variants = Convolution::candidates_as_laid_out(library);
  const bool plain = desc->src_layout == Layout::kPlain && desc->dst_layout == Layout::kPlain;
  // What is computed could not be laid out ahead; and no kernel on tiles takes the plain layout.
  if (plain && (!desc->constant_weights || desc->dtype == DType::kBF16)) {
    const auto more = Convolution::candidates_given_plain(library);
    variants.insert(variants.end(), more.begin(), more.end());
  }
  if (desc->dtype == DType::kBF16) keep_tiles(variants);
  for (const kernels::ConvolutionVariant& variant : variants) {
    if (fills_padding(*desc, tail) || (!tail.empty() && desc->result != DType::kF32)) break;
    ConvolutionDesc chosen = *desc;
    variant.apply_to(chosen);
    found.push_back({variant.name(), [chosen, parts] { return make_convolution(chosen, parts); }});
  }
  if (!desc->constant_weights) return;  // own kernels pack them once
  add_own_if_supported<kernels::PointwiseConvolution>(*desc, parts, found);
  add_own_if_supported<kernels::GatheredConvolution>(*desc, parts, found);
  add_own_if_supported<kernels::TransposedConvolution>(*desc, parts, found);
  add_winograd(*desc, parts, found);
}

}  // namespace hone::runtime::cpu
