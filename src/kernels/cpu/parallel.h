// Threads for CPU kernels: a range split over the OpenMP team, with a grain so that tiny work stays on the
// calling thread. No allocation a call. Kernels use nothing else for threads, so that hone, oneDNN and the
// runtime share one team and never oversubscribe the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace hone::kernels {

// Threads that parallel_for will use when called from here: the OpenMP team's size, 1 inside a parallel
// region. Each thread of the program has its own setting (an OpenMP ICV), which is what lets a runtime give
// every branch of a graph its own share of the cores.
int thread_count() noexcept;
void set_thread_count(int count) noexcept;

// The calling thread's team while this object lives.
class TeamSize {
 public:
  explicit TeamSize(int threads) noexcept;
  ~TeamSize();
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

namespace internal {
using RangeFunction = void (*)(const void* context, int64_t begin, int64_t end, int thread);
using TaskFunction = void (*)(const void* context, int64_t index, int thread);
void run_ranges(int64_t count, int64_t grain, RangeFunction function, const void* context) noexcept;
void run_tasks(int64_t count, int threads, TaskFunction function, const void* context) noexcept;
}  // namespace internal

// Calls f(begin, end, thread) on disjoint ranges that cover [0, count), each at least `grain` long where the
// count allows it. `thread` is in [0, thread_count()): an index for per-thread scratch. One contiguous range
// a thread, the same split for the same count, grain and team: memory that a thread touched stays in its
// cache.
template <typename F>
void parallel_for(int64_t count, int64_t grain, const F& f) noexcept {
  static_assert(std::is_invocable_v<const F&, int64_t, int64_t, int>);
  internal::run_ranges(
      count, grain,
      [](const void* context, int64_t begin, int64_t end, int thread) {
        (*static_cast<const F*>(context))(begin, end, thread);
      },
      std::addressof(f));
}

// The grain, at least `grain`, that keeps parallel_for's thread indices below `threads`: for kernels whose
// scratch was sized for that many, whatever the team is now.
inline int64_t grain_within(int64_t count, int64_t grain, int threads) {
  if (thread_count() <= threads) return grain;
  const int64_t share = count / (threads + 1) + 1;  // one more thread would find less
  return share > grain ? share : grain;
}

// Calls f(index, thread) for each index in [0, count), handed out one at a time to at most `threads` threads:
// for few, uneven, large tasks.
template <typename F>
void parallel_tasks(int64_t count, int threads, const F& f) noexcept {
  static_assert(std::is_invocable_v<const F&, int64_t, int>);
  internal::run_tasks(
      count, threads,
      [](const void* context, int64_t index, int thread) {
        (*static_cast<const F*>(context))(index, thread);
      },
      std::addressof(f));
}

using LaneFunction = void (*)(void* context, int lane);

// Calls work(context, lane) for each lane in [0, lanes) at the same time, each on a thread of its own, on
// which thread_count() is 1: what a lane runs does not spread over the team. One after another on the calling
// thread where the team has fewer threads than lanes. No allocation.
void run_lanes(int lanes, LaneFunction work, void* context) noexcept;

// Calls f() here, without a team: for work that threads would only slow down, and to make kernels for a lane.
template <typename F>
void on_one_thread(F f) {
  run_lanes(
      1, [](void* context, int) { (*static_cast<F*>(context))(); }, std::addressof(f));
}

}  // namespace hone::kernels
