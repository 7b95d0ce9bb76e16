// What calls into a device's runtime or driver do to the host, and kernels of collectives: by their names,
// which all recorders share.
#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace hone::trace {

// kSynchronization for calls that wait for the device, kAllocation for memory taken or given back, else
// kRuntime.
Category runtime_call_category(std::string_view name);

bool is_collective_kernel(std::string_view name);
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)": "allreduce".
std::string collective_of_kernel(std::string_view name);

}  // namespace hone::trace
