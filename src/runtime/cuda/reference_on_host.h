// What the GPU has no kernel for yet: the reference kernel on the host, between a copy out of the device and one back,
// in the queue's order and without anybody waiting for it. Correct and slow; the plan says so of each.
#pragma once

#include "graph/graph.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/provider.h"

namespace hone::runtime::cuda_kernels {

// Keeps all that it needs of `graph`. `why` there is no kernel, where somebody said so, is told with the kernel's name.
Candidate reference_on_host(std::shared_ptr<CudaDevice> device, const graph::Graph& graph,
                            const graph::Node& node, std::string why = {});

}  // namespace hone::runtime::cuda_kernels
