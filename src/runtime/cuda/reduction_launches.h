// A reduction as launches, for lowerings that need one beside other kernels.
#pragma once

#include <optional>

#include "kernels/cuda/reduce.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {

// Of input 0 into output 0; nullopt where there is no such kernel.
std::optional<GpuLaunches> reduction_launches(const hone::kernels::gpu::ReduceProgram& program);

}  // namespace hone::runtime::cuda_kernels
