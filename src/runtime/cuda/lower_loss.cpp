// SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and hone.CrossEntropyGradient: generated kernels
// (kernels/cuda/cross_entropy.h). A target that is no class is an error of the run, told by the plan's fault word.
#include <fmt/format.h>

#include "kernels/cuda/cross_entropy.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;
using LossProgram = gpu::CrossEntropyProgram;

// What the scores, [N, C, d…], and the targets, a number each sample, are; nullopt where they do not fit.
std::optional<LossProgram> scores_of(const LowerContext& context, std::size_t scores, std::size_t targets) {
  const Shape shape = context.in_shape(scores);
  if (shape.size() < 2 || element_count(shape) == 0) return std::nullopt;
  for (const std::size_t i : {scores, targets})
    if (context.in(i).layout != Layout::kPlain) return std::nullopt;
  if (element_count(context.in_shape(targets)) * shape[1] != element_count(shape) ||
      context.out().layout != Layout::kPlain)
    return std::nullopt;
  LossProgram program;
  program.outer = shape[0];
  program.classes = shape[1];
  program.inner = element_count(std::span(shape).subspan(2));
  program.dtype = context.in(scores).dtype;
  program.target = context.in(targets).dtype;
  return program;
}

std::optional<cuda::LaunchShape> loss_shape(const gpu::CrossEntropyKernel& kernel) {
  auto shape = line_of_blocks(kernel.blocks, kernel.threads_x);
  if (shape) shape->block[1] = static_cast<unsigned>(kernel.threads_y);
  return shape;
}

std::optional<LossProgram> loss_program(const LowerContext& context) {
  const graph::Node& node = context.node;
  auto program = scores_of(context, 0, 1);
  if (!program) return std::nullopt;
  program->beside = context.out().dtype;
  program->normalised = node.op == "NegativeLogLikelihoodLoss";
  program->weighted = context.has(2);
  if (program->weighted &&
      (context.in(2).dtype != DType::kF32 || context.in_shape(2) != Shape{program->classes}))
    return std::nullopt;
  program->shows = node.has_output(1);
  if (node.attributes.has("ignore_index")) program->ignored = node.attributes.integer("ignore_index", 0);
  const std::string reduction = node.attributes.text("reduction", "mean");
  program->reduction = reduction == "mean"  ? LossProgram::Reduction::kMean
                       : reduction == "sum" ? LossProgram::Reduction::kSum
                                            : LossProgram::Reduction::kNone;
  return program;
}

constexpr GpuParameter kNoLossOperand{GpuParameter::Kind::kInteger, 0};

void offer_loss(const LossProgram& program, const GpuKernels& kernels, std::vector<Candidate>& found) {
  auto generated = gpu::generate_cross_entropy(program);
  if (!generated.ok()) return;
  const auto shape = loss_shape(*generated);
  if (!shape) return;
  const bool sums = program.reduction != LossProgram::Reduction::kNone;
  const int64_t samples = program.outer * program.inner;
  const int64_t bytes = (samples * 4 + 15) / 16 * 16;  // of the losses; as many of the weights behind them
  const GpuParameter losses{GpuParameter::Kind::kScratch, 0}, weights{GpuParameter::Kind::kScratch, bytes};
  GpuLaunches launches{.implementation = "hone cross entropy (CUDA)"};
  launches.scratch_bytes = sums ? static_cast<std::size_t>(2 * bytes) : 0;
  launches.fault = fmt::format("a target is not one of {} classes", program.classes);
  launches.launches.push_back({.source = generated->source,
                               .entry = gpu::kCrossEntropyEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0),
                                              input_parameter(1),
                                              program.weighted ? input_parameter(2) : kNoLossOperand,
                                              sums ? losses : output_parameter(0),
                                              sums ? weights : kNoLossOperand,
                                              program.shows ? output_parameter(1) : kNoLossOperand,
                                              {GpuParameter::Kind::kFault, 0},
                                              {GpuParameter::Kind::kFaultWord, 1}}});
  if (sums)
    launches.launches.push_back({.source = std::move(generated->source),
                                 .entry = gpu::kSumLossesEntry,
                                 .shape = *line_of_blocks(1, gpu::kSumLossesBlock),
                                 .parameters = {losses, weights, output_parameter(0)}});
  offer_launches(kernels, "hone cross entropy", std::move(launches), found);
}

void offer_gradient(const LossProgram& program, const GpuKernels& kernels, std::vector<Candidate>& found) {
  auto generated = gpu::generate_cross_entropy(program);
  if (!generated.ok()) return;
  const auto shape = loss_shape(*generated);
  if (!shape) return;
  GpuLaunches launches{.implementation = "hone cross entropy gradient (CUDA)", .in_place = 0};
  launches.launches.push_back(
      {.source = std::move(generated->source),
       .entry = gpu::kCrossEntropyEntry,
       .shape = *shape,
       .parameters = {input_parameter(0), input_parameter(1), input_parameter(2), output_parameter(0)}});
  offer_launches(kernels, "hone cross entropy gradient", std::move(launches), found);
}

}  // namespace

void lower_loss(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss" ||
      node.op == "hone.SoftmaxCrossEntropyLoss") {
    if (const auto program = loss_program(context)) offer_loss(*program, kernels, found);
  } else if (node.op == "hone.CrossEntropyGradient") {
    auto program = scores_of(context, 0, 1);
    if (!program || context.in_shape(2) != context.in_shape(1)) return;
    program->beside = context.in(2).dtype;
    program->kind = LossProgram::Kind::kGradient;
    offer_gradient(*program, kernels, found);
  }
}

}  // namespace hone::runtime::cuda_kernels
