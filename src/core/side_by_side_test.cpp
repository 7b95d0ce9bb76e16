#include "core/side_by_side.h"

#include <atomic>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/no_threads.h"

namespace hone {
namespace {

TEST(SideBySide, EachIsCalledOnce) {
  for (const std::size_t count : {1u, 2u, 7u}) {
    std::atomic<std::size_t> sum = 0;
    side_by_side(count, [&](std::size_t i) { sum += i + 1; });
    EXPECT_EQ(sum, count * (count + 1) / 2);
  }
}

TEST(SideBySide, NothingIsCalledWhereThereIsNoWork) {
  side_by_side(0, [](std::size_t i) { ADD_FAILURE() << i; });
}

TEST(SideBySide, AllOfALongListAreDone) {
  std::vector<std::atomic<int>> done(500);
  each_side_by_side(done.size(), [&](std::size_t i) { ++done[i]; });
  for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
}

TEST(SideBySide, AllOfAListAreDoneWhereTheSystemGrantsNoThreads) {
  const NoThreads none;
  if (!none.enforced()) GTEST_SKIP() << "threads cannot be refused here";
  std::vector<int> done(7);
  each_side_by_side(done.size(), [&](std::size_t i) { ++done[i]; });
  EXPECT_EQ(done, std::vector<int>(7, 1));
}

TEST(SideBySide, AnExceptionComesBackWhenAllHaveEnded) {
  for (const std::size_t thrower : {0u, 2u}) {
    std::atomic<int> ended = 0;
    const auto work = [&](std::size_t i) {
      if (i == thrower) throw std::bad_alloc();
      ++ended;
    };
    EXPECT_THROW(side_by_side(4, work), std::bad_alloc);
    EXPECT_EQ(ended, 3);
  }
}

}  // namespace
}  // namespace hone
