#include "runtime/cuda/gpu_kernels.h"

#include "kernels/cuda/dependent_launch.h"

namespace hone::runtime::cuda_kernels {

Result<LoadedKernel> load_kernel(const GpuKernels& kernels, const cuda::KernelSource& source,
                                 const char* entry) {
  cuda::KernelSource waiting = source;
  waiting.text = kernels::gpu::with_dependent_launch(std::move(waiting.text));
  return load_foreign_kernel(kernels, waiting, entry);
}

Result<LoadedKernel> load_foreign_kernel(const GpuKernels& kernels, const cuda::KernelSource& source,
                                         const char* entry) {
  HONE_ASSIGN(const auto compiled, kernels.cache->get(source));
  HONE_ASSIGN(cuda::Module module, cuda::load_module(kernels.device->context(), compiled->image));
  HONE_ASSIGN(const cuda::FunctionHandle function, cuda::find_function(module, entry));
  return LoadedKernel{std::move(module), function};
}

}  // namespace hone::runtime::cuda_kernels
