#include "observe/nvml/library.h"

#include <array>

#include <dlfcn.h>
#include <fmt/format.h>

namespace hone::observe::nvml {
namespace {

// The first of the names that the library has.
template <typename Function, std::size_t N>
void bind(void* library, Function*& to, const std::array<const char*, N>& names) {
  for (const char* name : names) {
    if (to != nullptr) return;
    to = reinterpret_cast<Function*>(::dlsym(library, name));
  }
}

template <typename Function>
void bind(void* library, Function*& to, const char* name) {
  bind(library, to, std::array{name});
}

Functions bind_all(void* library) {
  Functions f;
  bind(library, f.init, "nvmlInit_v2");
  bind(library, f.shutdown, "nvmlShutdown");
  bind(library, f.error_string, "nvmlErrorString");
  bind(library, f.driver_version, "nvmlSystemGetDriverVersion");
  bind(library, f.count, "nvmlDeviceGetCount_v2");
  bind(library, f.handle, "nvmlDeviceGetHandleByIndex_v2");
  bind(library, f.name, "nvmlDeviceGetName");
  bind(library, f.uuid, "nvmlDeviceGetUUID");
  bind(library, f.pci_info, "nvmlDeviceGetPciInfo_v3");
  bind(library, f.utilization, "nvmlDeviceGetUtilizationRates");
  bind(library, f.memory, "nvmlDeviceGetMemoryInfo");
  bind(library, f.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  bind(library, f.power_usage, "nvmlDeviceGetPowerUsage");
  bind(library, f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  bind(library, f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  bind(library, f.clock, "nvmlDeviceGetClockInfo");
  bind(library, f.max_clock, "nvmlDeviceGetMaxClockInfo");
  bind(library, f.clock_reasons,
       std::array{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  bind(library, f.temperature, "nvmlDeviceGetTemperature");
  bind(library, f.temperature_threshold, "nvmlDeviceGetTemperatureThreshold");
  bind(library, f.pcie_throughput, "nvmlDeviceGetPcieThroughput");
  bind(library, f.field_values, "nvmlDeviceGetFieldValues");
  bind(library, f.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  bind(library, f.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  bind(library, f.process_samples, "nvmlDeviceGetProcessUtilization");
  bind(library, f.mig_mode, "nvmlDeviceGetMigMode");
  bind(library, f.max_instances, "nvmlDeviceGetMaxMigDeviceCount");
  bind(library, f.instance_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
  bind(library, f.instance_id, "nvmlDeviceGetGpuInstanceId");
  bind(library, f.gpm_support, "nvmlGpmQueryDeviceSupport");
  bind(library, f.gpm_alloc, "nvmlGpmSampleAlloc");
  bind(library, f.gpm_free, "nvmlGpmSampleFree");
  bind(library, f.gpm_sample, "nvmlGpmSampleGet");
  bind(library, f.gpm_instance_sample, "nvmlGpmMigSampleGet");
  bind(library, f.gpm_metrics, "nvmlGpmMetricsGet");
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
  library->functions_ = bind_all(library->handle_);
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
