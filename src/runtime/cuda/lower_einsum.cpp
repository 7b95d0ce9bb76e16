// Einsum (kernels/cuda/contraction.h).
#include <algorithm>
#include <map>

#include "core/einsum.h"
#include "kernels/cuda/contraction.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// The extent of each label; one of 1 broadcasts. nullopt where they do not fit, which is the reference's to say.
std::optional<std::map<int, int64_t>> label_extents(const LowerContext& context, const Einsum& einsum) {
  std::map<int, int64_t> extents;
  for (std::size_t i = 0; i < einsum.operands.size(); ++i) {
    const Shape shape = context.in_shape(i);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t& extent = extents.emplace(einsum.operands[i][axis], shape[axis]).first->second;
      if (extent != shape[axis] && extent != 1 && shape[axis] != 1) return std::nullopt;
      if (extent == 1) extent = shape[axis];
    }
  }
  return extents;
}

// How an operand steps along `label`: along all of its axes that have it.
int64_t step_along(int label, const EinsumLabels& operand, const Shape& shape) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  int64_t step = 0;
  for (std::size_t axis = 0; axis < operand.size(); ++axis)
    if (operand[axis] == label && shape[axis] != 1) step += strides[axis];
  return step;
}

std::optional<gpu::ContractionProgram> contraction_of_node(const LowerContext& context) {
  const std::size_t operands = context.node.inputs.size();
  std::vector<int64_t> ranks;
  for (std::size_t i = 0; i < operands; ++i) {
    if (!context.has(i) || context.in(i).layout != Layout::kPlain ||
        context.in(i).dtype != context.in(0).dtype)
      return std::nullopt;
    ranks.push_back(static_cast<int64_t>(context.in_shape(i).size()));
  }
  const auto einsum = parse_einsum(context.node.attributes.text("equation", ""), ranks);
  if (!einsum.ok()) return std::nullopt;
  const auto extents = label_extents(context, *einsum);
  if (!extents) return std::nullopt;
  gpu::ContractionProgram program{.dtype = context.in(0).dtype, .operands = operands, .axes = {}};
  const auto add = [&](int label, bool summed) {
    gpu::ContractionAxis axis{.extent = extents->at(label), .steps = {}, .summed = summed};
    for (std::size_t i = 0; i < operands; ++i)
      axis.steps.push_back(step_along(label, einsum->operands[i], context.in_shape(i)));
    program.axes.push_back(std::move(axis));
  };
  for (const int label : einsum->output) add(label, false);
  for (const int label : einsum->summed) add(label, true);
  return program;
}

}  // namespace

void lower_einsum(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (context.node.op != "Einsum" || context.out().layout != Layout::kPlain) return;
  const auto program = contraction_of_node(context);
  if (!program) return;
  auto generated = gpu::generate_contraction(*program);
  if (!generated.ok()) return;
  const auto blocks = line_of_blocks(generated->blocks, gpu::kContractionBlock);
  if (!blocks) return;
  GpuLaunches launches{.implementation = "hone contraction (CUDA)"};
  GpuLaunch& launch = launches.launches.emplace_back(
      GpuLaunch{std::move(generated->source), gpu::kContractionEntry, *blocks, {}});
  for (std::size_t i = 0; i < program->operands; ++i) launch.parameters.push_back(input_parameter(i));
  launch.parameters.push_back(output_parameter(0));
  offer_launches(kernels, "hone contraction", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
