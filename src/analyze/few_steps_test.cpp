#include "analyze/few_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Analysis found(int steps, double confidence) {
  Analysis analysis;
  analysis.subject = Subject::kDeviceProgram;
  analysis.step.count = steps;
  analysis.step.confidence = confidence;
  analysis.verdict.cause = Cause::kLaunch;
  analysis.verdict.sentence = "Launch overhead is the largest recoverable cost.";
  analysis.ledger.resize(1);
  analysis.ledger[0].predicted_gain_ms = 11;
  analysis.findings.resize(1);
  return analysis;
}

// Of everything that a recorder records.
trace::Trace with_records(trace::Trace trace) {
  const trace::TrackId thread = trace::add_thread(trace, trace::add_process(trace));
  for (int i = 0; i < 4; ++i)
    trace::add_span(trace, {.on = thread, .category = trace::Category::kRuntime, .from_us = 1.0 * i});
  return trace;
}

TEST(FewSteps, AreNotJudgedWhereNothingSurelyMarksThem) {
  trace::Trace recorded_by_us;
  recorded_by_us.meta.blocks.resize(1);
  Analysis analysis = found(1, 0.28);
  withhold_of_few_steps(with_records(recorded_by_us), analysis);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("Not judged: only 1 step was found"));
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("--steps, --wait"));
  EXPECT_THAT(analysis.findings, IsEmpty());
  EXPECT_EQ(analysis.ledger[0].predicted_gain_ms, 0);

  Analysis of_others = found(2, 0.28);
  withhold_of_few_steps(with_records({}), of_others);
  EXPECT_THAT(of_others.verdict.sentence, HasSubstr("2 steps were found"));
  EXPECT_THAT(of_others.verdict.sentence, HasSubstr("mark them"));
}

// A file of one event, 39.6 µs long.
trace::Trace one_event(trace::Category category) {
  trace::Trace trace;
  const trace::TrackId thread = trace::add_thread(trace, trace::add_process(trace));
  trace::add_span(trace, {.on = thread, .category = category, .name = "it", .from_us = 1, .us = 39.6});
  return trace;
}

TEST(FewSteps, OfNothingButAMarkHaveNoVerdict) {
  Analysis analysis = found(1, 1);
  withhold_of_few_steps(one_event(trace::Category::kRegion), analysis);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_THAT(
      analysis.verdict.sentence,
      HasSubstr("holds nothing of what ran; operators, launches, kernels, further steps are missing"));
  EXPECT_THAT(analysis.findings, IsEmpty());
  EXPECT_EQ(analysis.ledger[0].predicted_gain_ms, 0);
}

TEST(FewSteps, OfOneKernelHaveNoVerdictAndSayWhatIsMissing) {
  Analysis analysis = found(1, 1);
  withhold_of_few_steps(one_event(trace::Category::kKernel), analysis);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_THAT(analysis.verdict.sentence,
              HasSubstr("only 1 record of what ran; operators, launches, further steps are missing"));
}

TEST(FewSteps, OfAKernelThatWasCountedAreJudged) {
  trace::Trace counted = one_event(trace::Category::kKernel);
  counted.counters.resize(1);
  Analysis analysis = found(1, 1);
  withhold_of_few_steps(counted, analysis);
  EXPECT_TRUE(analysis.verdict.given);
}

TEST(FewSteps, AreJudgedWhereTheyAreMarkedOrMore) {
  for (const auto& [steps, confidence] : {std::pair(1, 0.95), std::pair(3, 0.28)}) {
    Analysis analysis = found(steps, confidence);
    withhold_of_few_steps(with_records({}), analysis);
    EXPECT_TRUE(analysis.verdict.given);
    EXPECT_EQ(analysis.findings.size(), 1u);
  }
}

}  // namespace
}  // namespace hone::analyze
