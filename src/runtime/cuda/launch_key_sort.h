// The launches of a sort of keys (kernels/cuda/key_sort.h), for lowerings whose sources have its kernels.
#pragma once

#include "kernels/cuda/key_sort.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {

// `keys`: where they lie. False where a grid does not have as many blocks.
bool launch_key_sort(const cuda::KernelSource& source, const hone::kernels::gpu::KeySort& sort,
                     const GpuParameter& keys, GpuLaunches& launches);

}  // namespace hone::runtime::cuda_kernels
