// Which kernels of a plugin take a node, why the others do not, and one run of one on the host. Providers make kernels of
// plans of them (runtime/cpu/lower_plugin.cpp, runtime/cuda/lower_plugin.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/node_view.h"

namespace hone::plugin {

template <typename Kernel>
struct Takers {
  std::vector<const Kernel*> kernels;  // in the plugin's order
  std::string refusals;  // "'a' does not take it: only f32; 'b' …"; empty where there are none
};

// `view` has all inputs and outputs, their extents known.
Takers<hone_cpu_kernel> cpu_kernels_for(const NodeView& view);
Takers<hone_cuda_kernel> cuda_kernels_for(const NodeView& view);

// That nothing of the plugin's runs the node on `device`.
Error no_kernel(const graph::CustomOperator& custom, std::string_view device, const std::string& refusals);

// The kernel that numbers are compared with: the operator's reference, or its first CPU kernel that takes the node.
Result<const hone_cpu_kernel*> reference_of(const NodeView& view);

// "plugin msda 1.0.2: by rows": what runs, for people and traces.
std::string implementation_text(const graph::CustomOperator& custom, const char* kernel);

// How much memory a call of it takes beside its tensors; an error where that is more than an address space holds.
Result<std::size_t> scratch_bytes_of(const NodeView& view, const hone_cpu_kernel& kernel, int threads);
Status check_scratch(const graph::CustomOperator& custom, const char* kernel, uint64_t bytes);

Status run_kernel(const NodeView& view, const hone_cpu_kernel& kernel, const hone_cpu_call& call);

}  // namespace hone::plugin
