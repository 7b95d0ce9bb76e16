#include "observe/inject/device/cuda_devices.h"

#include <cstring>

#include <dlfcn.h>

namespace hone::observe::inject {
namespace segments = trace::segments;
namespace {

// Numbers of CUdevice_attribute.
constexpr int kMultiprocessorCount = 16, kComputeMajor = 75, kComputeMinor = 76;

struct DriverFunctions {
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(size_t*, int) = nullptr;
  int (*uuid)(void*, int) = nullptr;

  bool load() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return false;
    find(driver, count, "cuDeviceGetCount");
    find(driver, get, "cuDeviceGet");
    find(driver, name, "cuDeviceGetName");
    find(driver, attribute, "cuDeviceGetAttribute");
    find(driver, memory, "cuDeviceTotalMem_v2");
    find(driver, uuid, "cuDeviceGetUuid_v2");
    return count && get && name && attribute && memory;
  }

 private:
  template <typename Function>
  static void find(void* driver, Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(driver, symbol));
  }
};

uint32_t attribute_of(const DriverFunctions& driver, int which, int device) {
  int value = 0;
  return driver.attribute(&value, which, device) == 0 ? static_cast<uint32_t>(value) : 0;
}

}  // namespace

bool write_devices(Output& output) {
  DriverFunctions driver;
  if (!driver.load()) return false;
  int count = 0;
  if (driver.count(&count) != 0) return false;
  for (int index = 0; index < count; ++index) {
    int device = 0;
    char name[256] = {};
    size_t bytes = 0;
    if (driver.get(&device, index) != 0) continue;
    driver.name(name, sizeof(name) - 1, device);
    driver.memory(&bytes, device);
    segments::Device record;
    record.index = static_cast<uint32_t>(index);
    record.name = output.id(name);
    record.compute_major = attribute_of(driver, kComputeMajor, device);
    record.compute_minor = attribute_of(driver, kComputeMinor, device);
    record.multiprocessors = attribute_of(driver, kMultiprocessorCount, device);
    record.memory_bytes = bytes;
    if (driver.uuid) driver.uuid(record.uuid.data(), device);
    output.add(segments::with_head(record));
  }
  return true;
}

void call_driver() {
  static int (*const version)(int*) = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion")) : nullptr;
  }();
  int ignored = 0;
  if (version) version(&ignored);
}

}  // namespace hone::observe::inject
