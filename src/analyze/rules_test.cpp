// The rules of programs on the host.
#include "analyze/rules.h"

#include <gtest/gtest.h>

#include "analyze/testing/advice_words.h"

namespace hone::analyze {
namespace {

// A plan is hone's own; a program on the host may be anybody's.
template <typename Check>
void for_each_advice(Check check) {
  for (const Cause cause : all_causes()) {
    constexpr auto kHone = trace::Framework::kHone;
    check(rule_of(cause, Subject::kPlan).fix.of(kHone), rule_of(cause, Subject::kPlan).caveat, kHone);
    for (int number = 0; number < trace::kFrameworkCount; ++number) {
      const auto framework = static_cast<trace::Framework>(number);
      const CauseRule& rule = rule_of(cause, Subject::kHostProgram);
      check(rule.fix.of(framework), rule.caveat, framework);
    }
  }
}

TEST(HostRules, BeginTheirAdviceWithWhatToDo) {
  for_each_advice([](std::string_view fix, std::string_view, trace::Framework) {
    EXPECT_TRUE(fix.empty() || fix.starts_with("{") || words::begins_with_an_action(fix)) << fix;
  });
}

TEST(HostRules, NameNoFrameworkButTheProgramsOwn) {
  for_each_advice([](std::string_view fix, std::string_view caveat, trace::Framework framework) {
    EXPECT_EQ(words::foreign_name(fix, framework), "") << fix;
    EXPECT_EQ(words::foreign_name(caveat, framework), "") << caveat;
  });
}

TEST(HostRules, OfProgramsThatHoneDoesNotRunDifferWhereTheyMust) {
  EXPECT_EQ(rule_of(Cause::kLaunch, Subject::kHostProgram).gain, Gain::kAboveRecorder);
  EXPECT_EQ(rule_of(Cause::kLaunch, Subject::kHostProgram).id, rule_of(Cause::kLaunch).id);
  EXPECT_EQ(rule_of(Cause::kLayout, Subject::kHostProgram).recoverable, rule_of(Cause::kLayout).recoverable);
  EXPECT_EQ(rule_of(Cause::kLayout, Subject::kHostProgram).caveat, "");
}

}  // namespace
}  // namespace hone::analyze
