#include "lab/ceilings/team.h"

#include <algorithm>
#include <ctime>

#include <omp.h>

#include "core/clock.h"
#include "core/contention.h"
#include "core/statistics.h"

namespace hone::lab {
namespace {

constexpr int kEnough = 3;  // undisturbed repetitions that make a result

int64_t cpu_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Time in line that a repetition may have: interrupts, and the waking of the team's threads.
constexpr int64_t kForgivenNs = 20'000;

// One thread's part of a timed run, on the wall and on the CPU.
struct Span {
  int64_t begin = 0, end = 0, cpu = 0;
};

}  // namespace

TeamTime time_team(int threads, const std::function<void(int)>& work) {
  std::vector<Span> spans(static_cast<std::size_t>(threads));
  const ContentionMeter meter(kForgivenNs);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    Span span;
#pragma omp barrier
    const int64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    span.begin = now_ns();
    work(thread);
    span.end = now_ns();
    span.cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    spans[static_cast<std::size_t>(thread)] = span;
  }
  const bool disturbed = meter.share().disturbed();
  int64_t first_begin = spans[0].begin, end = spans[0].end, cpu = 0;
  for (const Span& span : spans) {
    first_begin = std::min(first_begin, span.begin);
    end = std::max(end, span.end);
    cpu = std::max(cpu, span.cpu);
  }
  return {static_cast<double>(end - first_begin) * 1e-9, static_cast<double>(cpu) * 1e-9, disturbed};
}

TeamTime time_call(int threads, const std::function<void()>& call) {
  const ContentionMeter meter(kForgivenNs);
  Span span;
  const int64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  span.begin = now_ns();
  call();
  span.end = now_ns();
  span.cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const double wall = static_cast<double>(span.end - span.begin) * 1e-9;
  // The team's threads are not ours to read clocks on, and the process's CPU clock lags by a tick for threads
  // that are running.
  const double cpu_seconds = threads == 1 ? static_cast<double>(span.cpu) * 1e-9 : wall;
  return {wall, cpu_seconds, meter.share().disturbed()};
}

Samples collect(const SampleBudget& budget, const std::function<TeamTime()>& once) {
  Samples samples;
  std::vector<double> undisturbed, on_cpu;
  const int64_t start = now_ns();
  once();  // warm up: caches, page tables, clock frequency
  do {
    const TeamTime time = once();
    samples.repetitions++;
    samples.disturbed += time.disturbed;
    on_cpu.push_back(time.cpu_seconds);
    if (!time.disturbed) undisturbed.push_back(time.seconds);
  } while (samples.repetitions < budget.min_repetitions ||
           static_cast<double>(now_ns() - start) * 1e-9 < budget.seconds);
  samples.busy = undisturbed.size() < kEnough;
  samples.seconds = samples.busy ? on_cpu : undisturbed;
  return samples;
}

Rate rate_of(const Samples& samples, double work) {
  const auto [fastest, slowest] = std::minmax_element(samples.seconds.begin(), samples.seconds.end());
  return {work / median(samples.seconds), work / *slowest, work / *fastest};
}

Duration duration_of(const Samples& samples, double count) {
  const auto [fastest, slowest] = std::minmax_element(samples.seconds.begin(), samples.seconds.end());
  return {median(samples.seconds) / count, *fastest / count, *slowest / count};
}

TeamTime time_parallel_regions(int threads) {
  return time_call(1, [threads] {
    for (int i = 0; i < kThreadRepeats; ++i) {
#pragma omp parallel num_threads(threads)
      asm volatile("" : : : "memory");  // an empty region could be left out
    }
  });
}

TeamTime time_barriers(int threads) {
  return time_team(threads, [](int) {
    for (int i = 0; i < kThreadRepeats; ++i) {
#pragma omp barrier
    }
  });
}

}  // namespace hone::lab
