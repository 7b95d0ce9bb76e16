#include "lab/program/trial.h"

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

TEST(ReadApplied, KnowsChangesEditsAndLossesAndPassesTheRestOver) {
  Trial trial;
  read_applied(
      "{\"pid\": 1, \"change\": \"tf32\", \"status\": \"applied\", \"text\": \"in tf32\", \"edit\": "
      "{\"file\": \"a.py\", "
      "\"insertions\": [{\"line\": 2, \"column\": -1, \"text\": \"x\"}]}}\n"
      "{\"pid\": 1, \"change\": \"compile\", \"status\": \"refused\", \"text\": \"compiled already\"}\n"
      "no JSON\n{\"losses\": \"none\"}\n"
      "{\"pid\": 1, \"losses\": [1.5, 1.25]}\n{\"pid\": 2, \"losses\": [9]}\n{\"pid\": 1, \"chan",
      trial);
  ASSERT_NE(trial.said("tf32"), nullptr);
  EXPECT_EQ(trial.said("tf32")->status, AppliedChange::Status::kApplied);
  EXPECT_EQ(trial.said("tf32")->edit, (Edit{"a.py", {{2, -1, "x"}}}));
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

}  // namespace
}  // namespace hone::lab
