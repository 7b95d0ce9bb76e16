#include "trace/link/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

using ::testing::ElementsAre;
using Places = std::vector<uint32_t>;

TEST(WaitPeriod, IsTheLaunchesFromOneWaitToTheNext) {
  const WaitPeriod found = find_wait_period(Places{3, 403, 803, 1203});
  EXPECT_EQ(found.length, 400);
  EXPECT_THAT(found.places, ElementsAre(3, 403, 803, 1203));
}

TEST(WaitPeriod, CountsWaitsWithoutALaunchBetweenThemOnce) {
  EXPECT_EQ(find_wait_period(Places{5, 5, 15, 15, 25, 25, 35}).length, 10);
}

TEST(WaitPeriod, IsNoneWhereWaitsComeAsItHappens) {
  EXPECT_FALSE(find_wait_period(Places{3, 10, 60, 61, 90}).found());
  EXPECT_FALSE(find_wait_period(Places{3, 13, 23}).found());
  EXPECT_FALSE(find_wait_period(Places{}).found());
}

// A step of one launch is what every launch with a wait behind it looks like.
TEST(WaitPeriod, IsMoreThanALaunch) { EXPECT_FALSE(find_wait_period(Places{1, 2, 3, 4, 5, 6}).found()); }

TEST(WaitPeriod, BearsAStepThatIsUnlikeTheOthers) {
  EXPECT_EQ(find_wait_period(Places{0, 10, 20, 30, 40, 57, 67, 77, 87}).length, 10);
}

// Blocks begin and end in the middle of steps.
TEST(WaitPeriod, DoesNotCountOverInterruptions) {
  EXPECT_EQ(find_wait_period(Places{4, 14, 20, 30, 33, 43}, Places{16, 31}).length, 10);
  EXPECT_EQ(find_wait_period(Places{4, 14, 20, 30, 33, 43}, Places{14, 30}).length, 10);
  EXPECT_FALSE(find_wait_period(Places{4, 14, 20, 30, 33, 43}).found());
}

}  // namespace
}  // namespace hone::trace::link
