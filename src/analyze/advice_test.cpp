// What is told first of what was found.
#include "analyze/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

using testing::ElementsAre;

Finding finding(std::string rule, Cause cause, double gain_ms, std::string fix) {
  Finding row;
  row.rule = std::move(rule);
  row.cause = cause;
  row.predicted_gain_ms = gain_ms;
  row.fix = std::move(fix);
  return row;
}

// A loss of launches wins most, but what keeps the step from being launched at once goes first.
Analysis waiting() {
  Analysis analysis;
  analysis.verdict.cause = Cause::kHostSync;
  analysis.verdict.recoverable_ms = 4;
  analysis.findings = {finding("slow_launches", Cause::kLaunch, 9, "graphs"),
                       finding("host_checks", Cause::kHostSync, 1, "no checks"),
                       finding("tf32_products", Cause::kPrecision, 2, "bf16"),
                       finding("host_waits", Cause::kHostSync, 3, "no waits")};
  order_findings(analysis);
  return analysis;
}

TEST(Findings, OfTheVerdictGoFirstAndThenThoseThatWinMost) {
  std::vector<std::string> rules;
  for (const Finding& row : waiting().findings) rules.push_back(row.rule);
  EXPECT_THAT(rules, ElementsAre("host_waits", "host_checks", "slow_launches", "tf32_products"));
}

TEST(Advice, IsTheFixOfTheFirstFindingWithItsOwnGain) {
  const Advice advice = first_advice(waiting());
  EXPECT_EQ(advice.fix, "no waits");
  EXPECT_EQ(advice.predicted_gain_ms, 3);
  EXPECT_FALSE(advice.is_all);
}

}  // namespace
}  // namespace hone::analyze
