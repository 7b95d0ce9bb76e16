// CUPTI: what the GPU itself noted of the kernels, copies and fills that this process had it run. CUPTI has one user a
// process: who comes second is refused, whether that is hone or another profiler. Nothing is recorded, and nothing slowed,
// but between begin() and end().
//
// Threads: who is second between begin() and end() is refused. No other thread may call CUDA during these two: changes of CUPTI's state beside a call
// of the driver have crashed processes (docs/decisions/0023).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cupti_abi.h"
#include "cuda/library.h"

#include "core/result.h"

namespace hone::cuda {

struct DeviceRecord {
  enum class Kind : uint8_t { kKernel, kCopy, kSet };
  Kind kind = Kind::kKernel;
  uint32_t graph = 0;                // 0: of no graph's replay
  int64_t start_ns = 0, end_ns = 0;  // core/clock.h
  std::string kernel;                // its name, mangled; empty for what is none, as are the rest then
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t registers = 0;  // of a thread
};

class Cupti {
 public:
  // The process's one object, as long as somebody has it. An error says that there is no CUPTI, or why it is of no use.
  static Result<std::shared_ptr<Cupti>> load(const LibraryPlaces& places, int driver_version = 0);
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  const std::string& path() const { return path_; }

  // Records from now on. An error (another profiler has CUPTI, no permission) leaves nothing recording.
  Status begin();
  // Stops, and gives what has run since, in order of their starts. All of it must have ended. CUPTI is asked again for a
  // while, until `of_graphs` records of replays have come: it brings them when it likes. An error where it has lost some.
  Result<std::vector<DeviceRecord>> end(std::size_t of_graphs);
  bool recording() const { return recording_; }

 private:
  Cupti() = default;
  Status check(cupti::Result code, std::string_view call) const;
  Status subscribe();
  Status enable_kinds();
  void disable_kinds();
  Status wait_for(std::size_t of_graphs) const;

  CuptiFunctions functions_;
  std::string path_;
  cupti::Subscriber subscriber_ = nullptr;
  bool subscribed_ = false, recording_ = false;
};

}  // namespace hone::cuda
