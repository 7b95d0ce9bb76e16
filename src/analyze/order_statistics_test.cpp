#include "analyze/order_statistics.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  std::vector<double> samples = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(samples, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(MedianEstimate, UsesTheRanksOfTheBinomialTable) {
  std::vector<double> samples(9);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i + 1);
  Estimate estimate = median_estimate(samples);  // n = 9 at 95 %: the 2nd and the 8th
  EXPECT_DOUBLE_EQ(estimate.median, 5);
  EXPECT_DOUBLE_EQ(estimate.low, 2);
  EXPECT_DOUBLE_EQ(estimate.high, 8);
}

TEST(MedianEstimate, IsTheWholeRangeOfTooFewSamples) {
  std::vector<double> samples = {3, 1, 2};
  Estimate estimate = median_estimate(samples);
  EXPECT_DOUBLE_EQ(estimate.low, 1);
  EXPECT_DOUBLE_EQ(estimate.high, 3);
}

TEST(MedianEstimate, CoversTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int covered = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(40);
    for (double& x : samples) x = skewed(random);
    Estimate estimate = median_estimate(samples);
    covered += estimate.low <= 1 && 1 <= estimate.high ? 1 : 0;
  }
  EXPECT_GE(covered, trials * 0.94);
  EXPECT_LE(covered, trials * 0.99);
}

TEST(ShiftEstimate, FindsAShiftAndClaimsNoneWhereThereIsNone) {
  std::mt19937 random(2);
  std::lognormal_distribution<double> skewed(0, 0.5);
  int false_claims = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> a(30), b(35), shifted;
    for (double& x : a) x = skewed(random);
    for (double& x : b) x = skewed(random);
    Estimate same = shift_estimate(a, b);
    false_claims += same.low > 0 || same.high < 0 ? 1 : 0;
    for (double x : a) shifted.push_back(x + 5);
    Estimate moved = shift_estimate(a, shifted);
    EXPECT_NEAR(moved.median, 5, 1e-9);
    EXPECT_GT(moved.low, 4);
  }
  EXPECT_LE(false_claims, trials * 0.08);
}

}  // namespace
}  // namespace hone::analyze
