#include "lab/program/trial.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

TEST(ReadApplied, KnowsChangesEditsAndLossesAndPassesTheRestOver) {
  Trial trial;
  read_applied(
      "{\"pid\": 1, \"change\": \"tf32\", \"status\": \"applied\", \"text\": \"in tf32\", \"edit\": "
      "{\"file\": \"a.py\", "
      "\"insertions\": [{\"line\": 2, \"column\": -1, \"text\": \"x\"}, {\"line\": 3, \"column\": 4, "
      "\"text\": \"8\", \"removed\": 1}]}}\n"
      "{\"pid\": 1, \"change\": \"compile\", \"status\": \"refused\", \"text\": \"compiled already\"}\n"
      "no JSON\n{\"losses\": \"none\"}\n"
      "{\"pid\": 1, \"losses\": [1.5, 1.25]}\n{\"pid\": 2, \"losses\": [9]}\n{\"pid\": 1, \"chan",
      trial);
  ASSERT_NE(trial.said("tf32"), nullptr);
  EXPECT_EQ(trial.said("tf32")->status, AppliedChange::Status::kApplied);
  EXPECT_EQ(trial.said("tf32")->edit, (Edit{"a.py", {{2, -1, "x"}, {3, 4, "8", 1}}}));
  EXPECT_EQ(trial.said("compile")->status, AppliedChange::Status::kRefused);
  EXPECT_EQ(trial.said("workers"), nullptr);
  EXPECT_EQ(trial.computed.losses, (std::vector<double>{1.5, 1.25}));
}

TEST(ReadApplied, HoldsAChangeForMadeThatWasMadeOfOneModelOfSeveral) {
  Trial trial;
  read_applied(
      "{\"change\": \"channels_last\", \"status\": \"applied\", \"text\": \"a\"}\n"
      "{\"change\": \"channels_last\", \"status\": \"refused\", \"text\": \"no convolution\"}\n",
      trial);
  EXPECT_EQ(trial.said("channels_last")->status, AppliedChange::Status::kApplied);
}

TEST(TypicalStep, CountsWhatComesEveryFewStepsAndNotOnePause) {
  std::vector<double> steps(40, 10);
  for (std::size_t i = 0; i < steps.size(); i += 5) steps[i] = 20;  // a batch that is waited for
  EXPECT_DOUBLE_EQ(typical_step(steps), 12);
  steps[7] = 5000;  // a checkpoint
  EXPECT_DOUBLE_EQ(typical_step(steps), 12);
  EXPECT_DOUBLE_EQ(typical_step({4, 6}), 5);
  EXPECT_DOUBLE_EQ(typical_step({}), 0);
}

// Stretches of ten of these have one beginning of an epoch or two.
TEST(TypicalStep, IsThatOfWholeEpochsWhereTheseAreKnown) {
  std::vector<double> steps(80, 50);
  for (std::size_t i = 3; i < steps.size(); i += 8) steps[i] = 450;
  EXPECT_DOUBLE_EQ(typical_step(steps, 8), 100);
  EXPECT_DOUBLE_EQ(typical_step(steps), 90);
  EXPECT_DOUBLE_EQ(typical_step(steps, 40), typical_step(steps)) << "two epochs are too few";
}

// Each rank has a batch, and so a loss, of its own; a change that one of them refuses is not in force.
TEST(Trials, OfSeveralRanksHaveTheLossesAndEditsOfTheFirst) {
  Trial trial;
  read_applied(
      R"({"rank": 1, "ranks": 2, "losses": [9, 9]}
{"rank": 1, "ranks": 2, "change": "compile", "status": "applied", "text": "a", "edit": {"file": "f.py", "insertions": []}}
{"rank": 0, "ranks": 2, "change": "compile", "status": "applied", "text": "a", "edit": {"file": "f.py", "insertions": []}}
{"rank": 0, "ranks": 2, "losses": [1, 2]}
{"rank": 0, "ranks": 2, "change": "workers", "status": "applied", "text": "b"}
{"rank": 1, "ranks": 2, "change": "workers", "status": "refused", "text": "no"})",
      trial);
  EXPECT_EQ(trial.ranks, 2);
  EXPECT_EQ(trial.computed.losses, (std::vector<double>{1, 2}));
  EXPECT_EQ(std::count_if(trial.changes.begin(), trial.changes.end(),
                          [](const AppliedChange& each) { return each.edit.has_value(); }),
            1);
  EXPECT_EQ(trial.said("compile")->status, AppliedChange::Status::kApplied);
  EXPECT_EQ(trial.said("workers")->status, AppliedChange::Status::kRefused);
}

TEST(Trials, HaveBlocksInWholePairs) {
  Trial trial;
  read_applied(R"({"order": 1, "block": 1, "on": true, "steps": 4, "ms": 5}
{"block": null}
{"order": 1, "block": 1, "on": true, "steps": 4, "ms": 6}
{"order": 1, "block": 1, "on": false, "steps": 4, "ms": 7}
{"order": 1, "block": 2, "on": false, "steps": 4, "ms": 8}
{"order": 2, "block": 1, "on": false, "steps": 4, "ms": 9})",
               trial);
  EXPECT_FALSE(trial.carries_out_orders);
  EXPECT_EQ(trial.blocks[1].with_ms, std::vector<double>{6});
  EXPECT_EQ(trial.blocks[1].without_ms, std::vector<double>{7});
  EXPECT_TRUE(trial.blocks[2].without_ms.empty());
  read_applied("{\"ready\": true}", trial);
  EXPECT_TRUE(trial.carries_out_orders);
}

}  // namespace
}  // namespace hone::lab
