// Where a thread is while it runs: perf_event's samples of its registers and its stack, by a clock that runs when it does. No
// counters of the processor are needed, and none of its rights: only perf_event_open itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "observe/host/native_stacks.h"

namespace hone::observe {

struct RunningMoment {
  int64_t time_ns = 0;  // CLOCK_MONOTONIC
  ThreadRegisters registers;
  std::string stack;  // from the stack's pointer on
};

// Not thread-safe.
class RunningThread {
 public:
  // Null: the system does not permit it, or this machine has no such registers; `error` (errno) says why.
  static std::unique_ptr<RunningThread> open(int tid, int& error);
  ~RunningThread();
  RunningThread(const RunningThread&) = delete;
  RunningThread& operator=(const RunningThread&) = delete;

  // The last sample since the last call; nothing: it has not run.
  std::optional<RunningMoment> last();

 private:
  RunningThread(int file, void* ring) : file_(file), ring_(ring) {}

  int file_;
  void* ring_;
};

}  // namespace hone::observe
