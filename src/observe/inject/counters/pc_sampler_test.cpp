#include "observe/inject/counters/pc_sampler.h"

#include <gtest/gtest.h>

namespace hone::observe::inject {
namespace {

TEST(SamplingPeriod, IsLongerForLongerKernelsWithinWhatCuptiTakes) {
  EXPECT_EQ(sampling_period(100), 5u);  // 32 cycles: no shorter one is to be had
  EXPECT_EQ(sampling_period(100e3), 10u);
  EXPECT_EQ(sampling_period(1e6), 13u);
  EXPECT_EQ(sampling_period(60e9), 20u);
}

TEST(SamplingPeriod, IsOneForKernelsOfUnknownLength) {
  EXPECT_EQ(sampling_period(0), 12u);
  EXPECT_EQ(sampling_period(-1), 12u);
}

}  // namespace
}  // namespace hone::observe::inject
