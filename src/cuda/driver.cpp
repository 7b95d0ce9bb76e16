#include "cuda/driver.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cuda/library.h"
#include <dlfcn.h>
#include <fmt/format.h>

namespace hone::cuda {
namespace {

struct DriverAdvice {
  DriverCode code;
  std::string_view what_to_do;
};

constexpr std::array kDriverAdvice = {
    DriverAdvice{DriverCode::kOutOfMemory,
                 "close other programs on this GPU (nvidia-smi lists them), or give smaller shapes"},
    DriverAdvice{DriverCode::kStubLibrary,
                 "this is a toolkit's stub: take its folder 'stubs' out of LD_LIBRARY_PATH"},
    DriverAdvice{DriverCode::kDeviceUnavailable,
                 "another process has this GPU to itself (nvidia-smi -q -d COMPUTE)"},
    DriverAdvice{DriverCode::kNoDevice, "the driver sees no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES"},
    DriverAdvice{DriverCode::kNoBinaryForGpu, "the kernel is for another GPU: remove the cache of kernels"},
    DriverAdvice{DriverCode::kEccUncorrectable, "the GPU's memory is damaged: see nvidia-smi -q -d ECC"},
    DriverAdvice{DriverCode::kUnsupportedPtxVersion,
                 "NVRTC is newer than the driver: install a newer driver"},
    DriverAdvice{
        DriverCode::kIllegalAddress,
        "a kernel left its memory, and the context is lost: start anew; compute-sanitizer names the kernel"},
    DriverAdvice{DriverCode::kLaunchFailed,
                 "a kernel failed, and the context is lost: start anew; compute-sanitizer names the kernel"},
    DriverAdvice{DriverCode::kSystemNotReady,
                 "the GPUs' fabric manager is not up: systemctl status nvidia-fabricmanager"},
    DriverAdvice{DriverCode::kSystemDriverMismatch,
                 "the kernel's module and the library are of different drivers: reboot"},
    DriverAdvice{DriverCode::kUnknown, "see dmesg for the driver's own words"},
};

std::string visible_devices() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "CUDA_VISIBLE_DEVICES is not set"
                            : fmt::format("CUDA_VISIBLE_DEVICES is '{}'", visible);
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Result<std::shared_ptr<const Driver>> Driver::load(const std::string& library) {
  // Where the linker does not look: Windows' subsystem for Linux has its driver there.
  FoundLibrary found;
  std::string why;
  for (const std::string& name : {library, "/usr/lib/wsl/lib/" + library}) {
    found.handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    found.path = name;
    if (found.handle != nullptr) break;
    const char* const words = ::dlerror();
    if (why.empty()) why = words == nullptr ? name : words;
  }
  if (found.handle == nullptr)
    return not_found(
        fmt::format("the NVIDIA driver's library is not here ({}); looked in the dynamic linker's folders "
                    "and /usr/lib/wsl/lib; install the GPU's driver (CUDA {} or newer)",
                    why, cuda_version_text(kOldestDriver)));
  std::shared_ptr<Driver> driver(new Driver);
  driver->path_ = found.path;
  HONE_CHECK(take_functions(found, driver->functions_));
  HONE_CHECK(driver->start());
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::start() {
  HONE_CHECK(check(functions_.driver_get_version(&version_), "cuDriverGetVersion"));
  if (version_ < kOldestDriver)
    return unsupported(
        fmt::format("the NVIDIA driver ({}) speaks CUDA {}, hone needs {} or newer: install a newer driver",
                    path_, cuda_version_text(version_), cuda_version_text(kOldestDriver)));
  HONE_CHECK(check(functions_.init(0), "cuInit"));
  HONE_CHECK(check(functions_.device_get_count(&devices_), "cuDeviceGetCount"));
  if (devices_ == 0)
    return not_found(fmt::format("the NVIDIA driver ({}, CUDA {}) sees no GPU ({})", path_,
                                 cuda_version_text(version_), visible_devices()));
  return {};
}

Status Driver::check(DriverCode code, std::string_view call) const {
  if (code == DriverCode::kSuccess) return {};
  const char *name = nullptr, *words = nullptr;
  if (functions_.get_error_name(code, &name) != DriverCode::kSuccess || name == nullptr)
    name = "unknown error";
  if (functions_.get_error_string(code, &words) != DriverCode::kSuccess || words == nullptr)
    words = "no words";
  std::string text = fmt::format("{}: {} ({}, {})", call, name, static_cast<int>(code), words);
  const auto* const advice = std::find_if(kDriverAdvice.begin(), kDriverAdvice.end(),
                                          [&](const DriverAdvice& row) { return row.code == code; });
  if (advice != kDriverAdvice.end()) text += fmt::format("; {}", advice->what_to_do);
  switch (code) {
    case DriverCode::kNoDevice:
    case DriverCode::kInvalidDevice:
    case DriverCode::kNotFound:
      return not_found(std::move(text));
    case DriverCode::kOutOfMemory:
    case DriverCode::kInvalidValue:
      return invalid(std::move(text));
    default:
      return io_error(std::move(text));
  }
}

}  // namespace hone::cuda
