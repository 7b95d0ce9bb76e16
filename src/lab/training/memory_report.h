// What a training run was foretold to take in memory, and what it took: of the host, and of a device with memory of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "lab/training/fit_memory.h"
#include "lab/training/memory.h"
#include "runtime/device.h"

namespace hone::lab {

// Of a device with memory of its own.
struct DeviceMemoryReport {
  std::string name;                 // "cuda:0"
  std::size_t measured_bytes = 0;   // the most that the run's blocks took together since its plans were made
  std::size_t preparing_bytes = 0;  // and before, while kernels were chosen
  // Of all that there is, at most, by whoever takes it: contexts, libraries and other programs included. None: it does not say.
  std::optional<std::size_t> taken_by_all;
  std::size_t capacity = 0;
};

struct TrainingMemoryReport {
  TrainingMemory predicted;  // before anything of it was taken
  MemoryLimit limit;
  std::size_t kept_bytes = 0;  // that it would need if nothing were computed again
  int recomputed = 0;          // operators of a step that run again so that it fits
  double more_flops = 0;       // of a step, as a share
  // The most that tensors, staging memory included, took while it trained, by the process's account
  // (core/memory_budget.h): on a device with memory of its own the host's part alone.
  std::size_t measured_bytes = 0;
  std::size_t resident_bytes = 0;  // the most of the whole process
  std::optional<DeviceMemoryReport> device;
};

// "42.1 MiB taken at most, 42.6 MiB predicted; the whole process took 160 MiB"; of a device and of the host apart.
std::string measured_memory_text(const TrainingMemoryReport& report);
// As --json has it.
nlohmann::ordered_json memory_report_json(const TrainingMemoryReport& report);

// Counts from when it is made. One at a time in a process: it begins the peaks of the accounts anew.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::shared_ptr<runtime::Device> device);
  // The plans are made: what was taken to choose kernels is no part of the run.
  void prepared();
  // Of the device's blocks, now.
  std::size_t on_device() const;
  void count(TrainingMemoryReport& report);

 private:
  void look_at_all();

  std::shared_ptr<runtime::Device> device_;
  std::size_t host_before_ = 0, device_before_ = 0;
  std::size_t preparing_ = 0;
  std::optional<std::size_t> taken_by_all_;
};

}  // namespace hone::lab
