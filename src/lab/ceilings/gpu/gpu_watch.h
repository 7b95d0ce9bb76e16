// What NVML says of one GPU while something runs on it.
#pragma once

#include <optional>
#include <string>

#include "observe/nvml/gpu_sampler.h"

namespace hone::lab {

// Nothing where there is no NVML, or where it does not tell.
struct GpuState {
  std::optional<double> sm_mhz, watts;
};

// One GPU by NVML, found by its place on the bus: NVML and CUDA count differently. Knows nothing where there is no NVML.
class GpuWatch {
 public:
  explicit GpuWatch(const std::string& pci_bus_id);
  // Its power is the mean since the last call, where half a second has passed and the driver counts energy; that of the
  // moment otherwise. Takes some milliseconds.
  GpuState now();
  // Why nothing is known; empty where something is.
  const std::string& note() const { return note_; }

 private:
  std::optional<observe::nvml::GpuSampler> sampler_;
  std::string bus_;  // as both write it: "19:00.0"
  std::string note_;
  int64_t last_ns_ = 0;
};

}  // namespace hone::lab
