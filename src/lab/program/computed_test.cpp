#include "lab/program/computed.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::lab {
namespace {

TEST(CompareNumbers, AllowsWhatRoundingDoesToALoss) {
  const Computed unchanged{{2.0, 1.9, 1.8}, {}}, rounded{{2.0, 1.91, 1.79}, {}};
  EXPECT_FALSE(compare_numbers(unchanged, unchanged, rounded, Effect::kNone).same);
  const SameNumbers found = compare_numbers(unchanged, unchanged, rounded, Effect::kRounding);
  EXPECT_TRUE(found.same);
  EXPECT_EQ(found.steps, 3);
  EXPECT_NEAR(found.difference, 0.01 / 1.9, 1e-9);
}

TEST(CompareNumbers, AllowsWhatUnchangedRunsDifferBy) {
  const Computed unchanged{{2.0, 1.9}, {}}, again{{2.1, 1.9}, {}}, changed{{2.0, 2.1}, {}};
  EXPECT_TRUE(compare_numbers(unchanged, again, changed, Effect::kNone).same);
  EXPECT_FALSE(compare_numbers(unchanged, unchanged, changed, Effect::kNone).same);
}

TEST(CompareNumbers, NeverAllowsALossThatIsNoNumber) {
  const Computed unchanged{{2.0, 1.9}, {}}, again{{5.0, 0.1}, {}}, broken{{2.0, NAN}, {}};
  EXPECT_FALSE(compare_numbers(unchanged, again, broken, Effect::kRounding).same);
}

TEST(CompareNumbers, TakesTheMeanWhereBatchesComeInAnotherOrder) {
  const Computed unchanged{{3, 1, 2, 2}, {}}, other_order{{1, 3, 2, 2}, {}};
  EXPECT_FALSE(compare_numbers(unchanged, unchanged, other_order, Effect::kRounding).same);
  EXPECT_TRUE(compare_numbers(unchanged, unchanged, other_order, Effect::kOrder).same);
}

TEST(CompareNumbers, TakesOutputsOfProgramsWithoutALoss) {
  const Computed unchanged{{}, {{3, 4}}}, near{{}, {{3, 4.05}}}, far{{}, {{4, 3}}}, longer{{}, {{3, 4, 5}}};
  EXPECT_NEAR(compare_numbers(unchanged, unchanged, near, Effect::kRounding).difference, 0.01, 1e-9);
  EXPECT_TRUE(compare_numbers(unchanged, unchanged, near, Effect::kRounding).same);
  EXPECT_FALSE(compare_numbers(unchanged, unchanged, far, Effect::kRounding).same);
  EXPECT_FALSE(compare_numbers(unchanged, unchanged, longer, Effect::kRounding).same);
}

TEST(CompareNumbers, SaysNothingIsTheSameWhereNothingWasSeen) {
  const SameNumbers found = compare_numbers({{2.0}, {}}, {{2.0}, {}}, {}, Effect::kNone);
  EXPECT_FALSE(found.same);
  EXPECT_THAT(found.sentence, ::testing::HasSubstr("with the change"));
}

}  // namespace
}  // namespace hone::lab
