// Transpose, Concat, Split, Slice, Expand, Tile, DepthToSpace, reorders: strided copies (runtime/lower/copies_of_node.h),
// one generated kernel for up to kMostCopyParts of them.
#include <algorithm>

#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/lower/copies_of_node.h"

namespace hone::runtime::cuda_kernels {

void lower_copies(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  auto copies = copies_of_node(context);
  if (!copies || copies->copies.empty()) return;
  // Blocks of channels are a layout of CPUs, whose kernels alone leave zeros in the padding.
  const auto is_blocked = [](const graph::TensorType& type) { return channel_block(type.layout) > 1; };
  if (is_blocked(context.in(0)) || is_blocked(context.out())) return;
  GpuLaunches launches{.implementation = "hone copy (CUDA)", .launches = {}, .unread = copies->unread};
  const std::span<const NodeCopy> all = copies->copies;
  for (std::size_t begin = 0; begin < all.size(); begin += hone::kernels::gpu::kMostCopyParts) {
    const auto some = all.subspan(begin, std::min(hone::kernels::gpu::kMostCopyParts, all.size() - begin));
    std::vector<hone::kernels::StridedCopyDesc> parts;
    GpuLaunch launch{.source = {}, .entry = hone::kernels::gpu::kStridedCopyEntry};
    for (const NodeCopy& copy : some) {
      parts.push_back(copy.desc);
      launch.parameters.push_back(input_parameter(copy.input));
      launch.parameters.push_back(output_parameter(copy.output));
    }
    auto generated = hone::kernels::gpu::generate_strided_copies(parts);
    if (!generated.ok()) return;
    const auto shape = line_of_blocks(generated->blocks, hone::kernels::gpu::kCopyBlock);
    if (!shape) return;
    launch.shape = *shape;
    launch.source = std::move(generated->source);
    launches.launches.push_back(std::move(launch));
  }
  offer_launches(kernels, "hone copy", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
