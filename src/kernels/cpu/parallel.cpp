// The OpenMP side of parallel.h. A region always takes the whole team, even where fewer threads have work:
// libgomp keeps its team between regions of one size and allocates a new one when the size changes. A region may
// be granted fewer threads than it asks for (OMP_THREAD_LIMIT, OMP_DYNAMIC on a busy machine): each thread then
// does the work of several, so that none is left out.
#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <atomic>

#include <omp.h>

namespace hone::kernels {

int thread_count() noexcept { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

void set_thread_count(int count) noexcept { omp_set_num_threads(std::max(count, 1)); }

TeamSize::TeamSize(int threads) noexcept : before_(omp_get_max_threads()) { set_thread_count(threads); }
TeamSize::~TeamSize() { omp_set_num_threads(before_); }

void run_lanes(int lanes, LaneFunction work, void* context) noexcept {
  const int team = omp_get_max_threads();
  if (lanes == 1 || thread_count() < lanes) {
    omp_set_num_threads(1);
    for (int lane = 0; lane < lanes; ++lane) work(context, lane);
    omp_set_num_threads(team);
    return;
  }
#pragma omp parallel
  {
    // For libraries that ask for the size of the next team rather than whether they are inside one. The
    // setting is the region's own.
    omp_set_num_threads(1);
    const int granted = omp_get_num_threads();
    for (int lane = omp_get_thread_num(); lane < lanes; lane += granted) work(context, lane);
  }
}

namespace internal {

void run_ranges(int64_t count, int64_t grain, RangeFunction function, const void* context) noexcept {
  if (count <= 0) return;
  const int64_t threads = thread_count();
  const int64_t parts = std::min(threads, count / std::max<int64_t>(grain, 1));
  if (parts <= 1) {
    function(context, 0, count, 0);
    return;
  }
#pragma omp parallel
  {
    const int64_t granted = omp_get_num_threads();
    for (int64_t part = omp_get_thread_num(); part < parts; part += granted) {
      const int64_t begin = count * part / parts;
      const int64_t end = std::min(count * (part + 1) / parts, count);
      if (begin < end) function(context, begin, end, static_cast<int>(part));
    }
  }
}

void run_tasks(int64_t count, int threads, TaskFunction function, const void* context) noexcept {
  if (count <= 0) return;
  if (count == 1 || threads <= 1 || thread_count() == 1) {
    for (int64_t index = 0; index < count; ++index) function(context, index, 0);
    return;
  }
  std::atomic<int64_t> next{0};
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
    if (thread < threads) {
      for (int64_t index = next.fetch_add(1, std::memory_order_relaxed); index < count;
           index = next.fetch_add(1, std::memory_order_relaxed)) {
        function(context, index, thread);
      }
    }
  }
}

}  // namespace internal
}  // namespace hone::kernels
