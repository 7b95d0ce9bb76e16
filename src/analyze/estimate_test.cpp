#include "analyze/estimate.h"

#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(MedianEstimate, IsTheIntervalWhereThereAreEnoughSamples) {
  const std::vector<double> samples = {9, 1, 8, 2, 7, 3, 6, 4, 5};
  const Estimate estimate = median_estimate(samples);  // n = 9 at 95 %: the 2nd and the 8th
  EXPECT_DOUBLE_EQ(estimate.median, 5);
  EXPECT_DOUBLE_EQ(estimate.low, 2);
  EXPECT_DOUBLE_EQ(estimate.high, 8);
}

TEST(MedianEstimate, IsTheWholeRangeOfTooFewSamples) {
  const std::vector<double> samples = {3, 1, 2};
  const Estimate estimate = median_estimate(samples);
  EXPECT_DOUBLE_EQ(estimate.low, 1);
  EXPECT_DOUBLE_EQ(estimate.high, 3);
  EXPECT_DOUBLE_EQ(median_estimate({}).high, 0);
}

TEST(ShiftEstimate, IsSureOfAShiftOnlyWithEnoughSamples) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6, 7, 8}, b = {21, 22, 23, 24, 25, 26, 27, 28};
  const Shift shift = shift_estimate(a, b);
  EXPECT_TRUE(shift.sure);
  EXPECT_DOUBLE_EQ(shift.change.median, 20);
  EXPECT_GT(shift.change.low, 13);
  const Shift two = shift_estimate(std::span(a).first(2), std::span(b).first(2));
  EXPECT_FALSE(two.sure);
  EXPECT_DOUBLE_EQ(two.change.low, 19);
  EXPECT_DOUBLE_EQ(two.change.high, 21);
  EXPECT_FALSE(shift_estimate({}, b).sure);
}

}  // namespace
}  // namespace hone::analyze
