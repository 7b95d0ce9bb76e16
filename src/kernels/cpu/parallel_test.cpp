#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

namespace hone::kernels {
namespace {

TEST(Parallel, RangesCoverEveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 7, 100, 1001}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
        EXPECT_GE(thread, 0);
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (auto& times : seen) EXPECT_EQ(times.load(), 1);
    }
  }
}

TEST(Parallel, WorkBelowTheGrainStaysOnOneThread) {
  std::atomic<int> calls{0};
  parallel_for(100, 100, [&](int64_t begin, int64_t end, int thread) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    EXPECT_EQ(thread, 0);
    ++calls;
  });
  EXPECT_EQ(calls.load(), 1);
}

TEST(Parallel, ScratchForFewThreadsBoundsTheIndicesAndKeepsThemBusy) {
  const int team = thread_count();
  for (const int now : {1, 2, 3, 5}) {
    set_thread_count(now);
    for (const int threads : {1, 2, 4}) {
      for (const int64_t count : {1, 2, 3, 7, 147, 148}) {
        std::atomic<int> most{0};
        parallel_for(count, grain_within(count, 1, threads), [&](int64_t, int64_t, int thread) {
          for (int seen = most; seen < thread && !most.compare_exchange_weak(seen, thread);) continue;
        });
        EXPECT_LT(most, threads);
        if (count >= 7 * now) {
          EXPECT_EQ(most, std::min(now, threads) - 1) << count << " on " << now;
        }
      }
    }
  }
  set_thread_count(team);
}

// A limit that the user or the system sets (OMP_THREAD_LIMIT, OMP_DYNAMIC): teams are asked for and not given.
TEST(Parallel, NothingIsLeftOutWhereFewerThreadsAreGranted) {
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  {
    const TeamSize team(4);
    std::vector<std::atomic<int>> indices(100), tasks(9), lanes(3);
    parallel_for(100, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++indices[static_cast<std::size_t>(i)];
    });
    parallel_tasks(9, 4, [&](int64_t index, int) { ++tasks[static_cast<std::size_t>(index)]; });
    run_lanes(
        3,
        [](void* ran, int lane) {
          ++(*static_cast<std::vector<std::atomic<int>>*>(ran))[static_cast<std::size_t>(lane)];
        },
        &lanes);
    for (const auto* all : {&indices, &tasks, &lanes})
      for (const auto& times : *all) EXPECT_EQ(times.load(), 1);
  }
  omp_set_max_active_levels(levels);
}

TEST(Parallel, TasksRunOnceAndNestedCallsStayOnTheirThread) {
  std::vector<std::atomic<int>> seen(37);
  parallel_tasks(37, 2, [&](int64_t index, int thread) {
    EXPECT_LT(thread, 2);
    parallel_for(10, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(index)];
    });
  });
  for (auto& times : seen) EXPECT_EQ(times.load(), 10);
}

TEST(Parallel, LanesRunOnceEachWithoutATeamOfTheirOwn) {
  const int team = thread_count();
  for (int threads : {1, 2, 4}) {
    set_thread_count(threads);
    for (int lanes = 1; lanes <= 4; ++lanes) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(lanes));
      run_lanes(
          lanes,
          [](void* context, int lane) {
            EXPECT_EQ(thread_count(), 1);
            ++(*static_cast<std::vector<std::atomic<int>>*>(context))[static_cast<std::size_t>(lane)];
          },
          &seen);
      for (auto& times : seen) EXPECT_EQ(times.load(), 1);
      EXPECT_EQ(thread_count(), threads) << "the caller keeps its team";
    }
  }
  set_thread_count(team);
}

}  // namespace
}  // namespace hone::kernels
