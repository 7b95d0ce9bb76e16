// The CUDA provider: plans on one NVIDIA GPU. What it has no kernel for runs on the host, by the reference, and the plan
// says so.
#pragma once

#include "cuda/kernel_cache.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/provider.h"

namespace hone::runtime {

class CudaProvider : public Provider {
 public:
  // GPU number `index`. An error says in one line what is missing (driver, library, version, GPU) and where it was
  // looked for.
  static Result<std::unique_ptr<const Provider>> make(int index);
  // On a context that there is already. `kernels` null: without any of its own, so that all is the reference's; for
  // tests on a driver that runs no kernels.
  CudaProvider(cuda::ContextPointer context, std::shared_ptr<cuda::KernelCache> kernels);

  std::string_view name() const override { return "cuda"; }
  // The GPU, the versions of its driver and of NVRTC.
  std::string signature(Share share) const override;
  std::shared_ptr<Device> device() const override { return device_; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override;
  const graph::Capabilities& capabilities() const override;

 private:
  std::shared_ptr<CudaDevice> device_;
  std::shared_ptr<cuda::KernelCache> kernels_;
  std::string machine_;  // of the signature
};

}  // namespace hone::runtime
