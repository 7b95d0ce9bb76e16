#include "lab/bench/together.h"

#include <algorithm>
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

// Requests as a device might take them: one at a time comes back, in order.
struct Line {
  int given = 0, taken = 0, most = 0;
  Requests requests(std::size_t in_flight) {
    return {.give =
                [this] {
                  most = std::max(most, ++given - taken);
                  return Status();
                },
            .take =
                [this] {
                  std::this_thread::sleep_for(std::chrono::milliseconds(2));
                  return ++taken <= given ? Status() : Status(invalid("nothing to take"));
                },
            .in_flight = in_flight};
  }
};

TEST(Together, HasSoManyRequestsOnTheirWayAndTakesAll) {
  for (const std::size_t in_flight : {1, 3}) {
    Line line;
    const std::vector<Requests> requests = {line.requests(in_flight)};
    TogetherOptions options;
    options.warm_up_runs = 2;
    options.runs = 10;
    const auto together = measure_together(requests, options);
    ASSERT_TRUE(together.ok()) << together.error().message;
    EXPECT_EQ(line.given, 12);
    EXPECT_EQ(line.taken, 12);
    EXPECT_EQ(line.most, static_cast<int>(in_flight));
    EXPECT_EQ(together->latency.runs, 10);
    // A request waits for those before it.
    EXPECT_GE(together->latency.p50, 2.0 * static_cast<double>(in_flight));
    EXPECT_GE(together->seconds, 0.02);
  }
}

TEST(Together, TakesAllRequestsWhenTheTimeIsUp) {
  Line line;
  const std::vector<Requests> requests = {line.requests(3)};
  TogetherOptions options;
  options.seconds = 0.02;
  const auto together = measure_together(requests, options);
  ASSERT_TRUE(together.ok()) << together.error().message;
  EXPECT_EQ(line.given, line.taken);
  EXPECT_EQ(together->latency.runs, line.taken - 1) << "but the warm-up";
}

TEST(Together, AnErrorOfARequestEndsAll) {
  int taken = 0;
  const std::vector<Requests> requests = {
      {.give = [] { return Status(); },
       .take = [&taken]() -> Status { return ++taken < 5 ? Status() : Status(invalid("lost")); },
       .in_flight = 3}};
  TogetherOptions options;
  options.seconds = 60;
  const auto together = measure_together(requests, options);
  ASSERT_FALSE(together.ok());
  EXPECT_EQ(together.error().message, "lost");
  EXPECT_EQ(taken, 5);
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
