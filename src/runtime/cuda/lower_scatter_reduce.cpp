// ScatterElements and ScatterND that add, multiply or compare: generated kernels (kernels/cuda/scatter_reduce.h), the same
// numbers in the same order every time. An index out of range is an error of the run, told by the plan's fault word.
#include <algorithm>
#include <array>

#include "kernels/cuda/scatter_reduce.h"
#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/launch_key_sort.h"
#include "runtime/lower/gather_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

constexpr std::size_t kScatteredData = 0, kScatteredIndices = 1, kScatteredUpdates = 2;  // inputs

// The gradient of a gather adds to nothing.
bool adds_to_zeros(const LowerContext& context) {
  if (context.node.attributes.text("reduction", "none") != "add") return false;
  const Tensor* const data = context.constant(kScatteredData);
  if (data == nullptr) return false;
  const auto* const bytes = static_cast<const unsigned char*>(data->data());
  return std::all_of(bytes, bytes + data->bytes(), [](unsigned char byte) { return byte == 0; });
}

// Where the result begins: a copy of the data, or zeros without reading them.
bool begin_results(const LowerContext& context, const gpu::ScatterReduceKernels& kernels,
                   GpuLaunches& launches) {
  if (adds_to_zeros(context)) {
    const auto zeroing = line_of_blocks(kernels.zero_blocks, gpu::kGatherBlock);
    if (!zeroing) return false;
    launches.unread = {kScatteredData};
    launches.launches.push_back({kernels.source, gpu::kZeroEntry, *zeroing, {output_parameter(0)}});
    return true;
  }
  const Shape flat{element_count(context.out_shape())};
  auto copy = gpu::generate_strided_copies(
      std::array{hone::kernels::expand_copy(dtype_size(context.in(kScatteredData).dtype), flat, flat)});
  if (!copy.ok()) return false;
  const auto copying = line_of_blocks(copy->blocks, gpu::kCopyBlock);
  if (!copying) return false;
  launches.launches.push_back({std::move(copy->source),
                               gpu::kStridedCopyEntry,
                               *copying,
                               {input_parameter(kScatteredData), output_parameter(0)}});
  return true;
}

constexpr GpuParameter kScatterKeys{GpuParameter::Kind::kScratch, 0};

bool sort_updates(const gpu::ScatterReduceKernels& kernels, GpuLaunches& launches) {
  const auto keys = line_of_blocks(kernels.key_blocks, gpu::kGatherBlock);
  if (!keys) return false;
  launches.launches.push_back({kernels.source,
                               gpu::kScatterKeysEntry,
                               *keys,
                               {input_parameter(kScatteredIndices),
                                kScatterKeys,
                                {GpuParameter::Kind::kFault, 0},
                                {GpuParameter::Kind::kFaultWord, 1}}});
  return launch_key_sort(kernels.source, kernels.sort, kScatterKeys, launches);
}

bool combine_updates(const gpu::ScatterReduceKernels& kernels, GpuLaunches& launches) {
  auto shape = line_of_blocks(kernels.piece_blocks_x, kernels.piece_threads_x);
  if (!shape) return false;
  shape->grid[1] = static_cast<unsigned>(kernels.piece_blocks_y);
  shape->block[1] = static_cast<unsigned>(kernels.piece_threads_y);
  const GpuParameter partial{GpuParameter::Kind::kScratch, kernels.sort.sorted * 8};
  launches.launches.push_back(
      {kernels.source,
       gpu::kCombinePiecesEntry,
       *shape,
       {input_parameter(kScatteredUpdates), kScatterKeys, output_parameter(0), partial}});
  launches.launches.push_back(
      {kernels.source, gpu::kJoinPiecesEntry, *shape, {kScatterKeys, partial, output_parameter(0)}});
  return true;
}

std::optional<gpu::ScatterReduction> reduction_of(const LowerContext& context) {
  const std::string reduction = context.node.attributes.text("reduction", "none");
  if (reduction == "add") return gpu::ScatterReduction::kAdd;
  if (reduction == "mul") return gpu::ScatterReduction::kMultiply;
  if (reduction == "min") return gpu::ScatterReduction::kMin;
  if (reduction == "max") return gpu::ScatterReduction::kMax;
  return std::nullopt;
}

}  // namespace

void lower_scatter_reduce(const LowerContext& context, const GpuKernels& kernels,
                          std::vector<Candidate>& found) {
  if (!context.node.op.starts_with("Scatter")) return;
  const auto reduction = reduction_of(context);
  if (!reduction) return;
  const auto scatter = gather_of_node(context, context.node.attributes.text("reduction", "none"));
  if (!scatter) return;
  auto generated = gpu::generate_scatter_reduce(*scatter, context.in(kScatteredData).dtype, *reduction);
  if (!generated.ok()) return;
  const bool adds = *reduction == gpu::ScatterReduction::kAdd;
  GpuLaunches launches{.implementation = adds ? "hone scatter-add (CUDA)" : "hone scatter-reduce (CUDA)"};
  launches.scratch_bytes = static_cast<std::size_t>(generated->sort.sorted) * 8 + generated->partial_bytes;
  launches.fault = index_error(context);
  if (!begin_results(context, *generated, launches) || !sort_updates(*generated, launches) ||
      !combine_updates(*generated, launches))
    return;
  offer_launches(kernels, adds ? "hone scatter-add" : "hone scatter-reduce", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
