#include "lab/experiment/others_share.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "kernels/cpu/cores.h"

namespace hone::lab {
namespace {

TEST(OthersShare, IsNoMoreThanTheTimeThatThisProcessDidNotUse) {
  const ContentionShare waited{0.8, true};
  EXPECT_DOUBLE_EQ(without_own_threads(waited, 2000, 1000, 2).waited, 0) << "both CPUs were its own";
  EXPECT_NEAR(without_own_threads(waited, 1900, 1000, 2).waited, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(without_own_threads(waited, 1000, 1000, 2).waited, 0.8) << "it waited no longer than that";
  EXPECT_DOUBLE_EQ(without_own_threads(waited, 2100, 1000, 2).waited, 0)
      << "clocks are read one after the other";
}

TEST(OthersShare, SaysNothingWhereNothingIsKnown) {
  EXPECT_FALSE(without_own_threads({0, false}, 0, 1000, 2).known);
}

// Twice as many threads as CPUs: each stands in line half of the time, behind its own kind.
TEST(OthersShare, ThreadsOfOneProcessAreNoOtherPrograms) {
  const int cpus = static_cast<int>(kernels::usable_cpus().size());
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  const auto work = [&] {
    while (!ends) {
    }
  };
  for (int i = 0; i < 2 * cpus; ++i) threads.emplace_back(work);
  const ContentionMeter meter;
  const int64_t start_ns = now_ns(), used_ns = process_cpu_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const ContentionShare share = meter.share();
  const int64_t wall_ns = now_ns() - start_ns, now_used_ns = process_cpu_ns();
  ends = true;
  for (std::thread& thread : threads) thread.join();
  if (!share.known) GTEST_SKIP() << "this system does not count waiting";
  EXPECT_GT(share.waited, 0.5);
  const double unused = cpus - static_cast<double>(now_used_ns - used_ns) / static_cast<double>(wall_ns);
  EXPECT_LE(without_own_threads(share, now_used_ns - used_ns, wall_ns, cpus).waited,
            std::max(0.0, unused) + 1e-9);
}

}  // namespace
}  // namespace hone::lab
