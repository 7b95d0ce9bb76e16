#include "observe/live/sampler.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "core/clock.h"

namespace hone::observe::live {
namespace {

using trace::live::GpuUse;
using trace::live::MachineUse;
using trace::live::ProcessUse;

void take_gpus(nvml::GpuReading reading, MachineUse& use) {
  use.driver = std::move(reading.driver);
  use.gpus = std::move(reading.gpus);
  use.notes.insert(use.notes.end(), reading.notes.begin(), reading.notes.end());
  std::unordered_map<int64_t, std::size_t> place;
  for (std::size_t i = 0; i < use.processes.size(); ++i) place[use.processes[i].pid] = i;
  int hidden = 0;
  for (const auto& [pid, process] : reading.processes) {
    const auto [at, is_new] = place.try_emplace(pid, use.processes.size());
    if (is_new) {
      ProcessUse& row = use.processes.emplace_back();
      row.pid = pid;
      row.visible = false;
      ++hidden;
    }
    ProcessUse& row = use.processes[at->second];
    row.gpu_memory_bytes = process.memory_bytes;
    row.gpu_share = process.share;
    row.gpus = process.gpus;
    for (GpuUse& gpu : use.gpus)
      if (std::find(row.gpus.begin(), row.gpus.end(), gpu.index) != row.gpus.end()) gpu.has_processes = true;
  }
  if (hidden > 0)
    use.notes.push_back(
        "processes: some that use GPUs are not to be seen here (of another container, or hidden)");
}

}  // namespace

Sampler::Sampler(system::SystemFolders folders, const std::string& nvml) : host_(std::move(folders)) {
  Result<nvml::GpuSampler> gpus = nvml::GpuSampler::open(nvml);
  if (gpus.ok())
    gpus_ = std::move(*gpus);
  else
    no_gpus_ = "GPUs: " + gpus.error().message;
}

MachineUse Sampler::read() {
  const int64_t now = now_ns();
  MachineUse use;
  use.interval_s = last_ns_ == 0 ? 0 : static_cast<double>(now - last_ns_) * 1e-9;
  last_ns_ = now;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  use.unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
  host_.read(use.interval_s, use);
  if (gpus_)
    take_gpus(gpus_->read(use.interval_s), use);
  else
    use.notes.push_back(no_gpus_);
  return use;
}

}  // namespace hone::observe::live
