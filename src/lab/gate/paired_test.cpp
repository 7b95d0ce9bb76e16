// The paired test against a simulated machine: a clock that jumps by what each call "takes", with the kinds
// of noise that real machines have. Thousands of comparisons run in a second, so error rates can be checked.
#include "lab/gate/paired.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

enum class Noise { kGaussian, kHeavyTailed, kDrifting, kAutocorrelated, kBursts };

// A machine with a clock of its own and two workloads; the noise is multiplicative and knows no workload.
class SimulatedMachine {
 public:
  SimulatedMachine(Noise noise, double size, uint64_t seed) : noise_(noise), size_(size), random_(seed) {}

  Workload workload(double nanoseconds) {
    return [this, nanoseconds] {
      time_ += nanoseconds * std::exp(next());
      return Status();
    };
  }
  int64_t now() const { return static_cast<int64_t>(time_); }

 private:
  double next() {
    const double normal = normal_(random_);
    ++call_;
    switch (noise_) {
      case Noise::kGaussian:
        return size_ * normal;
      case Noise::kHeavyTailed:  // Student t with 1.5 degrees of freedom: no variance; only ever slower
        return std::min(5.0, size_ * std::abs(student_(random_)));
      case Noise::kDrifting:  // a clock frequency that sinks by a tenth over 200 calls, then recovers
        return size_ * normal + 0.1 * std::abs(static_cast<double>(call_ % 400) / 200 - 1);
      case Noise::kAutocorrelated:  // AR(1), correlation length of about 30 calls
        return state_ = 0.97 * state_ + size_ * normal;
      case Noise::kBursts:  // a neighbour that takes half the machine for a while
        if (uniform_(random_) < 0.02) busy_ = !busy_;
        return size_ * normal + (busy_ ? 0.7 : 0.0);
    }
    return 0;
  }

  Noise noise_;
  double size_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> student_{1.5};
  std::uniform_real_distribution<double> uniform_;
  double time_ = 0, state_ = 0;
  int64_t call_ = 0;
  bool busy_ = false;
};

PairedOptions simulated_options(const SimulatedMachine& machine, uint64_t seed) {
  PairedOptions options;
  options.clock = [&machine] { return machine.now(); };
  options.seed = seed;
  options.budget_ns = 200'000'000;
  return options;
}

struct ErrorRate {
  int claimed = 0;
  int missed = 0;  // intervals that don't hold the true ratio
};

// Compares workloads of 1 ms × `true_ratio` and 1 ms `comparisons` times, each on a fresh machine.
ErrorRate simulate(Noise noise, double size, double true_ratio, int comparisons, PairedOptions changes = {}) {
  ErrorRate rate;
  for (int i = 0; i < comparisons; ++i) {
    SimulatedMachine machine(noise, size, 1000 + static_cast<uint64_t>(i));
    PairedOptions options = simulated_options(machine, static_cast<uint64_t>(i));
    options.min_effect = changes.min_effect;
    options.precision = changes.precision;
    options.budget_ns = changes.budget_ns;
    const auto result = run_paired(machine.workload(1e6 * true_ratio), machine.workload(1e6), options);
    EXPECT_TRUE(result.ok());
    rate.claimed += result->change != SpeedChange::kNoDifference;
    rate.missed += result->ratio.low > true_ratio || result->ratio.high < true_ratio;
  }
  return rate;
}

class PairedNoise : public testing::TestWithParam<Noise> {};

// Without the smallest claimed effect, the bare test has to keep its level; 1,000 comparisons per kind of
// noise.
TEST_P(PairedNoise, ClaimsNoMoreDifferencesThanTheLevelAllows) {
  const int comparisons = 1000;
  PairedOptions changes;
  changes.min_effect = 0;
  changes.budget_ns = 150'000'000;
  const ErrorRate rate = simulate(GetParam(), 0.02, 1.0, comparisons, changes);
  EXPECT_LE(rate.claimed, binomial_upper_bound(comparisons, 0.05, 1e-3));
}

// Early looks at every chance to stop must not inflate the errors.
TEST_P(PairedNoise, KeepsTheLevelWhenItStopsEarly) {
  const int comparisons = 600;
  PairedOptions changes;
  changes.min_effect = 0;
  changes.precision = 0.02;
  changes.budget_ns = 400'000'000;
  const ErrorRate rate = simulate(GetParam(), 0.02, 1.0, comparisons, changes);
  EXPECT_LE(rate.claimed, binomial_upper_bound(comparisons, 0.05, 1e-3));
}

TEST_P(PairedNoise, IntervalHoldsATrueGain) {
  const int comparisons = 500;
  PairedOptions changes;
  changes.budget_ns = 150'000'000;
  const ErrorRate rate = simulate(GetParam(), 0.02, 1.25, comparisons, changes);
  EXPECT_LE(rate.missed, binomial_upper_bound(comparisons, 0.05, 1e-3));
  EXPECT_GE(rate.claimed, comparisons * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(EveryNoise, PairedNoise,
                         testing::Values(Noise::kGaussian, Noise::kHeavyTailed, Noise::kDrifting,
                                         Noise::kAutocorrelated, Noise::kBursts));

TEST(Paired, FindsAThreePercentGainInOnePercentNoise) {
  const ErrorRate rate = simulate(Noise::kGaussian, 0.01, 1.03, 300);
  EXPECT_GE(rate.claimed, 297);
  EXPECT_LE(rate.missed, binomial_upper_bound(300, 0.05, 1e-3));
}

TEST(Paired, SaysWhichOneIsFasterAndWhy) {
  SimulatedMachine machine(Noise::kGaussian, 0.001, 3);
  PairedOptions options = simulated_options(machine, 1);
  const auto faster = run_paired(machine.workload(2e6), machine.workload(1e6), options);
  ASSERT_TRUE(faster.ok());
  EXPECT_EQ(faster->change, SpeedChange::kFaster);
  EXPECT_NEAR(faster->ratio.median, 2, 0.01);
  EXPECT_EQ(faster->stopped, "precise enough");
  const auto slower = run_paired(machine.workload(1e6), machine.workload(1.1e6), options);
  ASSERT_TRUE(slower.ok());
  EXPECT_EQ(slower->change, SpeedChange::kSlower);
}

TEST(Paired, DropsNothing) {
  SimulatedMachine machine(Noise::kBursts, 0.05, 4);
  const auto result = run_paired(machine.workload(1e6), machine.workload(1e6), simulated_options(machine, 2));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->a_ms.size(), 2 * result->block_ratios.size());
  EXPECT_EQ(result->b_ms.size(), 2 * result->block_ratios.size());
}

TEST(Paired, RepeatsShortCallsUntilTheClockDoesNotMatter) {
  SimulatedMachine machine(Noise::kGaussian, 0, 5);
  const auto result = run_paired(machine.workload(50), machine.workload(40), simulated_options(machine, 2));
  ASSERT_TRUE(result.ok());
  EXPECT_GE(result->calls_per_slot * 40, 100'000 * 0.99);
  EXPECT_NEAR(result->ratio.median, 1.25, 0.001);
}

// Workloads of one call each that say when they ran.
std::string order_of_calls(PairedOptions options, int64_t call_ns) {
  std::string order;
  int64_t now = 0;
  options.clock = [&] { return now; };
  options.min_blocks = options.max_blocks = 6;
  const auto call = [&](char name) {
    return [&, name]() -> Status {
      order += name;
      now += call_ns;
      return {};
    };
  };
  EXPECT_TRUE(run_paired(call('A'), call('B'), options).ok());
  return order;
}

TEST(Paired, SettlesAfterAChangeUnlessCallsAreLong) {
  const std::string settled = order_of_calls({}, 1'000'000), unsettled = order_of_calls({}, 200'000'000);
  EXPECT_EQ(unsettled.size(), 2 + 6 * 4U) << "a call each to warm up, then four a block";
  EXPECT_GE(settled.size(), 4 + 6 * 6U) << "and one more after each change, two or three a block";
  PairedOptions must_wait;
  must_wait.settle_ns = 1;
  EXPECT_GT(order_of_calls(must_wait, 200'000'000).size(), unsettled.size());
}

TEST(Paired, RunsTheMinimumEvenWhenTheBudgetIsTooSmall) {
  SimulatedMachine machine(Noise::kGaussian, 0.01, 6);
  PairedOptions options = simulated_options(machine, 1);
  options.budget_ns = 1;
  const auto result = run_paired(machine.workload(1e6), machine.workload(1e6), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->block_ratios.size(), 8u);
  EXPECT_EQ(result->stopped, "time is up");
}

TEST(Paired, PassesAFailureOn) {
  const Workload good = [] { return Status(); };
  const Workload bad = []() -> Status { return invalid("step failed"); };
  const auto result = run_paired(good, bad);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "step failed");
}

TEST(Paired, StopsWhenTheUserInterrupts) {
  SimulatedMachine machine(Noise::kGaussian, 0.01, 6);
  PairedOptions options = simulated_options(machine, 1);
  options.progress = [](double) { return false; };
  const auto result = run_paired(machine.workload(1e6), machine.workload(1e6), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(Paired, RefusesOptionsThatMakeNoSense) {
  const Workload work = [] { return Status(); };
  PairedOptions options;
  options.level = 95;
  EXPECT_FALSE(run_paired(work, work, options).ok());
  options = {};
  options.max_blocks = 1;
  EXPECT_FALSE(run_paired(work, work, options).ok());
}

TEST(Paired, WritesRatiosForPeople) {
  EXPECT_EQ(ratio_text({1.1801, 1.152, 1.2099, 0.95}), "1.18× (1.15–1.21)");
  EXPECT_EQ(ratio_text({1.0012, 0.9981, 1.0043, 0.95}), "1.001× (0.998–1.004)");
  EXPECT_EQ(ratio_text({1.03, 1.0021, 1.07, 0.95}), "1.030× (1.002–1.070)");
}

// On the real machine, whatever it is doing now: 200 comparisons of a loop with itself.
TEST(Paired, ARealWorkloadDoesNotDifferFromItself) {
  std::vector<double> data(4096, 1.0);
  const Workload work = [&data] {
    for (double& value : data) value = value * 1.000001 + 1e-9;
    return Status();
  };
  PairedOptions options;
  options.budget_ns = 10'000'000;
  options.min_slot_ns = 20'000;
  const auto self = compare_with_itself(work, 200, options);
  ASSERT_TRUE(self.ok());
  EXPECT_EQ(self->comparisons, 200);
  EXPECT_LE(self->claimed, binomial_upper_bound(200, 0.05, 1e-3));
  RecordProperty("claimed", self->claimed);
}

TEST(Paired, WhatComesAfterABlockIsNotTimed) {
  SimulatedMachine machine(Noise::kGaussian, 0.001, 1);
  PairedOptions options = simulated_options(machine, 1);
  options.min_blocks = options.max_blocks = 10;
  const Workload slow = machine.workload(1e9);
  std::vector<int> blocks;
  options.after_block = [&](int block) {
    blocks.push_back(block);
    return slow();
  };
  const auto result = run_paired(machine.workload(2e6), machine.workload(1e6), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(blocks.size(), result->block_ratios.size());
  EXPECT_EQ(blocks.back(), static_cast<int>(blocks.size()) - 1);
  EXPECT_NEAR(result->ratio.median, 2, 0.01);
  options.after_block = [](int) -> Status { return invalid("no more"); };
  EXPECT_EQ(run_paired(machine.workload(2e6), machine.workload(1e6), options).error().message, "no more");
}

TEST(Paired, EndsBetweenTwoSlotsWhenItIsTold) {
  SimulatedMachine machine(Noise::kGaussian, 0.001, 1);
  PairedOptions options = simulated_options(machine, 1);
  int slots = 0, calls = 0;
  options.keep_going = [&] { return ++slots < 9; };
  const Workload work = machine.workload(1e8);
  const auto counted = [&] {
    ++calls;
    return work();
  };
  EXPECT_EQ(run_paired(counted, counted, options).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 8) << "not at the end of a block";
}

}  // namespace
}  // namespace hone::lab
