// Timing a team of OpenMP threads that all do the same work at once, and noticing (core/contention.h) when
// somebody else used their CPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/roofs.h"

namespace hone::lab {

// One timed run of a team.
struct TeamTime {
  double seconds = 0;  // from the first thread's start to the last one's end
  double cpu_seconds =
      0;  // that the slowest thread had a CPU for; time_call() with several threads can't tell
  bool disturbed = false;  // other programs had the process's CPUs while it should have computed
};

// Runs `work(thread)` on `threads` OpenMP threads that start together.
TeamTime time_team(int threads, const std::function<void(int)>& work);

// Runs `call` once on the calling thread; it uses a team of `threads` threads of its own.
TeamTime time_call(int threads, const std::function<void()>& call);

// Repeated timings of one piece of work.
struct Samples {
  // Wall times of the undisturbed repetitions. Where there are too few of them, CPU times of all: still right for arithmetic and nearly so for caches, too slow where others use up shared bandwidth.
  std::vector<double> seconds;
  int repetitions = 0;  // all that ran
  int disturbed = 0;    // of those
  bool busy = false;    // too few undisturbed ones
};

// How long and how often to measure one rate.
struct SampleBudget {
  double seconds = 0.1;
  int min_repetitions = 5;
};

// Repeats `once` after a warm-up for as long as the budget lasts.
Samples collect(const SampleBudget& budget, const std::function<TeamTime()>& once);

// A rate of `work` units a repetition.
Rate rate_of(const Samples& samples, double work);
// The time of one of `count` equal parts of a repetition.
Duration duration_of(const Samples& samples, double count);

// What entering and leaving a parallel region costs, and what a barrier inside costs. `seconds` of the
// samples are those of `count` of them.
inline constexpr int kThreadRepeats = 200;
TeamTime time_parallel_regions(int threads);
TeamTime time_barriers(int threads);

}  // namespace hone::lab
