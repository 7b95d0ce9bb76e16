// Reduce*, GlobalAveragePool, GlobalMaxPool (runtime/lower/reduction_of_node.h), ArgMax, ArgMin: generated kernels
// (kernels/cuda/reduce.h).
#include "kernels/cuda/reduce.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/reduction_launches.h"
#include "runtime/lower/reduction_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

std::optional<gpu::ReduceProgram> arg_extremum(const LowerContext& context) {
  const graph::Node& node = context.node;
  if (node.op != "ArgMax" && node.op != "ArgMin") return std::nullopt;
  const Shape shape = context.in_shape(0);
  const auto axis = normalize_axis(node.attributes.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || context.in(0).layout != Layout::kPlain) return std::nullopt;
  gpu::ReduceProgram program{
      .desc = {.shape = shape, .axes = {*axis}}, .dtype = context.in(0).dtype, .arg = {}};
  program.arg = gpu::ArgExtremumForm{.min = node.op == "ArgMin",
                                     .last = node.attributes.integer("select_last_index", 0) != 0};
  return program;
}

}  // namespace

std::optional<GpuLaunches> reduction_launches(const gpu::ReduceProgram& program) {
  auto generated = gpu::generate_reduce(program);
  if (!generated.ok()) return std::nullopt;
  auto shape = line_of_blocks(generated->blocks, generated->threads_x);
  const auto joining = line_of_blocks(generated->join_blocks, 256);
  if (!shape || !joining) return std::nullopt;
  shape->grid[1] = static_cast<unsigned>(generated->parts);
  shape->block[1] = static_cast<unsigned>(generated->threads_y);
  GpuLaunches launches{.implementation = "hone reduce (CUDA)"};
  launches.scratch_bytes = generated->scratch_bytes;
  constexpr GpuParameter kParts{GpuParameter::Kind::kScratch, 0};
  const bool parts = generated->parts > 1;
  launches.launches.push_back({.source = generated->source,
                               .entry = gpu::kReduceEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), parts ? kParts : output_parameter(0)}});
  if (parts)
    launches.launches.push_back({.source = std::move(generated->source),
                                 .entry = gpu::kJoinPartsEntry,
                                 .shape = *joining,
                                 .parameters = {kParts, output_parameter(0)}});
  return launches;
}

void lower_reduction(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (!context.has(0) || channel_block(context.in(0).layout) > 1) return;
  std::optional<gpu::ReduceProgram> program = arg_extremum(context);
  std::vector<std::size_t> unread;
  if (const auto reduction = reduction_of_node(context)) {
    program = gpu::ReduceProgram{.desc = reduction->desc,
                                 .dtype = context.in(0).dtype,
                                 .f32_results = context.out().dtype == DType::kF32,
                                 .arg = {}};
    unread = reduction->unread;
  }
  if (!program) return;
  auto launches = reduction_launches(*program);
  if (!launches) return;
  launches->unread = std::move(unread);
  offer_launches(kernels, "hone reduce", *std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
