#include "observe/nvml/gpu_sampler.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "observe/system/text_fields.h"

namespace hone::observe::nvml {
namespace {

using system::rate;
using trace::live::ClockReason;
using trace::live::GpuUse;
using trace::live::Known;

constexpr std::array<std::pair<unsigned long long, ClockReason>, 9> kReasonBits = {{
    {kReasonIdle, ClockReason::kIdle},
    {kReasonApplicationClocks, ClockReason::kApplicationClocks},
    {kReasonPowerCap, ClockReason::kPowerCap},
    {kReasonHardwareSlowdown, ClockReason::kHardwareSlowdown},
    {kReasonSyncBoost, ClockReason::kSyncBoost},
    {kReasonSoftwareThermal, ClockReason::kSoftwareThermal},
    {kReasonHardwareThermal, ClockReason::kHardwareThermal},
    {kReasonPowerBrake, ClockReason::kPowerBrake},
    {kReasonDisplayClocks, ClockReason::kDisplayClocks},
}};

std::optional<int64_t> number_of(const FieldValue& field) {
  if (field.result != kSuccess) return std::nullopt;
  switch (field.value_type) {
    case kDouble:
      return static_cast<int64_t>(field.value.as_double);
    case kUnsigned:
      return field.value.as_unsigned;
    case kUnsignedLong:
      return static_cast<int64_t>(field.value.as_unsigned_long);
    case kUnsignedLongLong:
      return static_cast<int64_t>(field.value.as_unsigned_long_long);
    case kSignedLongLong:
      return field.value.as_signed_long_long;
    case kSigned:
      return field.value.as_signed;
    case kUnsignedShort:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

Known share_of_time(std::optional<int64_t> before_ns, std::optional<int64_t> now_ns, double seconds) {
  const Known share = rate(before_ns, now_ns, seconds, 1e-9);
  return share ? Known(std::min(1.0, *share)) : std::nullopt;
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& buffer) {
  return {buffer.data(), std::find(buffer.begin(), buffer.end(), '\0')};
}

std::string title(const GpuUse& use) {
  return use.instance < 0 ? fmt::format("{}", use.index) : fmt::format("{}/{}", use.index, use.instance);
}

}  // namespace

// What could not be had of a GPU, and why; GPUs that lack the same are named together.
class GpuSampler::Missing {
 public:
  explicit Missing(const Library& library) : library_(library) {}

  // Whether the call succeeded; if not, `what` is missing of `gpu`.
  bool got(const GpuUse& gpu, const char* what, Return result) {
    if (result != kSuccess) why_[title(gpu)][library_.words(result)].push_back(what);
    return result == kSuccess;
  }
  void add(const GpuUse& gpu, const char* what, const std::string& why) {
    why_[title(gpu)][why].emplace_back(what);
  }

  std::vector<std::string> notes() const {
    std::map<std::string, std::vector<std::string>> gpus_of;  // by what is said of them
    for (const auto& [gpu, reasons] : why_)
      for (const auto& [why, what] : reasons)
        gpus_of[fmt::format("{}: {}", fmt::join(what, ", "), why)].push_back(gpu);
    std::vector<std::string> lines;
    for (const auto& [text, gpus] : gpus_of)
      lines.push_back(
          fmt::format("GPU{} {}: not known: {}", gpus.size() > 1 ? "s" : "", fmt::join(gpus, ", "), text));
    return lines;
  }

 private:
  const Library& library_;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> why_;  // gpu → why → what
};

Result<GpuSampler> GpuSampler::open(const std::string& name) {
  GpuSampler sampler;
  HONE_ASSIGN(sampler.library_, Library::open(name));
  const Functions& f = sampler.library_->functions();
  std::array<char, 96> driver{};
  if (call(f.driver_version, driver.data(), static_cast<unsigned>(driver.size() - 1)) == kSuccess)
    sampler.driver_ = text_of(driver);
  unsigned count = 0;
  if (const Return result = f.count(&count); result != kSuccess)
    return io_error(fmt::format("the NVIDIA driver does not say how many GPUs there are: {}",
                                sampler.library_->words(result)));
  if (count == 0) return not_found("the NVIDIA driver sees no GPU");
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (const Return result = f.handle(i, &device); result == kSuccess)
      sampler.add(device, static_cast<int>(i));
    else
      sampler.notes_.push_back(fmt::format("GPU {}: {}", i, sampler.library_->words(result)));
  }
  return sampler;
}

void GpuSampler::add(Device device, int index) {
  const Functions& f = library_->functions();
  Gpu gpu;
  gpu.device = device;
  gpu.identity.index = index;
  std::array<char, 128> text{};
  if (call(f.name, device, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
    gpu.identity.name = text_of(text);
  if (call(f.uuid, device, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
    gpu.identity.uuid = text_of(text);
  PciInfo pci{};
  if (call(f.pci_info, device, &pci) == kSuccess)
    gpu.identity.pci_bus_id = text_of(std::to_array(pci.bus_id));
  unsigned current = 0, pending = 0;
  gpu.identity.divided = call(f.mig_mode, device, &current, &pending) == kSuccess && current == kMigEnabled;
  const GpuUse identity = gpu.identity;
  start_gpm(gpu, device);
  gpus_.push_back(std::move(gpu));
  if (identity.divided) add_instances(device, identity);
}

void GpuSampler::add_instances(Device device, const GpuUse& whole) {
  const Functions& f = library_->functions();
  unsigned most = 0;
  if (call(f.max_instances, device, &most) != kSuccess) return;
  for (unsigned i = 0; i < most; ++i) {
    Gpu gpu;
    unsigned id = 0;
    if (call(f.instance_handle, device, i, &gpu.device) != kSuccess) continue;  // there is none at this place
    if (call(f.instance_id, gpu.device, &id) != kSuccess) continue;
    gpu.identity.index = whole.index;
    gpu.identity.instance = static_cast<int>(id);
    gpu.identity.name = whole.name;
    std::array<char, 128> text{};
    if (call(f.name, gpu.device, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
      gpu.identity.name = text_of(text);
    if (call(f.uuid, gpu.device, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
      gpu.identity.uuid = text_of(text);
    start_gpm(gpu, device);
    gpus_.push_back(std::move(gpu));
  }
}

void GpuSampler::start_gpm(Gpu& gpu, Device counted) {
  Result<GpmReader> reader = GpmReader::open(library_, counted, gpu.identity.instance);
  if (reader.ok())
    gpu.gpm = std::move(*reader);
  else
    gpu.no_gpm = reader.error().message;
}

GpuReading GpuSampler::read(double seconds) {
  GpuReading reading;
  reading.driver = driver_;
  reading.notes = notes_;
  Missing missing(*library_);
  for (Gpu& gpu : gpus_) reading.gpus.push_back(read_one(gpu, seconds, reading, missing));
  for (const std::string& note : missing.notes()) reading.notes.push_back(note);
  return reading;
}

GpuUse GpuSampler::read_one(Gpu& gpu, double seconds, GpuReading& reading, Missing& missing) {
  constexpr double kShortestMean = 0.5;  // s: the driver counts energy every 20 to 100 ms
  GpuUse use = gpu.identity;
  read_levels(gpu, use, missing);
  if (!gpu.gpm)
    missing.add(use, "tensor cores, memory bandwidth, pipes", gpu.no_gpm);
  else if (const Status status = gpu.gpm->read(use); !status.ok())
    missing.add(use, "tensor cores, memory bandwidth, pipes", status.error().message);
  if (use.instance < 0) {
    const Counters now = read_counters(gpu);
    if (const Known mean = rate(gpu.last.energy_mj, now.energy_mj, seconds, 1e-3);
        mean && seconds > kShortestMean)
      use.power_w = mean;
    use.held_by_power_share = share_of_time(gpu.last.held_by_power_ns, now.held_by_power_ns, seconds);
    use.held_by_heat_share = share_of_time(gpu.last.held_by_heat_ns, now.held_by_heat_ns, seconds);
    read_links(gpu, now, seconds, use);
    gpu.last = now;
    read_processes(gpu, seconds, reading, missing);
  }
  return use;
}

// What stands now. Of an instance only its memory is its own.
void GpuSampler::read_levels(const Gpu& gpu, GpuUse& use, Missing& missing) {
  const Functions& f = library_->functions();
  MemoryV2 memory{kMemoryV2, 0, 0, 0, 0};
  Memory memory_v1{};
  if (call(f.memory_v2, gpu.device, &memory) == kSuccess) {
    use.memory_used_bytes = static_cast<double>(memory.used);
    use.memory_total_bytes = static_cast<double>(memory.total);
  } else if (missing.got(use, "memory", call(f.memory, gpu.device, &memory_v1))) {
    use.memory_used_bytes = static_cast<double>(memory_v1.used);
    use.memory_total_bytes = static_cast<double>(memory_v1.total);
  }
  if (use.instance >= 0) return;
  Utilization utilization{};
  if (use.divided)
    missing.add(use, "busy", "the driver does not say it of a divided GPU (MIG)");
  else if (missing.got(use, "busy", call(f.utilization, gpu.device, &utilization)))
    use.busy_share = utilization.gpu * 0.01;
  unsigned value = 0;
  if (missing.got(use, "power", call(f.power_usage, gpu.device, &value))) use.power_w = value * 1e-3;
  if (missing.got(use, "power limit", call(f.power_limit, gpu.device, &value)))
    use.power_limit_w = value * 1e-3;
  if (missing.got(use, "clocks", call(f.clock, gpu.device, kClockSm, &value))) use.sm_clock_mhz = value;
  if (call(f.clock, gpu.device, kClockMemory, &value) == kSuccess) use.memory_clock_mhz = value;
  if (call(f.max_clock, gpu.device, kClockSm, &value) == kSuccess) use.sm_clock_max_mhz = value;
  if (call(f.max_clock, gpu.device, kClockMemory, &value) == kSuccess) use.memory_clock_max_mhz = value;
  if (missing.got(use, "temperature", call(f.temperature, gpu.device, kSensorGpu, &value)))
    use.temperature_c = value;
  if (call(f.temperature_threshold, gpu.device, kThresholdSlowdown, &value) == kSuccess)
    use.slowdown_temperature_c = value;
  unsigned long long bits = 0;
  if (missing.got(use, "why clocks are low", call(f.clock_reasons, gpu.device, &bits))) {
    use.clock_reasons.emplace();
    for (const auto& [bit, reason] : kReasonBits)
      if ((bits & bit) != 0) use.clock_reasons->push_back(reason);
  }
}

GpuSampler::Counters GpuSampler::read_counters(const Gpu& gpu) {
  const Functions& f = library_->functions();
  Counters counters;
  unsigned long long energy = 0;
  if (call(f.energy, gpu.device, &energy) == kSuccess) counters.energy_mj = static_cast<int64_t>(energy);
  struct Place {
    unsigned field, scope;
    std::optional<int64_t>* to;
  };
  const std::array<Place, 6> places = {{{kFieldHeldByPower, 0, &counters.held_by_power_ns},
                                        {kFieldHeldByHeat, 0, &counters.held_by_heat_ns},
                                        {kFieldNvlinkSent, kAllLinks, &counters.nvlink_sent_kib},
                                        {kFieldNvlinkReceived, kAllLinks, &counters.nvlink_received_kib},
                                        {kFieldPcieSent, 0, &counters.pcie_sent},
                                        {kFieldPcieReceived, 0, &counters.pcie_received}}};
  std::array<FieldValue, places.size()> values{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    values[i].field = places[i].field;
    values[i].scope = places[i].scope;
    values[i].result = kUnknown;
  }
  if (call(f.field_values, gpu.device, static_cast<int>(values.size()), values.data()) != kSuccess)
    return counters;
  for (std::size_t i = 0; i < places.size(); ++i) *places[i].to = number_of(values[i]);
  return counters;
}

// Where GPM has not said it: by counters, and PCIe by a measurement of the driver's own.
void GpuSampler::read_links(Gpu& gpu, const Counters& now, double seconds, GpuUse& use) {
  constexpr double kKib = 1024, kKilobyte = 1000;
  if (!use.nvlink.known()) {
    use.nvlink.sent = rate(gpu.last.nvlink_sent_kib, now.nvlink_sent_kib, seconds, kKib);
    use.nvlink.received = rate(gpu.last.nvlink_received_kib, now.nvlink_received_kib, seconds, kKib);
  }
  if (use.pcie.known()) return;
  use.pcie.sent = rate(gpu.last.pcie_sent, now.pcie_sent, seconds);
  use.pcie.received = rate(gpu.last.pcie_received, now.pcie_received, seconds);
  if (use.pcie.known() || gpu.gpm || !(seconds > 0)) return;
  const Functions& f = library_->functions();
  unsigned value = 0;
  if (call(f.pcie_throughput, gpu.device, kPcieSent, &value) == kSuccess) use.pcie.sent = value * kKilobyte;
  if (call(f.pcie_throughput, gpu.device, kPcieReceived, &value) == kSuccess)
    use.pcie.received = value * kKilobyte;
}

void GpuSampler::read_processes(Gpu& gpu, double seconds, GpuReading& reading, Missing& missing) {
  const Functions& f = library_->functions();
  std::set<int64_t> seen;
  const auto take = [&](auto* list, const char* what) {
    std::vector<ProcessInfo> rows(64);
    auto count = static_cast<unsigned>(rows.size());
    Return result = call(list, gpu.device, &count, rows.data());
    if (result == kInsufficientSize) {
      rows.resize(count + 64);  // more may start meanwhile
      count = static_cast<unsigned>(rows.size());
      result = call(list, gpu.device, &count, rows.data());
    }
    if (what != nullptr && !missing.got(gpu.identity, what, result)) return;
    if (result != kSuccess) return;
    rows.resize(std::min<std::size_t>(count, rows.size()));
    for (const ProcessInfo& row : rows) {
      if (!seen.insert(row.pid).second) continue;  // computes and draws
      GpuProcess& process = reading.processes[row.pid];
      process.gpus.push_back(gpu.identity.index);
      if (row.used_memory != kNoValue)
        process.memory_bytes = process.memory_bytes.value_or(0) + static_cast<double>(row.used_memory);
    }
  };
  take(f.compute_processes, "processes");
  take(f.graphics_processes, nullptr);
  read_process_shares(gpu, seconds, reading);
}

// The driver keeps samples of some seconds; those that it has given before, and those from before the first look, are of
// no interval.
void GpuSampler::read_process_shares(Gpu& gpu, double seconds, GpuReading& reading) {
  const Functions& f = library_->functions();
  unsigned count = 0;
  call(f.process_samples, gpu.device, static_cast<ProcessSample*>(nullptr), &count, gpu.last_sample_us);
  if (count == 0) return;
  std::vector<ProcessSample> samples(count);
  if (call(f.process_samples, gpu.device, samples.data(), &count, gpu.last_sample_us) != kSuccess) return;
  samples.resize(std::min<std::size_t>(count, samples.size()));
  std::map<int64_t, std::pair<double, int>> sums;
  const unsigned long long since = gpu.last_sample_us;
  for (const ProcessSample& sample : samples) {
    if (sample.time_us <= since) continue;
    gpu.last_sample_us = std::max(gpu.last_sample_us, sample.time_us);
    auto& [sum, number] = sums[sample.pid];
    sum += sample.sm * 0.01;
    ++number;
  }
  if (!(seconds > 0)) return;
  for (const auto& [pid, sum] : sums) {
    const auto process = reading.processes.find(pid);
    if (process != reading.processes.end())
      process->second.share = process->second.share.value_or(0) + sum.first / sum.second;
  }
}

Result<GpuReading> read_gpus(const std::string& library) {
  HONE_ASSIGN(GpuSampler sampler, GpuSampler::open(library));
  return sampler.read(0);
}

}  // namespace hone::observe::nvml
