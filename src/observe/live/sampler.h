// The whole picture of a machine: the host and, where there are any, its GPUs, joined by process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "observe/nvml/gpu_sampler.h"
#include "observe/system/host_sampler.h"
#include "trace/live/machine_use.h"

namespace hone::observe::live {

// Not thread-safe. Reading takes some 20 µs a process, and some milliseconds a GPU.
class Sampler {
 public:
  explicit Sampler(system::SystemFolders folders = {}, const std::string& nvml = "libnvidia-ml.so.1");

  // What happened since the last call. The first call starts the interval: its picture knows levels, no rates.
  trace::live::MachineUse read();

 private:
  system::HostSampler host_;
  std::optional<nvml::GpuSampler> gpus_;
  std::string no_gpus_;  // why there are none
  int64_t last_ns_ = 0;
};

}  // namespace hone::observe::live
