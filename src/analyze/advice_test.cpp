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

// Of two that win as much the one that asks less; what is another's code, after what its reader can do.
TEST(Findings, AskLessFirst) {
  Analysis analysis;
  analysis.findings = {finding("host_waits", Cause::kHostSync, 5.2, "code"),
                       finding("odd_sizes", Cause::kKernelInefficiency, 5.1, "model"),
                       finding("host_checks", Cause::kHostSync, 9, "package"),
                       finding("tf32_products", Cause::kPrecision, 5, "setting")};
  const Effort efforts[] = {Effort::kCode, Effort::kModel, Effort::kPackage, Effort::kSetting};
  for (std::size_t k = 0; k < 4; ++k) analysis.findings[k].effort = efforts[k];
  order_findings(analysis);
  std::vector<std::string> fixes;
  for (const Finding& row : analysis.findings) fixes.push_back(row.fix);
  EXPECT_THAT(fixes, ElementsAre("setting", "code", "model", "package"));
}

TEST(Effort, HasANameAndAWeightThatFallsWithIt) {
  for (int i = 0; i < kEffortCount; ++i) {
    EXPECT_FALSE(effort_name(static_cast<Effort>(i)).empty());
    if (i > 0) {
      EXPECT_LT(weight_of(static_cast<Effort>(i)), weight_of(static_cast<Effort>(i - 1)));
    }
  }
}

TEST(Advice, IsTheFixOfTheFirstFindingWithItsOwnGain) {
  const Advice advice = first_advice(waiting());
  EXPECT_EQ(advice.fix, "no waits");
  EXPECT_EQ(advice.predicted_gain_ms, 3);
  EXPECT_FALSE(advice.is_all);
}

}  // namespace
}  // namespace hone::analyze
