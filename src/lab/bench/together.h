// Several workloads at once, each called again and again on a thread of its own.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "lab/gate/latency.h"
#include "lab/gate/paired.h"

namespace hone::lab {

struct TogetherOptions {
  double seconds = 1;
  int warm_up_runs = 1;  // of each, before any is measured
  int runs = 0;          // of each, whatever the time; 0: as many as it allows
  Progress progress;     // told on one of the threads
};

struct Together {
  Latency latency;     // of all calls
  double seconds = 0;  // from the first measured call to the last one's end
};

// The first error of any of them, after which none begins another call.
Result<Together> measure_together(std::span<const Workload> workloads, const TogetherOptions& options);

}  // namespace hone::lab
