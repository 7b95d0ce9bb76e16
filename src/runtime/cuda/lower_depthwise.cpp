// Convolutions of each channel alone by our own kernel (kernels/cuda/depthwise.h), measured beside cuDNN's engines
// (lower_convolution.cpp): alone and with all that may stand behind a convolution in one kernel.
#include "kernels/cuda/depthwise.h"
#include "runtime/cuda/convolution_form.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

// Inputs that are packed, or that are constants of the form, are not read.
std::vector<std::size_t> unread_of(std::size_t inputs, std::span<const GpuParameter> parameters) {
  std::vector<std::size_t> unread;
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool read = std::any_of(parameters.begin(), parameters.end(), [&](const GpuParameter& parameter) {
      return parameter.kind == GpuParameter::Kind::kInput && parameter.number == static_cast<int64_t>(i);
    });
    if (!read) unread.push_back(i);
  }
  return unread;
}

}  // namespace

void lower_own_depthwise(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found) {
  namespace gpu = hone::kernels::gpu;
  const GroupView group(context);
  if (graph::product_kind(group.anchor()) != graph::GroupKind::kConvolution ||
      (group.is_group() && group.kind() != graph::GroupKind::kConvolution))
    return;
  const auto read = read_convolution_form(context, group);
  const auto* const form = std::get_if<ConvolutionForm>(&read);
  const Tensor* const weights = group.constant(group.anchor().inputs[1]);
  if (form == nullptr || weights == nullptr) return;
  auto generated = gpu::generate_depthwise(form->desc);
  if (!generated.ok()) return;
  const auto shape = line_of_blocks(generated->blocks, gpu::kDepthwiseBlock);
  if (!shape) return;
  GpuLaunches launches{.implementation = group.is_group() ? "hone depthwise with epilogue (CUDA)"
                                                          : "hone depthwise (CUDA)"};
  const auto pack = [&](Tensor tensor) {
    launches.packed.push_back(std::move(tensor));
    return GpuParameter{GpuParameter::Kind::kPacked, static_cast<int64_t>(launches.packed.size()) - 1};
  };
  GpuLaunch launch{.source = std::move(generated->source), .entry = gpu::kDepthwiseEntry, .shape = *shape};
  launch.parameters = {input_parameter(form->x), pack(gpu::depthwise_weights(form->desc, *weights))};
  if (form->desc.bias)
    launch.parameters.push_back(form->bias ? input_parameter(*form->bias) : pack(form->packed_bias));
  if (form->desc.added) launch.parameters.push_back(input_parameter(*form->added));
  launch.parameters.push_back(output_parameter(0));
  launches.unread = unread_of(context.node.inputs.size(), launch.parameters);
  launches.launches.push_back(std::move(launch));
  offer_launches(kernels, "hone depthwise", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
