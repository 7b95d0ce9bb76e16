#include "plugin/kernels.h"

#include <fmt/core.h>

namespace hone::plugin {
namespace {

template <typename Kernel>
Takers<Kernel> takers_of(const NodeView& view, const Kernel* const* kernels, std::size_t count) {
  Takers<Kernel> takers;
  for (std::size_t i = 0; i < count; ++i) {
    const Kernel& kernel = *kernels[i];
    const Status status = kernel.accepts == nullptr
                              ? Status()
                              : called([&](hone_error* error) { return kernel.accepts(&view.c(), error); });
    if (status.ok())
      takers.kernels.push_back(&kernel);
    else
      takers.refusals += fmt::format("{}'{}' does not take it: {}", takers.refusals.empty() ? "" : "; ",
                                     kernel.name, status.error().message);
  }
  return takers;
}

}  // namespace

Takers<hone_cpu_kernel> cpu_kernels_for(const NodeView& view) {
  const hone_operator& operator_ = *view.custom().interface;
  return takers_of(view, operator_.cpu_kernels, operator_.cpu_kernel_count);
}

Takers<hone_cuda_kernel> cuda_kernels_for(const NodeView& view) {
  const hone_operator& operator_ = *view.custom().interface;
  return takers_of(view, operator_.cuda_kernels, operator_.cuda_kernel_count);
}

Error no_kernel(const graph::CustomOperator& custom, std::string_view device, const std::string& refusals) {
  return unsupported(fmt::format("unsupported: {}: {} ({}) has no kernel for device {}{}{}", custom.name,
                                 plugin_text(custom), custom.file, device,
                                 refusals.empty() ? "" : " that takes this node: ", refusals));
}

Result<const hone_cpu_kernel*> reference_of(const NodeView& view) {
  const hone_operator& operator_ = *view.custom().interface;
  if (operator_.reference != nullptr) {
    const Takers<hone_cpu_kernel> takers = takers_of(view, &operator_.reference, 1);
    if (!takers.kernels.empty()) return operator_.reference;
    return no_kernel(view.custom(), "cpu (the reference)", takers.refusals);
  }
  const Takers<hone_cpu_kernel> takers = cpu_kernels_for(view);
  if (takers.kernels.empty()) return no_kernel(view.custom(), "cpu (as the reference)", takers.refusals);
  return takers.kernels.front();
}

std::string implementation_text(const graph::CustomOperator& custom, const char* kernel) {
  return fmt::format("{}: {}", plugin_text(custom), kernel != nullptr ? kernel : "reference");
}

Status check_scratch(const graph::CustomOperator& custom, const char* kernel, uint64_t bytes) {
  if (bytes <= uint64_t{1} << 47) return {};
  return invalid(fmt::format("{} asks for {} bytes of scratch", implementation_text(custom, kernel), bytes));
}

Result<std::size_t> scratch_bytes_of(const NodeView& view, const hone_cpu_kernel& kernel, int threads) {
  if (kernel.scratch_bytes == nullptr) return std::size_t{0};
  const std::size_t bytes = kernel.scratch_bytes(&view.c(), threads);
  HONE_CHECK(check_scratch(view.custom(), kernel.name, bytes));
  return bytes;
}

Status run_kernel(const NodeView& view, const hone_cpu_kernel& kernel, const hone_cpu_call& call) {
  Status status = called([&](hone_error* error) { return kernel.run(&view.c(), &call, error); });
  if (status.ok()) return status;
  return status.error().within(implementation_text(view.custom(), kernel.name));
}

}  // namespace hone::plugin
