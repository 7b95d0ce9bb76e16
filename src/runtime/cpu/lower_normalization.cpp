// Softmax, layer, group and batch normalisation: hone's own kernels, f32, and gradients of them.
#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/normalization/batch_norm_training.h"
#include "kernels/cpu/normalization/layer_norm_gradient.h"
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

kernels::TrainingBatchNormDesc training_desc(const LowerContext& context, std::size_t image) {
  const Shape shape = context.in_shape(image);
  kernels::TrainingBatchNormDesc desc;
  desc.batch = shape[0];
  desc.channels = shape[1];
  desc.spatial = product(shape, 2, shape.size());
  desc.epsilon = context.node.attributes.real("epsilon", 1e-5F);
  desc.momentum = context.node.attributes.real("momentum", 0.9F);
  desc.layout = context.in(image).layout;
  return desc;
}

void lower_training_batch_norm(const LowerContext& context, std::vector<Candidate>& found) {
  const auto make = [desc = training_desc(context, 0)]() -> Result<std::unique_ptr<Kernel>> {
    HONE_ASSIGN(kernels::TrainingBatchNorm norm, kernels::TrainingBatchNorm::create(desc));
    return make_kernel({.implementation = "hone training batch norm", .scratch_bytes = norm.scratch_bytes()},
                       [norm](const KernelArguments& a) -> Status {
                         const auto result = [&](std::size_t i) {
                           return i < a.outputs.size() && a.outputs[i] != nullptr ? f32(a.outputs[i])
                                                                                  : nullptr;
                         };
                         norm.execute({f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]), f32(a.inputs[3]),
                                       f32(a.inputs[4]), f32(a.outputs[0]), result(1), result(2)},
                                      a.scratch);
                         return {};
                       });
  };
  found.push_back({"hone training batch norm", make});
}

// All inputs f32, images in one layout.
bool takes_gradient(const LowerContext& context) {
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (context.in(i).dtype != DType::kF32 || !context.in(i).is_static()) return false;
    if (i != 2 && context.in(i).layout != context.in(1).layout) return false;
  }
  return std::all_of(context.node.outputs.begin(), context.node.outputs.end(),
                     [](graph::ValueId output) { return output.valid(); });
}

void lower_batch_norm_gradient(const LowerContext& context, std::vector<Candidate>& found) {
  if (!takes_gradient(context) || context.in_shape(1).size() < 2) return;
  const bool relu = context.has(3);
  const auto make = [desc = training_desc(context, 1), relu]() -> Result<std::unique_ptr<Kernel>> {
    HONE_ASSIGN(kernels::BatchNormGradient gradient, kernels::BatchNormGradient::create(desc));
    return make_kernel(
        {.implementation = "hone batch norm gradient", .scratch_bytes = gradient.scratch_bytes()},
        [gradient, relu](const KernelArguments& a) -> Status {
          gradient.execute(
              {f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]), relu ? f32(a.inputs[3]) : nullptr,
               f32(a.outputs[0]), f32(a.outputs[1]), f32(a.outputs[2])},
              a.scratch);
          return {};
        });
  };
  found.push_back({"hone batch norm gradient", make});
}

void lower_layer_norm_gradient(const LowerContext& context, std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(1);
  auto axis = normalize_axis(context.node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || !takes_gradient(context) || context.in(1).layout != Layout::kPlain) return;
  kernels::LayerNormDesc desc;
  desc.rows = product(shape, 0, static_cast<std::size_t>(*axis));
  desc.length = product(shape, static_cast<std::size_t>(*axis), shape.size());
  desc.epsilon = context.node.attributes.real("epsilon", 1e-5F);
  if (element_count(context.in_shape(2)) != desc.length) return;
  found.push_back(
      {"hone layer norm gradient", [desc]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::LayerNormGradient gradient, kernels::LayerNormGradient::create(desc));
         return make_kernel(
             {.implementation = "hone layer norm gradient", .scratch_bytes = gradient.scratch_bytes()},
             [gradient](const KernelArguments& a) -> Status {
               gradient.execute({f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]), f32(a.outputs[0]),
                                 f32(a.outputs[1]), f32(a.outputs[2])},
                                a.scratch);
               return {};
             });
       }});
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
  if (trains) return lower_training_batch_norm(context, found);
  if (context.in(0).layout != Layout::kPlain) return;
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
      element_count(context.in_shape(0)) == 0) {
    return;
  }
  if (node.op == "hone.BatchNormalizationGradient") return lower_batch_norm_gradient(context, found);
  if (node.op == "BatchNormalization") return lower_batch_norm(context, found);
  if (context.out().layout != Layout::kPlain || context.in(0).layout != Layout::kPlain) return;
  if (node.op == "hone.LayerNormalizationGradient") return lower_layer_norm_gradient(context, found);
  if (node.op == "Softmax" || node.op == "LogSoftmax") lower_softmax(context, found);
  if (node.op == "LayerNormalization" || node.op == "RMSNormalization") lower_layer_norm(context, found);
  if (node.op == "InstanceNormalization" || node.op == "GroupNormalization") lower_group_norm(context, found);
}

}  // namespace hone::runtime::cpu
