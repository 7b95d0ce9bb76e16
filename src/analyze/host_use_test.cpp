#include "analyze/host_use.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

std::map<std::string, double> values(const trace::Trace& trace) {
  std::map<std::string, double> values;
  for (const Metric& metric : host_use_metrics(trace, 0, 20)) values[metric.name] = metric.value;
  return values;
}

TEST(HostUseMetrics, AreOfAllBlocksOfTheRankAndOfAStep) {
  trace::Trace trace;
  trace::HostUse use;
  use.seconds = 1;
  use.main_in_line_s = 0.1;
  use.bytes_read = 6e8;
  use.major_faults = 300;
  trace.host_use = {use, use, use};
  trace.host_use[1] = {};
  trace.host_use[1].seconds = 1;
  trace.host_use[2].rank = 1;
  const auto found = values(trace);
  EXPECT_DOUBLE_EQ(found.at("cpu_wait_ms"), 1);
  EXPECT_DOUBLE_EQ(found.at("disk_read_gb_per_s"), 0.3);
  EXPECT_DOUBLE_EQ(found.at("major_faults"), 3);
}

TEST(HostUseWarnings, AreOfAMainThreadThatHadNoCpuForLong) {
  trace::Trace trace;
  trace::HostUse use;
  use.seconds = 2;
  use.main_in_line_s = 0.1;
  trace.host_use = {use};
  EXPECT_THAT(host_use_warnings(trace, 0), ::testing::IsEmpty());
  trace.host_use[0].main_in_line_s = 1.6;
  EXPECT_THAT(host_use_warnings(trace, 0),
              ::testing::ElementsAre(::testing::HasSubstr("for 80.0 % of the time")));
  EXPECT_THAT(host_use_warnings(trace, 1), ::testing::IsEmpty());
}

TEST(HostUseMetrics, TellNothingThatIsNotWorthTelling) {
  trace::Trace trace;
  EXPECT_THAT(values(trace), ::testing::IsEmpty());
  trace::HostUse use;
  use.seconds = 1;
  use.bytes_read = 4096;
  trace.host_use = {use};
  EXPECT_THAT(values(trace), ::testing::IsEmpty());
}

}  // namespace
}  // namespace hone::analyze
