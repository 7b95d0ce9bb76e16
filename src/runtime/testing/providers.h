// Providers for tests, which have no use for an error: it is thrown.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "cuda/testing/fake_driver.h"

#include "runtime/cuda/cuda_provider.h"
#include "runtime/make_provider.h"

namespace hone::runtime::testing {

// The CUDA provider over a driver that runs no kernels (cuda/testing/fake_driver.h): memory, streams, events and graphs as
// on a GPU, every operator by the reference; and the same with a cuBLASLt and a cuDNN that compute
// (cuda/testing/fake_blas_lt.cpp, fake_cudnn.cpp).
inline constexpr const char* kCudaWithoutGpu = "cuda_without_gpu";
inline constexpr const char* kCudaWithProducts = "cuda_with_products_without_gpu";

// And with generated kernels as well, which the host runs thread by thread (cuda/testing/fake_nvrtc.cpp).
inline constexpr const char* kCudaOnHost = "cuda_on_the_host";

inline std::shared_ptr<const Provider> cuda_without_gpu(bool products, bool generated) {
  const cuda::ContextPointer context = cuda::testing::fake_context();
  cuda_kernels::GpuKernels kernels{
      .device = std::make_shared<CudaDevice>(context, cuda::testing::fake_places()),
      .cache = {},
      .products = {}};
  if (products) {
    kernels.products = cuda::testing::fake_products(context);
    kernels.cudnn = std::make_shared<JudgedGraphs>(cuda::testing::fake_cudnn(context));
  }
  if (generated) kernels.cache = cuda::testing::kernels_of_the_host();
  return std::make_shared<CudaProvider>(std::move(kernels));
}

inline std::shared_ptr<const Provider> provider_named(std::string_view name, int threads = 0) {
  if (name == kCudaWithoutGpu || name == kCudaWithProducts || name == kCudaOnHost)
    return cuda_without_gpu(name != kCudaWithoutGpu, name == kCudaOnHost);
  auto made = make_provider(name, {.threads = threads});
  if (!made.ok()) throw std::logic_error(made.error().message);
  return *std::move(made);
}
// For parameters of tests that run on every device: "cuda" where there is a GPU, and else no test that would be skipped.
inline std::vector<const char*> gpu_providers() {
  if (make_provider("cuda").ok()) return {"cuda"};
  return {};
}

inline std::shared_ptr<const Provider> cpu_provider(int threads = 0) {
  return provider_named("cpu", threads);
}

}  // namespace hone::runtime::testing
