// Softmax, layer, group and batch normalisation: hone's own kernels, f32.
#include <fmt/core.h>

#include "kernels/cpu/normalization/normalization.h"
#include "kernels/cpu/softmax/softmax.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  return element_count(std::span(shape).subspan(first, last - first));
}

void lower_softmax(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok()) return;
  const auto at = static_cast<std::size_t>(*axis);
  kernels::SoftmaxDesc desc;
  desc.outer = {product(shape, 0, at)};
  desc.length = shape[at];
  desc.inner = product(shape, at + 1, shape.size());
  desc.log = node.op == "LogSoftmax";
  found.push_back({"hone softmax", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Softmax softmax, kernels::Softmax::create(desc));
                     return make_kernel({.implementation = "hone softmax", .in_place = 0},
                                        [softmax](const KernelArguments& a) -> Status {
                                          softmax.execute(f32(a.inputs[0]), nullptr, f32(a.outputs[0]));
                                          return {};
                                        });
                   }});
}

// LayerNormalization and RMSNormalization over the last axes, scale and bias of those axes' shape.
void lower_layer_norm(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || node.outputs.size() > 3) return;
  kernels::LayerNormDesc desc;
  desc.rows = product(shape, 0, static_cast<std::size_t>(*axis));
  desc.length = product(shape, static_cast<std::size_t>(*axis), shape.size());
  desc.epsilon = node.attributes.real("epsilon", 1e-5F);
  desc.rms = node.op == "RMSNormalization";
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (context.has(i) &&
        (element_count(context.in_shape(i)) != desc.length || context.in(i).dtype != DType::kF32))
      return;
  }
  const bool biased = context.has(2);
  found.push_back({"hone layer norm", [desc, biased]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::LayerNorm norm, kernels::LayerNorm::create(desc));
                     return make_kernel({.implementation = "hone layer norm", .in_place = 0},
                                        [norm, biased](const KernelArguments& a) -> Status {
                                          kernels::LayerNormArguments arguments;
                                          arguments.x = f32(a.inputs[0]);
                                          arguments.scale = f32(a.inputs[1]);
                                          arguments.bias = biased ? f32(a.inputs[2]) : nullptr;
                                          arguments.y = f32(a.outputs[0]);
                                          arguments.mean = a.outputs.size() > 1 ? f32(a.outputs[1]) : nullptr;
                                          arguments.inverse_deviation =
                                              a.outputs.size() > 2 ? f32(a.outputs[2]) : nullptr;
                                          norm.execute(arguments);
                                          return {};
                                        });
                   }});
}

void lower_group_norm(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  if (shape.size() < 3) return;
  kernels::GroupNormDesc desc;
  desc.batch = shape[0];
  desc.channels = shape[1];
  desc.groups = node.op == "InstanceNormalization" ? shape[1] : node.attributes.integer("num_groups", 1);
  desc.spatial = product(shape, 2, shape.size());
  desc.epsilon = node.attributes.real("epsilon", 1e-5F);
  found.push_back({"hone group norm", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::GroupNorm norm, kernels::GroupNorm::create(desc));
                     return make_kernel({.implementation = "hone group norm", .in_place = 0},
                                        [norm](const KernelArguments& a) -> Status {
                                          norm.execute(f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]),
                                                       f32(a.outputs[0]));
                                          return {};
                                        });
                   }});
}

void lower_training_batch_norm(const LowerContext& context, const kernels::BatchNormDesc& desc,
                               std::vector<Candidate>& found) {
  const float momentum = context.node.attributes.real("momentum", 0.9F);
  if (desc.spatial < 8) return;  // of planes as short as that each would cost more than its elements
  const auto make = [desc, momentum]() -> Result<std::unique_ptr<Kernel>> {
    HONE_ASSIGN(kernels::TrainingBatchNorm norm, kernels::TrainingBatchNorm::create(desc, momentum));
    return make_kernel(
        {.implementation = "hone training batch norm"}, [norm](const KernelArguments& a) -> Status {
          const auto result = [&](std::size_t i) {
            return i < a.outputs.size() && a.outputs[i] != nullptr ? f32(a.outputs[i]) : nullptr;
          };
          norm.execute({f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]), f32(a.inputs[3]),
                        f32(a.inputs[4]), f32(a.outputs[0]), result(1), result(2)});
          return {};
        });
  };
  found.push_back({"hone training batch norm", make});
}

// By the statistics given, or the batch's own.
void lower_batch_norm(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const bool trains = node.attributes.integer("training_mode", 0) != 0;
  if (shape.size() < 2 || node.inputs.size() != 5 || (!trains && node.outputs.size() != 1)) return;
  for (std::size_t i = 1; i < 5; ++i) {
    if (!context.has(i) || context.in(i).dtype != DType::kF32 ||
        element_count(context.in_shape(i)) != shape[1])
      return;
  }
  kernels::BatchNormDesc desc;
  desc.batch = shape[0];
  desc.channels = shape[1];
  desc.spatial = product(shape, 2, shape.size());
  desc.epsilon = node.attributes.real("epsilon", 1e-5F);
  if (trains) return lower_training_batch_norm(context, desc, found);
  found.push_back({"hone batch norm", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::BatchNorm norm, kernels::BatchNorm::create(desc));
                     return make_kernel(
                         {.implementation = "hone batch norm", .in_place = 0},
                         [norm](const KernelArguments& a) -> Status {
                           norm.execute({f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]),
                                         f32(a.inputs[3]), f32(a.inputs[4]), f32(a.outputs[0])});
                           return {};
                         });
                   }});
}

}  // namespace

void lower_normalization(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || context.in(0).dtype != DType::kF32 ||
      context.out().layout != Layout::kPlain || context.in(0).layout != Layout::kPlain ||
      element_count(context.in_shape(0)) == 0) {
    return;
  }
  if (node.op == "Softmax" || node.op == "LogSoftmax") lower_softmax(context, found);
  if (node.op == "LayerNormalization" || node.op == "RMSNormalization") lower_layer_norm(context, found);
  if (node.op == "BatchNormalization") lower_batch_norm(context, found);
  if (node.op == "InstanceNormalization" || node.op == "GroupNormalization") lower_group_norm(context, found);
}

}  // namespace hone::runtime::cpu
