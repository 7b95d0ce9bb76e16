#include "model/zoo/normal_fill.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace hone::model::zoo {
namespace {

std::vector<float> filled(std::size_t count, uint64_t stream, uint64_t seed, bool absolute = false) {
  std::vector<float> values(count, NAN);
  const NormalFill fill{values, stream, 1, 2, absolute};
  fill_normal(std::span(&fill, 1), seed);
  return values;
}

TEST(NormalFill, HasTheMomentsAndTailsOfTheNormalDistribution) {
  const std::vector<float> values = filled(1'000'003, 5, 7);  // several pieces and a ragged end
  double moments[4] = {};
  int beyond_two = 0;
  for (const float value : values) {
    const double x = (static_cast<double>(value) - 1) / 2;
    for (int power = 1; power <= 4; ++power) moments[power - 1] += std::pow(x, power);
    beyond_two += std::abs(x) > 2;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(moments[0] / count, 0, 0.005);
  EXPECT_NEAR(moments[1] / count, 1, 0.007);
  EXPECT_NEAR(moments[2] / count, 0, 0.02);
  EXPECT_NEAR(moments[3] / count, 3, 0.05);
  EXPECT_NEAR(beyond_two / count, 0.0455, 0.001);
}

TEST(NormalFill, DependsOnSeedAndStreamOnly) {
  const std::vector<float> alone = filled(600'001, 5, 7);
  std::vector<float> first(600'001), second(13);
  const std::vector<NormalFill> fills = {{second, 6, 1, 2, false}, {first, 5, 1, 2, false}};
  fill_normal(fills, 7);
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, filled(13, 6, 7));
  EXPECT_NE(filled(13, 5, 8), filled(13, 5, 7));
}

TEST(NormalFill, MakesVariancesPositive) {
  for (const float value : filled(1000, 1, 1, true)) EXPECT_GE(value, 0);
}

TEST(NormalFill, FillsNothing) { fill_normal({}, 1); }

}  // namespace
}  // namespace hone::model::zoo
