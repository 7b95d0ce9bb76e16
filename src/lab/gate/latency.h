// Latency of one workload: percentiles over all calls after a warm-up, within a time budget. For "how long
// does it take"; "is it faster" is paired.h, where both run interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "core/statistics.h"
#include "lab/gate/paired.h"

namespace hone::lab {

struct LatencyOptions {
  int64_t budget_ns = 2'000'000'000;  // for the measured calls
  int64_t warm_up_ns = 200'000'000;   // unmeasured calls first: one, and more while they fit
  int min_runs = 5;                   // run even when they take longer than the budget
  int max_runs = 100'000;
  // So many and no other number, whatever the time; below 0: by time, as above.
  int warm_up_runs = -1;
  int exact_runs = -1;
  double level = 0.95;
  Progress progress;
  std::function<int64_t()> clock = now_ns;
};

struct Latency {
  int runs = 0;
  double p50 = 0, p90 = 0, p99 = 0, mean = 0;  // ms
  double low = 0, high = 0;                    // smallest and largest call, ms
  // The median with its interval, ms: the sign-test interval over the medians of up to 32 consecutive
  // batches, because neighbouring calls are not independent and batches nearly are (batch means: Law,
  // "Simulation Modeling and Analysis", §9.5.3). 0..inf with too few runs.
  Interval median_ms;
  std::vector<double> samples_ms;  // every measured call, in order
  ContentionShare contention;      // what other programs took meanwhile
};

// Percentiles and the interval from samples in the order they were taken.
Latency summarise_latency(std::vector<double> samples_ms, double level = 0.95);
Result<Latency> measure_latency(const Workload& workload, const LatencyOptions& options = {});

}  // namespace hone::lab
