// CUDA's driver behind one seam: libcuda.so.1, which comes with the GPU's driver, loaded when it is first asked for.
// Every call's result goes through check(), so that an error names the call, CUDA's word for it and what to do.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cuda/driver_abi.h"

#include "core/result.h"

namespace hone::cuda {

// The oldest that hone works with: CUDA 12.0 (driver 525).
inline constexpr int kOldestDriver = 12000;

// Loaded and initialised, with at least one GPU. Thread-safe; never unloaded.
class Driver {
 public:
  // An error says in one line what is missing (library, driver, its version, a GPU) and where it was looked for.
  static Result<std::shared_ptr<const Driver>> load(const std::string& library = "libcuda.so.1");

  const DriverFunctions& functions() const { return functions_; }
  int version() const { return version_; }  // of CUDA, as the driver speaks it: 13000
  int devices() const { return devices_; }

  // `call`: the function's name, with what it was for: "cuMemAlloc of 3 GiB".
  Status check(DriverCode code, std::string_view call) const;

 private:
  Driver() = default;
  Status start();

  DriverFunctions functions_;
  std::string path_;
  int version_ = 0, devices_ = 0;
};

// "13.0" of 13000.
std::string cuda_version_text(int version);

}  // namespace hone::cuda
