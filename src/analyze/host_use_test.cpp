#include "analyze/host_use.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

std::map<std::string, double> values(const trace::Trace& trace) {
  std::map<std::string, double> values;
  for (const Metric& metric : host_use_metrics(total_host_use(trace, 0), 20))
    values[metric.name] = metric.value;
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

trace::HostUse in_line_for(double share) {
  trace::HostUse use;
  use.seconds = 2;
  use.main_in_line_s = 2 * share;
  return use;
}

Analysis judged_program(Subject subject, double idle_share) {
  Analysis analysis;
  analysis.subject = subject;
  analysis.verdict.cause = Cause::kLaunch;
  analysis.ledger.resize(2);
  analysis.ledger[0].share = 1 - idle_share;
  analysis.ledger[1].cause = Cause::kLaunch;
  analysis.ledger[1].share = idle_share;
  analysis.ledger[1].predicted_gain_ms = 3;
  analysis.findings.resize(1);
  analysis.findings[0].predicted_gain_ms = 3;
  return analysis;
}

TEST(WithoutCpu, IsAWarningWhereTheMainThreadStoodInLineForSomeOfTheTime) {
  Analysis analysis = judged_program(Subject::kHostProgram, 0.5);
  tell_without_cpu(in_line_for(0.05), analysis);
  EXPECT_THAT(analysis.warnings, ::testing::IsEmpty());
  tell_without_cpu(in_line_for(0.15), analysis);
  EXPECT_THAT(analysis.warnings, ::testing::ElementsAre(::testing::HasSubstr("for 15.0 % of the time")));
  EXPECT_EQ(analysis.verdict.cause, Cause::kLaunch);
  EXPECT_TRUE(analysis.lacked_cpu());
}

TEST(WithoutCpu, LeavesNoVerdictWhereItStoodThereForLong) {
  Analysis analysis = judged_program(Subject::kHostProgram, 0.5);
  tell_without_cpu(in_line_for(0.33), analysis);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_EQ(analysis.verdict.cause, std::nullopt);
  EXPECT_THAT(analysis.verdict.sentence, ::testing::HasSubstr("did not get a CPU"));
  EXPECT_EQ(analysis.ledger[1].predicted_gain_ms, 0);
  EXPECT_EQ(analysis.findings[0].predicted_gain_ms, 0);
}

TEST(WithoutCpu, DoesNotMatterToADeviceThatIsBusyAllTheSame) {
  Analysis busy = judged_program(Subject::kDeviceProgram, 0.05);
  tell_without_cpu(in_line_for(0.5), busy);
  EXPECT_TRUE(busy.verdict.given);
  EXPECT_FALSE(busy.lacked_cpu());
  Analysis idle = judged_program(Subject::kDeviceProgram, 0.5);
  tell_without_cpu(in_line_for(0.5), idle);
  EXPECT_FALSE(idle.verdict.given);
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
