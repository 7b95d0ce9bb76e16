#include "lab/gate/latency.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

// A clock that a workload pushes on by `ms` a call.
struct FakeMachine {
  int64_t time = 0;
  int calls = 0;
  Workload workload(double ms) {
    return [this, ms] {
      time += static_cast<int64_t>(ms * 1e6);
      ++calls;
      return Status();
    };
  }
  LatencyOptions options() {
    LatencyOptions options;
    options.clock = [this] { return time; };
    return options;
  }
};

TEST(Latency, WarmsUpAndStaysInItsBudget) {
  FakeMachine machine;
  const auto latency = measure_latency(machine.workload(10), machine.options());
  ASSERT_TRUE(latency.ok());
  EXPECT_EQ(latency->runs, 200);
  EXPECT_EQ(machine.calls, 200 + 20);
  EXPECT_DOUBLE_EQ(latency->p50, 10);
  EXPECT_DOUBLE_EQ(latency->median_ms.low, 10);
}

TEST(Latency, RunsLongCallsTheMinimumNumberOfTimes) {
  FakeMachine machine;
  const auto latency = measure_latency(machine.workload(5000), machine.options());
  ASSERT_TRUE(latency.ok());
  EXPECT_EQ(latency->runs, 5);
  EXPECT_EQ(machine.calls, 6);
  EXPECT_EQ(latency->median_ms.low, 0) << "five runs can't bound a median at 95 %";
  EXPECT_TRUE(std::isinf(latency->median_ms.high));
}

TEST(Latency, RunsAndWarmsUpAsOftenAsItIsTold) {
  FakeMachine machine;
  LatencyOptions options = machine.options();
  options.warm_up_runs = 3;
  options.exact_runs = 7;
  const auto latency = measure_latency(machine.workload(5000), options);
  ASSERT_TRUE(latency.ok());
  EXPECT_EQ(latency->runs, 7);
  EXPECT_EQ(machine.calls, 3 + 7);
  options.warm_up_runs = 0;
  machine.calls = 0;
  ASSERT_TRUE(measure_latency(machine.workload(1), options).ok());
  EXPECT_EQ(machine.calls, 7);
}

TEST(Latency, PercentilesAreThoseOfTheSamples) {
  std::vector<double> samples;
  for (int i = 0; i <= 100; ++i) samples.push_back(i);
  const Latency latency = summarise_latency(samples);
  EXPECT_DOUBLE_EQ(latency.p50, 50);
  EXPECT_DOUBLE_EQ(latency.p90, 90);
  EXPECT_DOUBLE_EQ(latency.p99, 99);
  EXPECT_DOUBLE_EQ(latency.mean, 50);
  EXPECT_EQ(latency.samples_ms.size(), 101u);
}

// Noise with a correlation length of 10 calls: plain order statistics of the calls would miss far more often.
TEST(Latency, IntervalOfTheMedianHoldsUnderAutocorrelation) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int missed = 0;
  for (int i = 0; i < 500; ++i) {
    double state = normal(random);
    std::vector<double> samples;
    for (int k = 0; k < 3200; ++k) {
      state = 0.9 * state + std::sqrt(1 - 0.81) * normal(random);
      samples.push_back(std::exp(0.1 * state));  // median 1
    }
    const Latency latency = summarise_latency(samples);
    missed += latency.median_ms.low > 1 || latency.median_ms.high < 1;
  }
  EXPECT_LE(missed, binomial_upper_bound(500, 0.07, 1e-3))
      << "a little above 5 %: batches are nearly independent";
}

TEST(Latency, PassesFailureAndInterruptionOn) {
  const auto failed = measure_latency([]() -> Status { return invalid("no"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no");
  FakeMachine machine;
  LatencyOptions options = machine.options();
  options.progress = [](double done) { return done < 0.5; };
  const auto cancelled = measure_latency(machine.workload(1), options);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace hone::lab
