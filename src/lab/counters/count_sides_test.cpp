// What is counted, and what is said, before any plan is looked at.
#include "lab/counters/count_sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The warnings of an experiment that has nothing to count.
std::vector<std::string> said(double budget_s, double spent_s, const std::string& why_not = {}) {
  const auto provider = runtime::testing::cpu_provider(1);
  CountPlanOptions plans;
  plans.why_not = why_not;
  return count_sides({}, {.provider = *provider,
                          .inputs = {},
                          .plans = plans,
                          .budget_s = budget_s,
                          .seconds_spent = [=] { return spent_s; },
                          .analyse = {},
                          .keep_going = [](const std::string&) { return true; }});
}

TEST(CountSides, HaveAFifthOfTheBudgetWhereAllOfItIsUsedUp) {
  EXPECT_THAT(said(40, 10), IsEmpty());
  EXPECT_THAT(said(40, 400), IsEmpty());
  EXPECT_THAT(said(3, 1), ElementsAre("no hardware counters of the plans: --budget leaves no time for them"));
}

TEST(CountSides, SayWhyThereCanBeNone) {
  EXPECT_THAT(said(40, 0, "the recorder is not installed"),
              ElementsAre("no hardware counters of the plans: the recorder is not installed"));
}

}  // namespace
}  // namespace hone::lab
