// hone.NonMaxSuppression (kernels/cuda/non_max_suppression.h): what a plan makes of NonMaxSuppression (bounded_results.h).
#include <algorithm>

#include "kernels/cuda/non_max_suppression.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

constexpr GpuParameter kNoThreshold{GpuParameter::Kind::kInteger, 0};

// Null for one that is not there, or has no element, as exporters write it; nothing where it is no f32.
std::optional<GpuParameter> threshold(const LowerContext& context, std::size_t input) {
  if (!context.has(input) || element_count(context.in_shape(input)) == 0) return kNoThreshold;
  if (context.in(input).dtype != DType::kF32) return std::nullopt;
  return input_parameter(input);
}

std::optional<gpu::SuppressionProgram> suppression_program(const LowerContext& context) {
  const Shape boxes = context.in_shape(0), scores = context.in_shape(1);
  const Tensor* const most = context.constant(2);
  if (boxes.size() != 3 || scores.size() != 3 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      boxes[2] != 4 || most == nullptr || most->size() != 1 || context.in(0).dtype != context.in(1).dtype)
    return std::nullopt;
  return gpu::SuppressionProgram{.dtype = context.in(0).dtype,
                                 .batch = scores[0],
                                 .classes = scores[1],
                                 .boxes = scores[2],
                                 .most = std::clamp<int64_t>(most->int_at(0), 0, scores[2]),
                                 .centre = context.node.attributes.integer("center_point_box", 0) != 0};
}

}  // namespace

void lower_suppression(const LowerContext& context, const GpuKernels& kernels,
                       std::vector<Candidate>& found) {
  if (context.node.op != "hone.NonMaxSuppression" || context.in(0).layout != Layout::kPlain ||
      context.in(1).layout != Layout::kPlain || !context.node.has_output(1))
    return;
  const auto program = suppression_program(context);
  const auto iou = threshold(context, 3), score = threshold(context, 4);
  if (!program || !iou || !score) return;
  const auto generated = gpu::generate_suppression(*program);
  if (!generated.ok()) return;
  const auto suppressing = line_of_blocks(generated->blocks, generated->threads);
  const auto placing = line_of_blocks(generated->blocks, gpu::kPlaceRowsBlock);
  if (!suppressing || !placing) return;
  constexpr auto kScratchBytes = static_cast<int64_t>(sizeof(int32_t)), kScratchAlignment = int64_t{256};
  const int64_t kept_bytes =
      (generated->kept * kScratchBytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  constexpr GpuParameter kKept{GpuParameter::Kind::kScratch, 0};
  const GpuParameter counts{GpuParameter::Kind::kScratch, kept_bytes};
  GpuLaunches launches{.implementation = "hone suppression (CUDA)", .unread = {2}};
  launches.scratch_bytes = static_cast<std::size_t>(kept_bytes + generated->counts * kScratchBytes);
  launches.launches = {{generated->source,
                        gpu::kSuppressEntry,
                        *suppressing,
                        {input_parameter(0), input_parameter(1), *iou, *score, kKept, counts}},
                       {generated->source,
                        gpu::kPlaceRowsEntry,
                        *placing,
                        {kKept, counts, output_parameter(0), output_parameter(1)}}};
  offer_launches(kernels, "hone suppression", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
