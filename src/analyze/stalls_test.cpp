#include "analyze/stalls.h"

#include <vector>

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

// The steps of a training whose loader has four processes, too slow: of a ResNet-50 on JPEG files on an H100.
const std::vector<double> kTooFewLoaders = {41, 41, 42,  392, 42, 37,  39, 425, 54,
                                            43, 45, 425, 44,  48, 108, 45, 43};

TEST(Stalls, RecurWhereEveryFewStepsOneWaits) {
  const Stalls stalls = find_stalls(kTooFewLoaders);
  EXPECT_TRUE(stalls.recur);
  EXPECT_EQ(stalls.count, 4);
  EXPECT_EQ(stalls.counted.size(), 17u);
  EXPECT_DOUBLE_EQ(stalls.typical_ms, 44);
  EXPECT_NEAR(stalls.mean_ms, 112.6, 0.1);
  EXPECT_NEAR(stalls.cost_ms(), 68.6, 0.1);
}

TEST(Stalls, AreNotOneOrTwoInterruptions) {
  EXPECT_FALSE(find_stalls(std::vector<double>{10, 10, 90, 10, 10, 10}).recur);
  EXPECT_FALSE(find_stalls(std::vector<double>{10, 10, 90, 10, 80, 10}).recur);
  EXPECT_EQ(find_stalls(std::vector<double>{10, 10, 90, 10, 80, 10}).cost_ms(), 0);
}

TEST(Stalls, AreNotOneLongInterruptionAndSmallOnes) {
  EXPECT_FALSE(find_stalls(std::vector<double>{10, 14, 10, 10, 14, 10, 10, 200, 10, 10, 10, 10, 10}).recur);
}

TEST(Stalls, AreNotTheWarmUp) {
  const Stalls stalls = find_stalls(std::vector<double>{500, 90, 60, 10, 10, 10, 10, 10});
  EXPECT_FALSE(stalls.recur);
  EXPECT_EQ(stalls.counted.front(), 3u);
  EXPECT_DOUBLE_EQ(stalls.mean_ms, 10);
}

TEST(Stalls, AreNotWhereTheRecorderHeldTheStepUp) {
  const std::vector<double> times = {10, 10, 40, 10, 10, 40, 10, 10, 40, 10, 10};
  EXPECT_TRUE(find_stalls(times).recur);
  const std::vector<char> follows = {0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1};
  const Stalls stalls = find_stalls(times, follows);
  EXPECT_FALSE(stalls.recur);
  EXPECT_EQ(stalls.counted.size(), 7u);
}

TEST(Stalls, OfNoStepsAreNone) { EXPECT_FALSE(find_stalls({}).recur); }

TEST(Stalls, AreNotNoise) {
  const std::vector<double> times = {10, 11, 13.5, 9, 10, 12, 13.2, 10, 11, 9, 10, 13.1, 10};
  EXPECT_FALSE(find_stalls(times).recur);
}

}  // namespace
}  // namespace hone::analyze
