#include "core/statistics.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
  EXPECT_TRUE(std::isnan(median({})));
}

// Tabulated: the 95 % sign-test interval of n = 10 runs from the 2nd to the 9th value (exact level 97.9 %).
TEST(Statistics, MedianIntervalMatchesTheSignTestTable) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Interval interval = median_interval(values, 0.95);
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.high, 9);
  EXPECT_DOUBLE_EQ(interval.median, 5.5);
}

TEST(Statistics, TooFewValuesGiveAnUnboundedInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_TRUE(std::isinf(median_interval(values, 0.95).low));
  EXPECT_TRUE(std::isinf(signed_rank_interval(values, 0.95).high));
  EXPECT_TRUE(std::isinf(signed_rank_interval({}, 0.95).high));
}

// Tabulated critical values of the signed-rank test, two-sided 5 %: n = 6: T ≤ 0; n = 10: T ≤ 8; n = 20: T
// ≤ 52. So the interval leaves out that many of the smallest pairwise means.
TEST(Statistics, SignedRankIntervalMatchesTheTable) {
  for (const auto& [n, critical] : std::vector<std::pair<int, int>>{{6, 0}, {10, 8}, {20, 52}}) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(std::pow(1.7, i));  // all pairwise means differ
    std::vector<double> means;
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j)
        means.push_back((values[static_cast<std::size_t>(i)] + values[static_cast<std::size_t>(j)]) / 2);
    std::sort(means.begin(), means.end());
    const Interval interval = signed_rank_interval(values, 0.95);
    EXPECT_DOUBLE_EQ(interval.low, means[static_cast<std::size_t>(critical)]) << n;
    EXPECT_DOUBLE_EQ(interval.high, means[means.size() - 1 - static_cast<std::size_t>(critical)]) << n;
  }
}

TEST(Statistics, SignedRankApproximationContinuesTheExactDistribution) {
  std::vector<double> values;
  for (int i = 0; i < 61; ++i) values.push_back(i);
  const Interval above = signed_rank_interval(values, 0.95);
  values.pop_back();
  const Interval exact = signed_rank_interval(values, 0.95);
  EXPECT_NEAR(above.low - exact.low, 0.5, 0.5);
  EXPECT_NEAR(above.high - exact.high, 0.5, 0.5);
}

// Coverage of both intervals under heavy tails (Cauchy noise), from 2,000 samples each.
TEST(Statistics, IntervalsCoverTheTruthUnderHeavyTails) {
  std::mt19937_64 random(7);
  std::cauchy_distribution<double> noise(3.0, 1.0);
  int median_missed = 0, signed_rank_missed = 0;
  const int samples = 2000;
  for (int s = 0; s < samples; ++s) {
    std::vector<double> values(25);
    for (double& value : values) value = noise(random);
    const Interval a = median_interval(values, 0.95);
    const Interval b = signed_rank_interval(values, 0.95);
    median_missed += a.low > 3 || a.high < 3;
    signed_rank_missed += b.low > 3 || b.high < 3;
  }
  const int bound = binomial_upper_bound(samples, 0.05, 1e-4);
  EXPECT_LE(median_missed, bound);
  EXPECT_LE(signed_rank_missed, bound);
  EXPECT_GT(signed_rank_missed, samples / 50) << "an interval that never misses is too wide to be useful";
}

TEST(Statistics, ShiftIntervalFindsAShiftAndClaimsNoneWhereThereIsNone) {
  std::mt19937 random(2);
  std::lognormal_distribution<double> skewed(0, 0.5);
  int false_claims = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> a(30), b(35), shifted;
    for (double& x : a) x = skewed(random);
    for (double& x : b) x = skewed(random);
    const Interval same = shift_interval(a, b, 0.95);
    false_claims += same.low > 0 || same.high < 0 ? 1 : 0;
    for (double x : a) shifted.push_back(x + 5);
    const Interval moved = shift_interval(a, shifted, 0.95);
    EXPECT_NEAR(moved.median, 5, 1e-9);
    EXPECT_GT(moved.low, 4);
  }
  EXPECT_LE(false_claims, binomial_upper_bound(trials, 0.05, 1e-3));
}

TEST(Statistics, ShiftIntervalOfTooFewValuesIsUnbounded) {
  const std::vector<double> one = {1}, two = {3, 4};
  EXPECT_DOUBLE_EQ(shift_interval(one, two, 0.95).median, 2.5);
  EXPECT_TRUE(std::isinf(shift_interval(one, two, 0.95).low));
  EXPECT_TRUE(std::isnan(shift_interval({}, two, 0.95).median));
}

TEST(Statistics, BinomialUpperBoundIsTheSmallestUnlikelyCount) {
  EXPECT_EQ(binomial_upper_bound(10, 0.5, 0.5), 5);
  EXPECT_EQ(binomial_upper_bound(10, 0, 0.01), 0);
  EXPECT_EQ(binomial_upper_bound(10, 1, 0.01), 10);
  EXPECT_EQ(binomial_upper_bound(200, 0.05, 0.025), 16);
}

}  // namespace
}  // namespace hone
