// Several workloads at once, each called again and again on a thread of its own, or given requests.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "lab/gate/latency.h"
#include "lab/gate/paired.h"

namespace hone::lab {

// Requests one behind the other: `give` begins one, `take` waits for the one that began first, and `in_flight` of them, 1 or
// more, are on their way at once.
struct Requests {
  Workload give, take;
  std::size_t in_flight = 1;
};

struct TogetherOptions {
  double seconds = 1;
  int warm_up_runs = 1;  // of each, before any is measured
  int runs = 0;          // of each, whatever the time; 0: as many as it allows
  Progress progress;     // told on one of the threads
};

struct Together {
  Latency latency;     // of all calls; of a request, from where it is given to where it is taken
  double seconds = 0;  // from the first measured call to the last one's end
};

// The first error of any of them, after which none begins another call.
Result<Together> measure_together(std::span<const Workload> workloads, const TogetherOptions& options);
// All that are given are taken before it returns, but after an error.
Result<Together> measure_together(std::span<const Requests> requests, const TogetherOptions& options);

}  // namespace hone::lab
