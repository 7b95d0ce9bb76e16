#include "analyze/few_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Analysis found(int steps, double confidence) {
  Analysis analysis;
  analysis.step.count = steps;
  analysis.step.confidence = confidence;
  analysis.verdict.cause = Cause::kLaunch;
  analysis.verdict.sentence = "Launch overhead is the largest recoverable cost.";
  analysis.ledger.resize(1);
  analysis.ledger[0].predicted_gain_ms = 11;
  analysis.findings.resize(1);
  return analysis;
}

TEST(FewSteps, AreNotJudgedWhereNothingSurelyMarksThem) {
  trace::Meta recorded_by_us;
  recorded_by_us.blocks.resize(1);
  Analysis analysis = found(1, 0.28);
  withhold_of_few_steps(recorded_by_us, analysis);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("Not judged: only 1 step was found"));
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("--steps, --wait"));
  EXPECT_THAT(analysis.findings, IsEmpty());
  EXPECT_EQ(analysis.ledger[0].predicted_gain_ms, 0);

  Analysis of_others = found(2, 0.28);
  withhold_of_few_steps({}, of_others);
  EXPECT_THAT(of_others.verdict.sentence, HasSubstr("2 steps were found"));
  EXPECT_THAT(of_others.verdict.sentence, HasSubstr("mark them"));
}

TEST(FewSteps, AreJudgedWhereTheyAreMarkedOrMore) {
  for (const auto& [steps, confidence] : {std::pair(1, 0.95), std::pair(3, 0.28)}) {
    Analysis analysis = found(steps, confidence);
    withhold_of_few_steps({}, analysis);
    EXPECT_TRUE(analysis.verdict.given);
    EXPECT_EQ(analysis.findings.size(), 1u);
  }
}

}  // namespace
}  // namespace hone::analyze
