// The GPUs' part of the picture, by NVML: what each did since the last look, and which processes use it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "observe/nvml/gpm.h"
#include "observe/nvml/library.h"
#include "trace/live/machine_use.h"

namespace hone::observe::nvml {

// What a process does on GPUs.
struct GpuProcess {
  trace::live::Known memory_bytes, share;  // over all its GPUs
  std::vector<int> gpus;
};

struct GpuReading {
  std::string driver;  // "580.159.04"
  std::vector<trace::live::GpuUse> gpus;
  std::map<int64_t, GpuProcess> processes;  // by process
  std::vector<std::string> notes;           // what these GPUs or this driver do not say
};

// Not thread-safe.
class GpuSampler {
 public:
  // An error says why there are no GPUs to be seen.
  static Result<GpuSampler> open(const std::string& library = "libnvidia-ml.so.1");

  // `seconds` since the last call; the first call knows levels, no rates. Takes some milliseconds a GPU.
  GpuReading read(double seconds);

 private:
  struct Counters {  // that only grow
    std::optional<int64_t> energy_mj, held_by_power_ns, held_by_heat_ns;
    std::optional<int64_t> nvlink_sent_kib, nvlink_received_kib, pcie_sent, pcie_received;
  };
  struct Gpu {
    Device device = nullptr;
    trace::live::GpuUse identity;  // what does not change
    std::optional<GpmReader> gpm;
    std::string no_gpm;  // why
    Counters last;
    unsigned long long last_sample_us = 0;
  };
  class Missing;

  GpuSampler() = default;
  void add(Device device, int index);
  void add_instances(Device device, const trace::live::GpuUse& whole);
  void start_gpm(Gpu& gpu, Device counted);
  trace::live::GpuUse read_one(Gpu& gpu, double seconds, GpuReading& reading, Missing& missing);
  void read_levels(const Gpu& gpu, trace::live::GpuUse& use, Missing& missing);
  Counters read_counters(const Gpu& gpu);
  void read_links(Gpu& gpu, const Counters& now, double seconds, trace::live::GpuUse& use);
  void read_processes(Gpu& gpu, double seconds, GpuReading& reading, Missing& missing);
  void read_process_shares(Gpu& gpu, double seconds, GpuReading& reading);

  std::shared_ptr<const Library> library_;
  std::string driver_;
  std::vector<Gpu> gpus_;
  std::vector<std::string> notes_;  // on GPUs that could not be opened
};

// One look, without rates: what GPUs there are, their limits and clocks, the driver. For the record of a run.
Result<GpuReading> read_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace hone::observe::nvml
