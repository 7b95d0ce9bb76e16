#include "analyze/training/curves.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

std::vector<CurvePoint> random_curve(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-5, 5);
  std::vector<CurvePoint> curve;
  for (std::size_t i = 0; i < count; ++i) curve.push_back({static_cast<double>(i + 1), value(random)});
  return curve;
}

TEST(Curves, SmoothingLooksBackOnly) {
  const std::vector<CurvePoint> curve = random_curve(101);
  const std::vector<CurvePoint> smooth = smoothed(curve, 7);
  ASSERT_EQ(smooth.size(), curve.size());
  EXPECT_EQ(smooth[0].y, curve[0].y);
  double sum = 0;
  for (std::size_t i = 94; i <= 100; ++i) sum += curve[i].y;
  EXPECT_NEAR(smooth[100].y, sum / 7, 1e-12);
  std::vector<CurvePoint> changed = curve;
  changed[60].y += 100;
  EXPECT_EQ(smoothed(changed, 7)[59].y, smooth[59].y);
}

TEST(Curves, ThinningKeepsEveryExtreme) {
  const std::vector<CurvePoint> curve = random_curve(1003);
  const std::vector<ThinnedPoint> thin = thinned(curve, 50);
  EXPECT_LE(thin.size(), 50U);
  double low = INFINITY, high = -INFINITY, all_low = INFINITY, all_high = -INFINITY;
  for (const ThinnedPoint& point : thin) {
    low = std::min(low, point.low);
    high = std::max(high, point.high);
    EXPECT_LE(point.low, point.y);
    EXPECT_GE(point.high, point.y);
  }
  for (const CurvePoint& point : curve) {
    all_low = std::min(all_low, point.y);
    all_high = std::max(all_high, point.y);
  }
  EXPECT_EQ(low, all_low);
  EXPECT_EQ(high, all_high);
  EXPECT_EQ(thinned(curve, 5000).size(), curve.size());
  EXPECT_TRUE(thinned({}, 5).empty());
}

TEST(Curves, ValuesBetweenPointsLieOnTheLine) {
  const std::vector<CurvePoint> curve = {{1, 10}, {3, 20}, {7, 0}};
  EXPECT_EQ(value_at(curve, 2), 15);
  EXPECT_EQ(value_at(curve, 6), 5);
  EXPECT_EQ(value_at(curve, 0), 10);
  EXPECT_EQ(value_at(curve, 9), 0);
  EXPECT_TRUE(std::isnan(value_at({}, 1)));
}

TEST(Curves, StepsWithoutANumberAreLeftOut) {
  const std::vector<TrainingStep> log = {{1, 3, 0, 0, 0, 0}, {2, NAN, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0}};
  const std::vector<CurvePoint> curve = curve_of(log, &TrainingStep::loss);
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_EQ(curve[1].x, 3);
}

}  // namespace
}  // namespace hone::analyze
