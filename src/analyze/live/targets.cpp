#include "analyze/live/targets.h"

#include <algorithm>
#include <optional>
#include <string>

#include "analyze/device/metrics.h"

namespace hone::analyze::live {
namespace {

using trace::live::GpuUse;
using trace::live::HostUse;
using trace::live::Known;

constexpr double kPercent = 100;

Known ratio_of(Known part, Known whole) {
  return part && whole && *whole > 0 ? Known(*part / *whole) : std::nullopt;
}

// Figures of which a recording knows nothing.
template <typename Use>
struct LiveRow {
  const char* name;
  const char* label;
  const char* unit;
  double target;
  bool higher_is_better;
  Known (*value)(const Use&);
  const char* words;
  const char* note;
};

// The pipes' activity is an upper bound of the MFU, and is judged by its target.
const LiveRow<GpuUse> kGpuRows[] = {
    {"gpu_memory_share", "memory used", "%", 95, false,
     [](const GpuUse& gpu) { return ratio_of(gpu.memory_used_bytes, gpu.memory_total_bytes); },
     "memory in use ÷ all of it", "above: allocations fail, or frameworks give memory back and ask again"},
    {"held_by_heat_share", "held back by heat", "%", 1, false,
     [](const GpuUse& gpu) { return gpu.held_by_heat_share; },
     "time in which the temperature held the clocks back", "look at fans, airflow and the neighbours"},
};

const LiveRow<HostUse> kHostRows[] = {
    {"memory_share", "memory used", "%", 95, false,
     [](const HostUse& host) -> Known {
       const Known available = ratio_of(host.memory_available_bytes, host.memory_total_bytes);
       return available ? Known(1 - *available) : std::nullopt;
     },
     "memory that programs cannot get ÷ all of it", "above: the machine starts to swap, or kills programs"},
    {"group_memory_share", "of the group's memory", "%", 95, false,
     [](const HostUse& host) {
       return ratio_of(host.group.memory_used_bytes, host.group.memory_limit_bytes);
     },
     "memory in use ÷ limit of the control group", "above: programs of the container are killed"},
    {"group_cpu_held_share", "held back by the CPU limit", "%", 1, false,
     [](const HostUse& host) { return host.group.held_back_share; },
     "periods in which the control group had used up its CPU limit ÷ all", "threads stand still then"},
    {"cpu_pressure_share", "waits for CPUs", "%", 10, false,
     [](const HostUse& host) { return host.cpu_pressure.some_share; },
     "time in which a task stood in line for a CPU", "more threads than CPUs, or other programs"},
    {"memory_pressure_share", "waits for memory", "%", 1, false,
     [](const HostUse& host) { return host.memory_pressure.some_share; },
     "time in which a task stood still for want of memory", ""},
    {"io_pressure_share", "waits for disks", "%", 10, false,
     [](const HostUse& host) { return host.io_pressure.some_share; },
     "time in which a task stood still for a disk or a network file system", ""},
};

template <typename Use>
void add_row(const LiveRow<Use>& row, const Use& use, std::vector<Metric>& metrics) {
  const Known value = row.value(use);
  if (!value) return;
  Metric metric;
  metric.name = row.name;
  metric.label = row.label;
  metric.value = *value * kPercent;
  metric.unit = row.unit;
  metric.target = row.target;
  metric.higher_is_better = row.higher_is_better;
  metric.formula = row.words;
  metric.note = row.note;
  metrics.push_back(std::move(metric));
}

void add_judged(const char* name, Known share, const char* words, std::vector<Metric>& metrics) {
  if (!share) return;
  Metric metric = device::judged_metric(name, *share * kPercent);
  metric.formula = words;
  metrics.push_back(std::move(metric));
}

}  // namespace

std::vector<Metric> gpu_targets(const GpuUse& gpu) {
  std::vector<Metric> metrics;
  add_judged("gpu_busy_share", gpu.busy_share, "time with a kernel running ÷ time", metrics);
  if (gpu.tensor_share) {
    add_judged("mfu", gpu.tensor_share, "time with the tensor pipes active, over all multiprocessors",
               metrics);
    metrics.back().name = "tensor_pipe_share";
    metrics.back().label = "tensor pipes active";
    metrics.back().note = "an upper bound of the MFU, by whose target it is judged";
  }
  add_judged("dram_utilisation", gpu.dram_share, "bytes moved ÷ what the memory could move", metrics);
  for (const LiveRow<GpuUse>& row : kGpuRows) add_row(row, gpu, metrics);
  if (!gpu.in_use())
    for (Metric& metric : metrics) metric.target.reset();
  return metrics;
}

std::vector<Metric> host_targets(const HostUse& host) {
  std::vector<Metric> metrics;
  for (const LiveRow<HostUse>& row : kHostRows) add_row(row, host, metrics);
  return metrics;
}

const Metric* find_metric(const std::vector<Metric>& metrics, std::string_view name) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) { return metric.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

}  // namespace hone::analyze::live
