// The CUDA provider: plans on one NVIDIA GPU. What it has no kernel for runs on the host, by the reference, and the plan
// says so.
#pragma once

#include "runtime/cuda/gpu_kernels.h"
#include "runtime/provider.h"

namespace hone::runtime {

class CudaProvider : public Provider {
 public:
  // Whether there is a GPU, without taking it. An error: there is one, and what it takes to compute on it is missing.
  static Result<bool> finds_gpu(const std::string& driver = "libcuda.so.1",
                                const cuda::LibraryPlaces& places = cuda::LibraryPlaces::of_this_process());
  // GPU number `index`. An error says in one line what is missing (driver, library, version, GPU) and where it was
  // looked for.
  static Result<std::unique_ptr<const Provider>> make(int index);
  // With what it is given; without `cache`, `products` or `cudnn` there are no such kernels, and the reference stands in: for tests
  // on a driver that runs none.
  explicit CudaProvider(cuda_kernels::GpuKernels kernels);

  std::string_view name() const override { return "cuda"; }
  // The GPU, the versions of its driver and of NVIDIA's libraries.
  std::string signature(Share share) const override;
  std::vector<Trait> traits() const override;
  std::shared_ptr<Device> device() const override { return kernels_.device; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override;
  const graph::Capabilities& capabilities() const override { return takes_; }
  // Streams. More of them gain nothing: what has so little to do ends before the fifth is launched.
  int lanes() const override { return 4; }
  double longest_in_lane_us() const override;
  bool compiles() const override { return true; }

 private:
  cuda_kernels::GpuKernels kernels_;
  std::string machine_;  // of the signature
  graph::Capabilities takes_;
};

}  // namespace hone::runtime
