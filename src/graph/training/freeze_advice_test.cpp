#include "graph/training/freeze_advice.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "graph/training/optimizer.h"

namespace hone::graph {
namespace {

using Names = std::vector<std::string>;
using ::testing::ElementsAre;

TEST(FreezeAdvice, NamesTheOutermostModuleThatHoldsNothingElse) {
  EXPECT_THAT(freeze_patterns(Names{"net.a.weight", "net.a.bias", "net.b.weight"}, Names{"net.c.weight"}),
              ElementsAre("net.a.*", "net.b.weight"));
  EXPECT_THAT(freeze_patterns(Names{"inc.1.weight", "inc.2.weight"}, Names{"head.weight"}),
              ElementsAre("inc.*"));
  EXPECT_THAT(freeze_patterns(Names{"w1", "w2"}, Names{"w3"}), ElementsAre("w1", "w2"));
}

TEST(FreezeAdvice, MatchesWhatIsToBeFrozenAndNothingElse) {
  const Names frozen = {"a/x/w", "a/x/b", "a/y/w", "ab/w", "c.w", "c.b"}, others = {"a/y/b", "d.w", "ab2/w"};
  const Names patterns = freeze_patterns(frozen, others);
  const auto matches = [&](const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches_pattern(pattern, name); });
  };
  for (const std::string& name : frozen) EXPECT_TRUE(matches(name)) << name;
  for (const std::string& name : others) EXPECT_FALSE(matches(name)) << name;
}

TEST(FreezeAdvice, ShowsThreeAndCountsTheRest) {
  EXPECT_EQ(freeze_advice(Names{"a", "b", "c", "d", "e"}, Names{"f"}),
            "freeze what lies before it, with [model] freeze = [\"a\", \"b\", \"c\", … 2 more] (5 weights; 1 "
            "left to train)");
  EXPECT_EQ(freeze_advice(Names{"a"}, {}),
            "every weight lies before it: frozen, none would be left to train");
}

}  // namespace
}  // namespace hone::graph
