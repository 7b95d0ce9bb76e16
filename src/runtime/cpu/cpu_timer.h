// Times CPU kernels by the host's clock, with the caches as a step leaves them. Kernels timed in a loop find
// weights and inputs where the last turn left them, and are faster there than in any step.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "core/tensor.h"
#include "runtime/kernel_timer.h"

namespace hone::runtime::cpu {

// What a step touches between two runs of a node: everything else. Reading so much other memory, on all
// threads, pushes out of the caches what a step would push out; what a large cache keeps, it keeps here, too.
class CacheSweep {
 public:
  explicit CacheSweep(std::size_t bytes);  // 0: sweeps nothing
  void run() const;

 private:
  Tensor memory_;
};

// What the caches are swept with for a step of so many bytes: rounded down to a power of two, so that steps
// of about the same size share their timings; nothing for steps that fit the smallest caches.
std::size_t swept_bytes(std::size_t step_bytes, std::size_t cache_bytes);

class CpuTimer : public KernelTimer {
 public:
  // With a team of `threads`.
  CpuTimer(std::shared_ptr<Device> device, int threads, std::size_t step_bytes);

  std::string conditions() const override;
  Result<double> microseconds(Sandbox& sandbox, Kernel& kernel) override;

 private:
  int threads_;
  std::size_t sweep_bytes_;
  std::optional<CacheSweep> sweep_;  // made when first needed
};

}  // namespace hone::runtime::cpu
