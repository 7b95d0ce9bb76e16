// GPU performance monitoring (GPM, Hopper and newer): averages over an interval of what the multiprocessors,
// the memory and the links did.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "observe/nvml/library.h"
#include "trace/live/machine_use.h"

namespace hone::observe::nvml {

// The counters of one GPU, or of one instance of a divided GPU.
class GpmReader {
 public:
  // `instance` below 0: the whole GPU. An error where the GPU or the driver has no GPM.
  static Result<GpmReader> open(std::shared_ptr<const Library> library, Device gpu, int instance);
  GpmReader(GpmReader&& other) noexcept;
  GpmReader& operator=(GpmReader&& other) noexcept;
  ~GpmReader();

  // Fills what happened since the last call; the first call fills nothing. An error says why it could not.
  Status read(trace::live::GpuUse& use);

 private:
  GpmReader() = default;
  void release() noexcept;
  Status fill(trace::live::GpuUse& use);

  std::shared_ptr<const Library> library_;
  Device gpu_ = nullptr;
  int instance_ = -1;
  GpmSample last_ = nullptr, next_ = nullptr;
  bool started_ = false;
};

}  // namespace hone::observe::nvml
