// A libnvidia-ml.so.1 without a GPU, for tests: what it says follows HONE_FAKE_NVML.
//   two    two GPUs with everything, of which the second is idle (default)
//   eight  eight like the first of these
//   old    one GPU without GPM and energy, with memory of version 1 and no shares of processes
//   mig    one GPU divided into two instances
//   lost   two GPUs, of which the second has fallen off the bus
//   hangs  one GPU whose driver does not answer any more from the third look on
//   none   no GPU
//   broken the driver is not loaded
// Processes that nobody has (numbers above the largest that Linux gives) use it, too. Counters grow by the same at each reading, as if a second had passed. HONE_FAKE_NVML_PID is the process that uses
// the first GPU.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "observe/nvml/abi.h"

namespace hone::observe::nvml {

struct DeviceHandle {
  int index = 0;
  int instance = -1;
};
struct GpmSampleData {
  int number = 0;
  int instance = -1;
};

namespace {

constexpr unsigned long long kGib = 1ull << 30;

std::string scenario() {
  const char* name = std::getenv("HONE_FAKE_NVML");
  return name == nullptr ? "two" : name;
}

int gpu_count() {
  if (scenario() == "none") return 0;
  if (scenario() == "eight") return 8;
  return scenario() == "old" || scenario() == "mig" || scenario() == "hangs" ? 1 : 2;
}

DeviceHandle gpus[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
DeviceHandle instances[2] = {{0, 1}, {0, 5}};
std::map<int, int> readings;  // of counters, by GPU
int alive_samples = 0;
int initialised = 0;

bool lost(Device gpu) { return scenario() == "lost" && gpu->index == 1; }
bool idle(Device gpu) { return scenario() == "two" && gpu->index == 1; }
Return state(Device gpu) { return lost(gpu) ? kGpuIsLost : kSuccess; }

Return give(char* to, unsigned size, const std::string& text) {
  if (text.size() + 1 > size) return kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

template <typename T>
Return give(Device gpu, T* to, T value) {
  if (lost(gpu)) return kGpuIsLost;
  if (gpu->instance >= 0) return kNotSupported;
  *to = value;
  return kSuccess;
}

unsigned process() {
  const char* pid = std::getenv("HONE_FAKE_NVML_PID");
  return pid == nullptr ? 4242 : static_cast<unsigned>(std::atoi(pid));
}

double gpm_value(unsigned metric) {
  switch (metric) {
    case kGpmSm:
      return 90;
    case kGpmOccupancy:
      return 30;
    case kGpmInteger:
      return 12;
    case kGpmTensor:
      return 42.5;
    case kGpmDram:
      return 55;
    case kGpmFp64:
      return 0;
    case kGpmFp32:
      return 20;
    case kGpmFp16:
      return 3;
    case kGpmPcieSent:
      return 1024;
    case kGpmPcieReceived:
      return 2048;
    case kGpmNvlinkSent:
      return 10240;
    case kGpmNvlinkReceived:
      return 20480;
    default:
      return -1;
  }
}

}  // namespace
}  // namespace hone::observe::nvml

using namespace hone::observe::nvml;

extern "C" {

Return nvmlInit_v2() {
  if (scenario() == "broken") return kDriverNotLoaded;
  ++initialised;
  return kSuccess;
}
Return nvmlShutdown() {
  --initialised;
  return kSuccess;
}
const char* nvmlErrorString(Return result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kNotSupported:
      return "Not Supported";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
// For tests: what has not been given back.
int fake_nvml_left_over() { return initialised + alive_samples; }

Return nvmlSystemGetDriverVersion(char* to, unsigned size) { return give(to, size, "580.159.04"); }
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpu_count());
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* gpu) {
  *gpu = &gpus[index];
  return kSuccess;
}
Return nvmlDeviceGetName(Device gpu, char* to, unsigned size) {
  if (lost(gpu)) return kGpuIsLost;
  if (gpu->instance >= 0) return give(to, size, "NVIDIA H100 80GB HBM3 MIG 3g.40gb");
  return give(to, size, scenario() == "old" ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H100 80GB HBM3");
}
Return nvmlDeviceGetUUID(Device gpu, char* to, unsigned size) {
  const std::string place =
      std::to_string(gpu->index) + (gpu->instance < 0 ? "" : "-" + std::to_string(gpu->instance));
  return lost(gpu) ? kGpuIsLost : give(to, size, (gpu->instance < 0 ? "GPU-" : "MIG-") + place);
}
Return nvmlDeviceGetPciInfo_v3(Device gpu, PciInfo* to) {
  *to = {};
  std::strcpy(to->bus_id, "00000000:19:00.0");
  return state(gpu);
}
Return nvmlDeviceGetUtilizationRates(Device gpu, Utilization* to) {
  if (scenario() == "hangs" && readings[gpu->index] >= 2) std::this_thread::sleep_for(std::chrono::hours(1));
  return scenario() == "mig" ? kNotSupported
                             : give(gpu, to, idle(gpu) ? Utilization{0, 0} : Utilization{97, 40});
}
Return nvmlDeviceGetMemoryInfo(Device gpu, Memory* to) {
  *to = {80 * kGib, 20 * kGib, 60 * kGib};
  return state(gpu);
}
Return nvmlDeviceGetMemoryInfo_v2(Device gpu, MemoryV2* to) {
  if (scenario() == "old") return kNotSupported;
  if (to->version != kMemoryV2) return 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
  *to = {kMemoryV2, 80 * kGib, kGib, 79 * kGib, 0};
  if (!idle(gpu)) to->used = (gpu->instance < 0 ? 54 : 10) * kGib;
  if (gpu->instance >= 0) to->total = 40 * kGib;
  return state(gpu);
}
Return nvmlDeviceGetPowerUsage(Device gpu, unsigned* to) {
  return give(gpu, to, idle(gpu) ? 70'000u : 612'000u);
}
Return nvmlDeviceGetEnforcedPowerLimit(Device gpu, unsigned* to) { return give(gpu, to, 700'000u); }
Return nvmlDeviceGetTotalEnergyConsumption(Device gpu, unsigned long long* to) {
  if (scenario() == "old") return kNotSupported;
  return give(gpu, to, 1'000'000ull + 650'000ull * static_cast<unsigned>(readings[gpu->index]));
}
Return nvmlDeviceGetClockInfo(Device gpu, int clock, unsigned* to) {
  return give(gpu, to, clock == kClockSm ? 1755u : 2619u);
}
Return nvmlDeviceGetMaxClockInfo(Device gpu, int clock, unsigned* to) {
  return give(gpu, to, clock == kClockSm ? 1980u : 2619u);
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device gpu, unsigned long long* to) {
  return give(gpu, to, idle(gpu) ? kReasonIdle : kReasonPowerCap | kReasonSoftwareThermal);
}

Return nvmlDeviceGetTemperature(Device gpu, int, unsigned* to) { return give(gpu, to, 67u); }
Return nvmlDeviceGetTemperatureThreshold(Device gpu, int, unsigned* to) { return give(gpu, to, 92u); }
Return nvmlDeviceGetPcieThroughput(Device gpu, int counter, unsigned* to) {
  return give(gpu, to, counter == kPcieSent ? 300'000u : 1'200'000u);
}
Return nvmlDeviceGetFieldValues(Device gpu, int count, FieldValue* values) {
  if (lost(gpu)) return kGpuIsLost;
  const auto reading = static_cast<unsigned long long>(++readings[gpu->index]);
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    value.value_type = kUnsignedLongLong;
    value.result = kSuccess;
    unsigned long long& number = value.value.as_unsigned_long_long;
    if (value.field == kFieldHeldByPower)
      number = 840'000'000ull * reading;
    else if (value.field == kFieldHeldByHeat)
      number = 20'000'000ull * reading;
    else if (value.field == kFieldNvlinkSent && value.scope == kAllLinks)
      number = 4ull * 1024 * 1024 * reading;
    else if (value.field == kFieldNvlinkReceived && value.scope == kAllLinks)
      number = 8ull * 1024 * 1024 * reading;
    else
      value.result = kNotSupported;
  }
  return kSuccess;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device gpu, unsigned* count, ProcessInfo* rows) {
  if (lost(gpu)) return kGpuIsLost;
  const unsigned here = idle(gpu) ? 0 : 70;  // more than fit at once
  const unsigned room = *count;
  *count = here;
  if (room < here) return kInsufficientSize;
  for (unsigned i = 0; i < here; ++i) rows[i] = {5'000'000 + i, kNoValue, ~0u, ~0u};
  if (here > 0) rows[0] = {process(), 50 * kGib, ~0u, ~0u};
  return kSuccess;
}
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device gpu, unsigned* count, ProcessInfo* rows) {
  if (idle(gpu) || *count == 0) {
    *count = 0;
    return state(gpu);
  }
  *count = 1;
  rows[0] = {process(), 50 * kGib, ~0u, ~0u};  // computes as well: the same memory
  return state(gpu);
}
Return nvmlDeviceGetProcessUtilization(Device gpu, ProcessSample* samples, unsigned* count,
                                       unsigned long long since) {
  if (scenario() == "old" || scenario() == "mig") return kNotSupported;
  if (idle(gpu)) return kNotFound;
  if (samples == nullptr || *count < 3) {
    *count = 3;
    return kInsufficientSize;
  }
  *count = 3;
  samples[0] = {process(), since, 10, 30, 0, 0};  // known already
  samples[1] = {process(), since + 1, 80, 30, 0, 0};
  samples[2] = {process(), since + 2, 90, 30, 0, 0};
  return kSuccess;
}
Return nvmlDeviceGetMigMode(Device gpu, unsigned* current, unsigned* pending) {
  *current = *pending = scenario() == "mig" ? kMigEnabled : 0;
  return state(gpu);
}
Return nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* count) {
  *count = 7;
  return kSuccess;
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned index, Device* to) {
  if (index != 0 && index != 3) return kNotFound;
  *to = &instances[index == 0 ? 0 : 1];
  return kSuccess;
}
Return nvmlDeviceGetGpuInstanceId(Device gpu, unsigned* to) {
  *to = static_cast<unsigned>(gpu->instance);
  return kSuccess;
}

Return nvmlGpmQueryDeviceSupport(Device gpu, GpmSupport* to) {
  if (to->version != kGpmVersion) return 25;
  to->is_supported = scenario() != "old";
  return state(gpu);
}
Return nvmlGpmSampleAlloc(GpmSample* to) {
  *to = new GpmSampleData;
  ++alive_samples;
  return kSuccess;
}
Return nvmlGpmSampleFree(GpmSample sample) {
  delete sample;
  --alive_samples;
  return kSuccess;
}
Return nvmlGpmSampleGet(Device gpu, GpmSample sample) {
  static int number = 0;
  *sample = {++number, -1};
  return state(gpu);
}
Return nvmlGpmMigSampleGet(Device gpu, unsigned instance, GpmSample sample) {
  if (gpu->instance >= 0) return 2;  // it wants the whole GPU
  const Return result = nvmlGpmSampleGet(gpu, sample);
  sample->instance = static_cast<int>(instance);
  return result;
}
Return nvmlGpmMetricsGet(GpmMetrics* metrics) {
  if (metrics->version != kGpmVersion || metrics->first->number >= metrics->second->number) return 2;
  if (metrics->first->number == 0) return 2;  // never taken
  for (unsigned i = 0; i < metrics->count; ++i) {
    GpmMetric& metric = metrics->metrics[i];
    metric.value = gpm_value(metric.metric) * (metrics->first->instance == 5 ? 0.5 : 1);
    metric.result = kSuccess;
    if (metrics->first->instance >= 0 && metric.metric >= kGpmPcieSent) metric.result = kNotSupported;
  }
  return kSuccess;
}

}  // extern "C"
