#include "lab/experiment/phases.h"

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

void wait_ms(int ms) {
  for (const int64_t end = now_ns() + ms * 1'000'000; now_ns() < end;) {
  }
}

TEST(PhaseClock, ChargesEveryMomentToOnePhase) {
  PhaseClock clock;
  const int64_t start = now_ns();
  EXPECT_EQ(clock.enter("a"), "");
  wait_ms(3);
  EXPECT_EQ(clock.enter("b"), "a");
  wait_ms(2);
  EXPECT_EQ(clock.enter("a"), "b");
  wait_ms(1);
  const auto& times = clock.times();
  const double whole = static_cast<double>(now_ns() - start) * 1e-9;
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "a");
  EXPECT_GE(times[0].seconds, 4e-3);
  EXPECT_GE(times[1].seconds, 2e-3);
  EXPECT_NEAR(times[0].seconds + times[1].seconds, whole, 0.1 * whole);
  EXPECT_GE(clock.seconds(), whole * 0.9);
}

}  // namespace
}  // namespace hone::lab
