// Resize of images, nearest and linear (runtime/lower/resize_of_node.h): a generated kernel (kernels/cuda/resize.h).
#include "kernels/cuda/resize.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/lower/resize_of_node.h"

namespace hone::runtime::cuda_kernels {

void lower_resize(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  namespace gpu = hone::kernels::gpu;
  auto known = resize_of_node(context);
  if (!known) return;
  auto generated = gpu::generate_resize(known->desc, context.in(0).dtype);
  if (!generated.ok()) return;
  const auto shape = line_of_blocks(generated->blocks, gpu::kResizeBlock);
  if (!shape) return;
  GpuLaunches launches{.implementation = "hone resize (CUDA)", .unread = std::move(known->unread)};
  launches.launches.push_back({.source = std::move(generated->source),
                               .entry = gpu::kResizeEntry,
                               .shape = *shape,
                               .parameters = {input_parameter(0), output_parameter(0)}});
  offer_launches(kernels, "hone resize", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
