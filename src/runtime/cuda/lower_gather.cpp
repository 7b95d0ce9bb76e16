// Gather, GatherElements, GatherND, and ScatterElements and ScatterND that reduce nothing: generated kernels
// (kernels/cuda/gather.h). An index out of range is an error of the run, told by the plan's fault word.
#include <array>

#include "kernels/cuda/gather.h"
#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/lower/gather_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

constexpr GpuParameter kFaultAddress{GpuParameter::Kind::kFault, 0};
constexpr GpuParameter kIndexFault{GpuParameter::Kind::kFaultWord, 1};
constexpr GpuParameter kClaims{GpuParameter::Kind::kScratch, 0};

std::optional<GpuLaunches> gather_launches(const NodeGather& gather) {
  auto generated = gpu::generate_gather(gather);
  if (!generated.ok()) return std::nullopt;
  const auto shape = line_of_blocks(generated->blocks, gpu::kGatherBlock);
  if (!shape) return std::nullopt;
  GpuLaunches launches{.implementation = "hone gather (CUDA)"};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kGatherEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), input_parameter(1), output_parameter(0),
                                              kFaultAddress, kIndexFault}});
  return launches;
}

std::optional<GpuLaunch> copy_of_data(const LowerContext& context) {
  const Shape flat{element_count(context.out_shape())};
  const std::size_t size = dtype_size(context.in(0).dtype);
  auto copy = gpu::generate_strided_copies(std::array{hone::kernels::expand_copy(size, flat, flat)});
  if (!copy.ok()) return std::nullopt;
  const auto copying = line_of_blocks(copy->blocks, gpu::kCopyBlock);
  if (!copying) return std::nullopt;
  return GpuLaunch{
      std::move(copy->source), gpu::kStridedCopyEntry, *copying, {input_parameter(0), output_parameter(0)}};
}

// The data are copied, then what updates have claimed is written over the copy.
std::optional<GpuLaunches> scatter_launches(const LowerContext& context, const NodeGather& scatter) {
  auto copy = copy_of_data(context);
  auto generated = gpu::generate_scatter(scatter);
  if (!copy || !generated.ok()) return std::nullopt;
  const auto clearing = line_of_blocks(generated->clear_blocks, gpu::kGatherBlock);
  const auto claiming = line_of_blocks(generated->claim_blocks, gpu::kGatherBlock);
  const auto writing = line_of_blocks(generated->scatter_blocks, gpu::kGatherBlock);
  if (!clearing || !claiming || !writing) return std::nullopt;
  GpuLaunches launches{.implementation = "hone scatter (CUDA)"};
  launches.scratch_bytes = static_cast<std::size_t>(generated->places) * sizeof(int32_t);
  launches.launches = {*std::move(copy),
                       {generated->source, gpu::kClearClaimsEntry, *clearing, {kClaims}},
                       {generated->source,
                        gpu::kClaimEntry,
                        *claiming,
                        {input_parameter(1), kClaims, kFaultAddress, kIndexFault}},
                       {generated->source,
                        gpu::kScatterEntry,
                        *writing,
                        {input_parameter(2), input_parameter(1), kClaims, output_parameter(0)}}};
  return launches;
}

// A scatter, by whatever reduction, of nothing.
bool scatters_nothing(const LowerContext& context) {
  return context.node.op.starts_with("Scatter") && element_count(context.in_shape(2)) == 0 &&
         dtype_size(context.in(0).dtype) > 0 && element_count(context.out_shape()) > 0 &&
         context.in(0).layout == Layout::kPlain && context.out().layout == Layout::kPlain;
}

}  // namespace

void lower_gather(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (scatters_nothing(context)) {
    auto copy = copy_of_data(context);
    if (!copy) return;
    GpuLaunches launches{.implementation = "hone copy (CUDA)", .unread = {1, 2}};
    launches.launches.push_back(*std::move(copy));
    return offer_launches(kernels, "hone copy", std::move(launches), found);
  }
  const auto gather = gather_of_node(context);
  if (!gather) return;
  const bool scatter = context.node.op.starts_with("Scatter");
  auto launches = scatter ? scatter_launches(context, *gather) : gather_launches(*gather);
  if (!launches) return;
  launches->fault = index_error(context);
  offer_launches(kernels, scatter ? "hone scatter" : "hone gather", *std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
