// Pointwise operators and groups of them on a GPU: one generated kernel each (kernels/cuda/pointwise.h).
#pragma once

#include <memory>
#include <vector>

#include "cuda/kernel_cache.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/lower/lower.h"

namespace hone::runtime::cuda_kernels {

// What kernels are made with. Candidates keep both.
struct GpuKernels {
  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<cuda::KernelCache> cache;
};

void lower_pointwise(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found);

}  // namespace hone::runtime::cuda_kernels
