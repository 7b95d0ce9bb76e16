// NVML behind one seam: libnvidia-ml.so.1, which comes with the driver, loaded when it is asked for.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "observe/nvml/abi.h"

namespace hone::observe::nvml {

// NVML's functions, by their names without "nvml"; those that an older driver lacks are null.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*handle)(unsigned, Device*) = nullptr;

  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;
  Return (*power_usage)(Device, unsigned*) = nullptr;       // mW
  Return (*power_limit)(Device, unsigned*) = nullptr;       // mW
  Return (*energy)(Device, unsigned long long*) = nullptr;  // mJ since the driver was loaded
  Return (*clock)(Device, int, unsigned*) = nullptr;        // MHz
  Return (*max_clock)(Device, int, unsigned*) = nullptr;    // MHz
  Return (*clock_reasons)(Device, unsigned long long*) = nullptr;
  Return (*temperature)(Device, int, unsigned*) = nullptr;  // °C
  Return (*temperature_threshold)(Device, int, unsigned*) = nullptr;
  Return (*pcie_throughput)(Device, int, unsigned*) = nullptr;  // KB/s; takes 20 ms
  Return (*field_values)(Device, int, FieldValue*) = nullptr;
  Return (*compute_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*graphics_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*process_samples)(Device, ProcessSample*, unsigned*, unsigned long long) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*max_instances)(Device, unsigned*) = nullptr;
  Return (*instance_handle)(Device, unsigned, Device*) = nullptr;
  Return (*instance_id)(Device, unsigned*) = nullptr;

  Return (*gpm_support)(Device, GpmSupport*) = nullptr;
  Return (*gpm_alloc)(GpmSample*) = nullptr;
  Return (*gpm_free)(GpmSample) = nullptr;
  Return (*gpm_sample)(Device, GpmSample) = nullptr;
  Return (*gpm_instance_sample)(Device, unsigned, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetrics*) = nullptr;
};

// NVML loaded and initialised; shut down and unloaded with the object.
class Library {
 public:
  // An error says why there is no NVML: no library, no driver, no permission.
  static Result<std::shared_ptr<const Library>> open(const std::string& name = "libnvidia-ml.so.1");
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions& functions() const { return functions_; }
  // The library's word for `result`.
  std::string words(Return result) const;

 private:
  Library() = default;
  void* handle_ = nullptr;
  bool initialised_ = false;
  Functions functions_;
};

// Calls a function that may be missing.
template <typename Function, typename... Arguments>
Return call(Function* function, Arguments... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

}  // namespace hone::observe::nvml
