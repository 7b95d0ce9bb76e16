#include "lab/bench/together.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

TEST(Together, CallsEachAsOftenAsToldAfterItsWarmUp) {
  std::atomic<int> a = 0, b = 0;
  const std::vector<Workload> workloads = {[&] { return ++a, Status(); }, [&] { return ++b, Status(); }};
  TogetherOptions options;
  options.warm_up_runs = 2;
  options.runs = 5;
  const auto together = measure_together(workloads, options);
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, 7);
  EXPECT_EQ(together->latency.runs, 10);
  EXPECT_GT(together->seconds, 0);
}

TEST(Together, RunsThemAtOnce) {
  std::atomic<int> inside = 0, most = 0;
  const Workload waits = [&] {
    most = std::max(most.load(), ++inside);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --inside;
    return Status();
  };
  const std::vector<Workload> workloads(3, waits);
  TogetherOptions options;
  options.runs = 10;
  ASSERT_TRUE(measure_together(workloads, options).ok());
  EXPECT_EQ(most, 3);
}

TEST(Together, ALongCallIsMeasuredOnceWhateverTheBudget) {
  const std::vector<Workload> workloads = {[] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return Status();
  }};
  TogetherOptions options;
  options.seconds = 1e-6;
  const auto together = measure_together(workloads, options);
  ASSERT_TRUE(together.ok());
  EXPECT_EQ(together->latency.runs, 1);
  EXPECT_GE(together->latency.p50, 3);
}

TEST(Together, AnErrorOfOneEndsAll) {
  std::atomic<int> calls = 0;
  const std::vector<Workload> workloads = {[&] { return ++calls, Status(); },
                                           [&]() -> Status { return invalid("wrong"); }};
  TogetherOptions options;
  options.seconds = 60;
  const auto together = measure_together(workloads, options);
  ASSERT_FALSE(together.ok());
  EXPECT_EQ(together.error().message, "wrong");
  EXPECT_LE(calls, 2);
}

}  // namespace
}  // namespace hone::lab
