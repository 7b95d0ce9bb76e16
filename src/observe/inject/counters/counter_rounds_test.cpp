#include "observe/inject/counters/counter_rounds.h"

#include <string>

#include <gtest/gtest.h>

namespace hone::observe::inject {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint32_t kGrid[3] = {4, 1, 1}, kBlock[3] = {128, 1, 1};

class RoundsOfCounting : public ::testing::Test {
 protected:
  void begin(const std::string& kernels, uint32_t instances, size_t groups, bool each_once = false) {
    std::vector<WantedKernel> wanted;
    for (const char kernel : kernels) wanted.push_back({{kernel}, 0, {4, 1, 1}, {128, 1, 1}, instances});
    rounds.begin(std::move(wanted), groups, each_once, 3 * kSecond, now);
  }
  // As the recorder does it: a letter a kernel. Returns what was counted: the kernel, and the group's number.
  std::string launch(const std::string& kernels) {
    std::string counted;
    for (const char kernel : kernels) {
      now += kSecond / 1000;
      CounterRounds::Wanted* wanted = rounds.find(std::string(1, kernel).c_str(), kGrid, kBlock, now);
      if (!wanted || !rounds.is_due(*wanted, now)) continue;
      counted += kernel + std::to_string(rounds.take(*wanted)) + ' ';
      rounds.count(*wanted, false, now);
    }
    return counted;
  }

  CounterRounds rounds;
  int64_t now = 0;
};

TEST_F(RoundsOfCounting, BeginWithTheLastGroupAndEndWithIt) {
  begin("a", 3, 2);
  EXPECT_EQ(launch("aaaaaaaaa"), "a1 a0 a0 a0 a1 a1 ");
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, CountEveryKernelOnceBeforeOneIsCountedTwice) {
  begin("ab", 2, 1);
  EXPECT_EQ(launch("aaabbbba"), "a0 b0 b0 a0 ");
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, CountGroupsOnceWhereThatIsAsked) {
  begin("a", 3, 4, true);
  EXPECT_EQ(launch("aaaaaaaaa"), "a3 a0 a1 a2 ");
}

TEST_F(RoundsOfCounting, WaitOnceForAKernelThatDoesNotCome) {
  begin("ab", 3, 1);
  EXPECT_EQ(launch("aaa"), "a0 ");
  now += 2 * kSecond + 1;
  EXPECT_EQ(launch("aaaa"), "a0 a0 ");
  EXPECT_FALSE(rounds.done(now));
  now += 2 * kSecond + 1;
  launch("a");
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, CountAKernelThatComesLateForAllThatItHasMissed) {
  begin("ab", 2, 2);
  launch("a");
  now += 2 * kSecond + 1;
  EXPECT_EQ(launch("aababbaabb"), "a0 a0 b1 b0 b0 a1 b1 ");
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, EndWhenNoWantedKernelIsLaunchedAnyMore) {
  begin("a", 3, 1);
  launch("a");
  now += 2 * kSecond;
  launch("x");
  EXPECT_FALSE(rounds.done(now));
  now += 2 * kSecond;
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, CountAnotherLaunchInThePlaceOfOne) {
  begin("a", 1, 1);
  CounterRounds::Wanted* wanted = rounds.find("a", kGrid, kBlock, now);
  rounds.count(*wanted, true, now);
  EXPECT_FALSE(rounds.done(now));
  EXPECT_EQ(launch("a"), "a0 ");
  EXPECT_TRUE(rounds.done(now));
}

TEST_F(RoundsOfCounting, TakeNoOtherGeometry) {
  begin("a", 1, 1);
  const uint32_t other[3] = {8, 1, 1};
  EXPECT_EQ(rounds.find("a", other, kBlock, now), nullptr);
  EXPECT_EQ(rounds.find("a", kGrid, other, now), nullptr);
  EXPECT_EQ(launch("a"), "a0 ");
}

}  // namespace
}  // namespace hone::observe::inject
