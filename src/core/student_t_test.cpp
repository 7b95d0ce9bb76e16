#include "core/student_t.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone {
namespace {

// Tables of the distribution (Abramowitz and Stegun, table 26.10).
TEST(StudentT, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 10), 3.169, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.960, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.8, 4), 0.941, 5e-4);
}

TEST(StudentT, WithOneDegreeOfFreedomIsCauchys) {
  for (const double t : {-30.0, -1.0, -0.2, 0.0, 0.7, 5.0})
    EXPECT_NEAR(student_t_cdf(t, 1), 0.5 + std::atan(t) / M_PI, 1e-13) << t;
}

TEST(StudentT, QuantileAndDistributionAreInverse) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> p(0.001, 0.999), freedom(1, 60);
  for (int i = 0; i < 200; ++i) {
    const double at = p(random), n = freedom(random);
    EXPECT_NEAR(student_t_cdf(student_t_quantile(at, n), n), at, 1e-10);
  }
}

// Means 21 and 23.75, their variances by hand.
TEST(WelchTest, IsTheFormula) {
  const std::vector<double> a = {19, 20, 21, 22, 23}, b = {26, 24, 22, 23};
  const MeansTest test = welch_test(a, b, 0.95);
  EXPECT_DOUBLE_EQ(test.difference, 23.75 - 21);
  const double va = 2.5 / 5, vb = (2.25 * 2.25 + 0.25 * 0.25 + 1.75 * 1.75 + 0.75 * 0.75) / 3 / 4;
  EXPECT_NEAR(test.freedom, (va + vb) * (va + vb) / (va * va / 4 + vb * vb / 3), 1e-12);
  EXPECT_NEAR(test.high - test.difference, student_t_quantile(0.975, test.freedom) * std::sqrt(va + vb),
              1e-9);
  EXPECT_NEAR(test.p, 2 * (1 - student_t_cdf(2.75 / std::sqrt(va + vb), test.freedom)), 1e-12);
  EXPECT_GT(test.detectable, test.high - test.difference);
}

TEST(WelchTest, ValuesWithoutSpreadAreEqualOrSurelyDifferent) {
  const std::vector<double> same = {2, 2}, other = {3, 3};
  EXPECT_EQ(welch_test(same, same, 0.95).p, 1);
  EXPECT_EQ(welch_test(same, other, 0.95).p, 0);
}

// Differences 1, 2, 1, 4: mean 2, variance 2.
TEST(PairedTest, IsTheFormula) {
  const std::vector<double> a = {10, 20, 30, 40}, b = {11, 22, 31, 44};
  const MeansTest test = paired_test(a, b, 0.95);
  EXPECT_TRUE(test.paired);
  EXPECT_DOUBLE_EQ(test.difference, 2);
  EXPECT_DOUBLE_EQ(test.freedom, 3);
  const double error = std::sqrt(2.0 / 4);
  EXPECT_NEAR(test.high - 2, student_t_quantile(0.975, 3) * error, 1e-9);
  EXPECT_NEAR(test.p, 2 * (1 - student_t_cdf(2 / error, 3)), 1e-12);
  EXPECT_GT(welch_test(a, b, 0.95).p, 0.8) << "which sees how far the pairs lie apart";
  EXPECT_FALSE(welch_test(a, b, 0.95).paired);
}

TEST(PairedTest, KeepsItsLevel) {
  std::mt19937 random(12);
  std::normal_distribution<double> shared(5, 4), own(0, 1);
  int claimed = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> a, b;
    for (int run = 0; run < 3; ++run) {
      const double common = shared(random);
      a.push_back(common + own(random));
      b.push_back(common + own(random));
    }
    claimed += paired_test(a, b, 0.95).p < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(claimed, kTrials * 0.05, 5 * std::sqrt(kTrials * 0.05 * 0.95));
}

// Equal means are called different as often as the level says.
TEST(WelchTest, KeepsItsLevel) {
  std::mt19937 random(11);
  std::normal_distribution<double> narrow(5, 1), wide(5, 4);
  int claimed = 0;
  constexpr int kTrials = 4000;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> a(4), b(5);
    for (double& x : a) x = narrow(random);
    for (double& x : b) x = wide(random);
    claimed += welch_test(a, b, 0.95).p < 0.05 ? 1 : 0;
  }
  EXPECT_LT(claimed, kTrials * 0.07);
  EXPECT_GT(claimed, kTrials * 0.03);
}

}  // namespace
}  // namespace hone
