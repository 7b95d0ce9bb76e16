// The table of rules: what programs, CI and tests hold on to.
#include "analyze/device/rules/tables.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

TEST(Rules, AreKnownByNamesOfTheirOwn) {
  std::set<std::string> ids;
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    EXPECT_EQ(row.rule, static_cast<Rule>(i)) << row.id;
    EXPECT_EQ(row.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << row.id;
    EXPECT_FALSE(row.id.empty()) << row.title;
    EXPECT_TRUE(ids.insert(std::string(row.id)).second) << row.id;
  }
}

TEST(Rules, HaveOneForEachCauseOfWhichNothingMoreIsKnown) {
  for (int i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(row_of(general_rule(cause)).cause, cause) << cause_name(cause);
    EXPECT_EQ(row_of(cause, Rule::kFloor).rule, general_rule(cause));
  }
  EXPECT_EQ(row_of(Cause::kPrecision, Rule::kTf32Products).rule, Rule::kTf32Products);
  EXPECT_EQ(row_of(Cause::kKernelInefficiency, Rule::kTf32Products).rule, Rule::kKernelsBelowRoof);
}

TEST(Rules, AdviseProgramsOfEveryFramework) {
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    for (int framework = 0; framework < trace::kFrameworkCount; ++framework)
      EXPECT_EQ(row.fix.of(static_cast<trace::Framework>(framework)).empty(), row.cause == Cause::kFloor)
          << row.id;
    EXPECT_EQ(row.fix.of(trace::Framework::kJax).find("torch"), std::string_view::npos) << row.id;
    EXPECT_EQ(row.fix.of(trace::Framework::kNative).find("torch"), std::string_view::npos) << row.id;
  }
}

}  // namespace
}  // namespace hone::analyze::device
