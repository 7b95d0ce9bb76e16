#include "observe/nvml/library.h"

#include <array>

#include <dlfcn.h>
#include <fmt/format.h>

namespace hone::observe::nvml {
namespace {

// The first of the names that the library has. Not called bind: with an argument of namespace std, std::bind would be
// the better match wherever <functional> is known.
template <typename Function, std::size_t N>
void take_first(void* library, Function*& to, const std::array<const char*, N>& names) {
  for (const char* name : names) {
    if (to != nullptr) return;
    to = reinterpret_cast<Function*>(::dlsym(library, name));
  }
}

template <typename Function>
void take(void* library, Function*& to, const char* name) {
  take_first(library, to, std::array{name});
}

Functions take_all(void* library) {
  Functions f;
  take(library, f.init, "nvmlInit_v2");
  take(library, f.shutdown, "nvmlShutdown");
  take(library, f.error_string, "nvmlErrorString");
  take(library, f.driver_version, "nvmlSystemGetDriverVersion");
  take(library, f.count, "nvmlDeviceGetCount_v2");
  take(library, f.handle, "nvmlDeviceGetHandleByIndex_v2");
  take(library, f.name, "nvmlDeviceGetName");
  take(library, f.uuid, "nvmlDeviceGetUUID");
  take(library, f.pci_info, "nvmlDeviceGetPciInfo_v3");
  take(library, f.utilization, "nvmlDeviceGetUtilizationRates");
  take(library, f.memory, "nvmlDeviceGetMemoryInfo");
  take(library, f.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  take(library, f.power_usage, "nvmlDeviceGetPowerUsage");
  take(library, f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  take(library, f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  take(library, f.clock, "nvmlDeviceGetClockInfo");
  take(library, f.max_clock, "nvmlDeviceGetMaxClockInfo");
  take_first(
      library, f.clock_reasons,
      std::array{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  take(library, f.temperature, "nvmlDeviceGetTemperature");
  take(library, f.temperature_threshold, "nvmlDeviceGetTemperatureThreshold");
  take(library, f.pcie_throughput, "nvmlDeviceGetPcieThroughput");
  take(library, f.field_values, "nvmlDeviceGetFieldValues");
  take(library, f.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  take(library, f.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  take(library, f.process_samples, "nvmlDeviceGetProcessUtilization");
  take(library, f.mig_mode, "nvmlDeviceGetMigMode");
  take(library, f.max_instances, "nvmlDeviceGetMaxMigDeviceCount");
  take(library, f.instance_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
  take(library, f.instance_id, "nvmlDeviceGetGpuInstanceId");
  take(library, f.gpm_support, "nvmlGpmQueryDeviceSupport");
  take(library, f.gpm_alloc, "nvmlGpmSampleAlloc");
  take(library, f.gpm_free, "nvmlGpmSampleFree");
  take(library, f.gpm_sample, "nvmlGpmSampleGet");
  take(library, f.gpm_instance_sample, "nvmlGpmMigSampleGet");
  take(library, f.gpm_metrics, "nvmlGpmMetricsGet");
  return f;
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::open(const std::string& name) {
  std::shared_ptr<Library> library(new Library);
  library->handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    const char* why = ::dlerror();
    return not_found(
        fmt::format("the NVIDIA driver's library is not here ({})", why == nullptr ? name : why));
  }
  library->functions_ = take_all(library->handle_);
  const Functions& f = library->functions_;
  if (f.init == nullptr || f.count == nullptr || f.handle == nullptr)
    return unsupported(fmt::format("{} lacks nvmlInit_v2: the NVIDIA driver is too old", name));
  if (const Return result = f.init(); result != kSuccess)
    return io_error(fmt::format("the NVIDIA driver's library does not start: {}", library->words(result)));
  library->initialised_ = true;
  return std::shared_ptr<const Library>(std::move(library));
}

Library::~Library() {
  if (initialised_) call(functions_.shutdown);
  if (handle_ != nullptr) ::dlclose(handle_);
}

std::string Library::words(Return result) const {
  if (result == kFunctionNotFound) return "this driver does not offer it";
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(result);
  return text == nullptr ? fmt::format("error {}", result) : text;
}

}  // namespace hone::observe::nvml
