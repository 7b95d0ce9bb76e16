#include "observe/session/sampling.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::observe {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr int64_t kMillisecond = 1'000'000;

TEST(Sampling, DividesAStepAsFarAsTheRecorderCanReadAndTheTraceStaysSmall) {
  EXPECT_EQ(sampling_interval_ns(0), 200'000);
  EXPECT_EQ(sampling_interval_ns(1 * kMillisecond), 200'000);
  EXPECT_EQ(sampling_interval_ns(90 * kMillisecond), 450'000);
  EXPECT_EQ(sampling_interval_ns(2'000 * kMillisecond), 1'000'000);
  EXPECT_EQ(sampling_interval_ns(60'000 * kMillisecond), 24'000'000);
}

TEST(Sampling, AsksForEachMetricByAllItsNames) {
  const std::array<uint32_t, 2> devices = {0, 3};
  const std::string request = sampling_request(devices, 100'000);
  EXPECT_THAT(request,
              HasSubstr("\nmetric dram__bytes_read.sum.per_second dram__bytes_op_read.sum.per_second\n"));
  EXPECT_THAT(request, EndsWith("\nsample 0 100000\nsample 3 100000\n"));
}

}  // namespace
}  // namespace hone::observe
