// The step that nobody records, where the recorder takes turns: measured, told as measured, and what gains are counted from.
#include "analyze/unrecorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "trace/import/segments/reader.h"
#include "trace/link/link.h"
#include "trace/testing/observed_program.h"

namespace hone::analyze {
namespace {

using testing::HasSubstr;
using trace::segments::Mode, trace::segments::ObservedProgram;

trace::Trace linked_trace(const ObservedProgram& program) {
  Result<trace::segments::SegmentFile> segment = trace::segments::read_segment(program.writer.bytes());
  EXPECT_TRUE(segment.ok());
  if (!segment.ok()) return {};
  trace::Trace linked = std::move(segment->file.trace);
  EXPECT_TRUE(trace::link_trace(linked).ok());
  return linked;
}

Analysis analysis_of(const ObservedProgram& program) {
  const Result<Analysis> analysis = analyze_trace(linked_trace(program), {}, {});
  EXPECT_TRUE(analysis.ok()) << (analysis.ok() ? "" : analysis.error().message);
  return analysis.ok() ? *analysis : Analysis{};
}

// 40 launches a step, of which the host takes 100 µs each and the device 2 µs: the host alone decides. Recording makes it
// take 120 µs, and once that was done, 105.
ObservedProgram launch_bound(bool marked_before = true) {
  ObservedProgram program;
  program.launches.assign(40, {"aten::mul", "mul"});
  if (marked_before) program.block(Mode::kLeftAlone, 40);
  for (int i = 0; i < 6; ++i) {
    program.block(Mode::kTimeline, 6).block(Mode::kLeftAlone, 8);
    if (i % 3 == 1) program.block(Mode::kOperators, 3);
  }
  program.finish();
  return program;
}

TEST(UnrecordedStep, IsMeasuredBeforeAnythingIsRecorded) {
  const trace::Trace trace = linked_trace(launch_bound());
  const auto measured = measured_steps(trace.meta, 0);
  ASSERT_TRUE(measured.has_value());
  EXPECT_FALSE(measured->attached);
  EXPECT_EQ(measured->parts, 12);
  EXPECT_NEAR(measured->unrecorded.median, 4.0, 1e-6);
  EXPECT_NEAR(measured->recorded.median, 4.8, 1e-6);
  EXPECT_NEAR(measured->cost.change.median, 0.8, 1e-6);
  ASSERT_TRUE(measured->left_behind.has_value());
  EXPECT_NEAR(measured->left_behind->change.median, 0.2, 1e-6);
}

TEST(UnrecordedStep, IsThatOfAnAttachedRecorderWhereNothingWasMarkedBefore) {
  const Analysis analysis = analysis_of(launch_bound(false));
  ASSERT_TRUE(analysis.step.unrecorded_ms.has_value());
  EXPECT_TRUE(analysis.step.unrecorded_measured);
  EXPECT_NEAR(analysis.step.unrecorded_ms->median, 4.2, 0.01);
  EXPECT_THAT(analysis.step.notes, testing::Contains(HasSubstr("an attached recorder may still slow")));
}

TEST(UnrecordedStep, IsNotMeasuredByOnePart) {
  trace::Meta meta;
  meta.block_steps = {{0, 1, trace::BlockMode::kTimeline, 4, 2e6, true},
                      {0, 2, trace::BlockMode::kLeftAlone, 4, 1e6}};
  EXPECT_FALSE(measured_steps(meta, 0).has_value());
  meta.block_steps.push_back({0, 3, trace::BlockMode::kLeftAlone, 4, 1e6});
  EXPECT_TRUE(measured_steps(meta, 0).has_value());
  EXPECT_FALSE(measured_steps(meta, 1).has_value());
}

TEST(UnrecordedStep, IsToldAsMeasuredBesideTheRecordedOne) {
  const Analysis analysis = analysis_of(launch_bound());
  EXPECT_EQ(analysis.step.count, 36);
  ASSERT_TRUE(analysis.step.recorded_ms.has_value());
  EXPECT_NEAR(analysis.step.recorded_ms->median, 4.8, 0.01);
  EXPECT_NEAR(analysis.step.ms.median, 4.0,
              0.01);  // the one that users run, of which the ledger and all shares are
  double share = 0;
  for (const LedgerRow& row : analysis.ledger) share += row.share;
  EXPECT_NEAR(share, 1, 0.005);
  ASSERT_TRUE(analysis.step.unrecorded_ms.has_value());
  EXPECT_NEAR(analysis.step.unrecorded_ms->median, 4.0, 0.01);
  EXPECT_TRUE(analysis.step.unrecorded_measured);
  ASSERT_TRUE(analysis.step.recorder_ms.has_value());
  EXPECT_NEAR(analysis.step.recorder_ms->median, 0.8, 0.01);
  EXPECT_THAT(analysis.step.notes, testing::Contains(HasSubstr("longer than before anything was recorded")));
  for (const std::string& warning : analysis.warnings)
    EXPECT_THAT(warning, testing::Not(HasSubstr("recording slowed this program")));
}

// Steps of the blocks that nobody recorded may be others: shorter than what the device works in a step.
TEST(UnrecordedStep, IsNotThatOfStepsInWhichTheDeviceCannotHaveDoneItsWork) {
  trace::Trace trace = linked_trace(launch_bound());
  for (trace::BlockSteps& block : trace.meta.block_steps)
    if (!block.shown) block.mean_ns = 1e4;  // the device works for 80 µs
  const Result<Analysis> analyzed = analyze_trace(trace, {}, {});
  ASSERT_TRUE(analyzed.ok());
  const Analysis& analysis = *analyzed;
  EXPECT_FALSE(analysis.step.recorded_ms.has_value());
  EXPECT_FALSE(analysis.step.unrecorded_measured);
  EXPECT_NEAR(analysis.step.ms.median, 4.8, 0.01);
  EXPECT_THAT(analysis.warnings, testing::Contains(HasSubstr("does not do the same all the time")));
}

// What is told is of the recorded steps, and so are all gains.
TEST(UnrecordedStep, ThatIsLongerThanTheRecordedOnesIsNotWhatGainsAreCountedFrom) {
  trace::Trace trace = linked_trace(launch_bound());
  for (trace::BlockSteps& block : trace.meta.block_steps)
    if (!block.shown) block.mean_ns = 9.6e6;  // twice as long as recorded
  const Result<Analysis> analysis = analyze_trace(trace, {}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_NEAR(analysis->step.ms.median, 4.8, 0.01);
  EXPECT_THAT(analysis->warnings, testing::Contains(HasSubstr("steps that nobody recorded took 9.60 ms")));
  EXPECT_NEAR(analysis->figures.at("unrecorded_step_ms"), 4.8, 0.01);
  for (const LedgerRow& row : analysis->ledger) EXPECT_LE(row.predicted_gain_ms, row.ms);
  EXPECT_EQ(analysis->verdict.sentence.find("9.6"), std::string::npos) << analysis->verdict.sentence;
}

// Blocks that were left alone are no idle time of the device, and no step holds any of them.
TEST(UnrecordedStep, IsNoIdleTimeOfTheRecordedOnes) {
  const Analysis analysis = analysis_of(launch_bound());
  double sum = 0;
  for (const LedgerRow& row : analysis.ledger) sum += row.ms;
  EXPECT_NEAR(sum, analysis.step.ms.median, 0.005 * analysis.step.ms.median);
  for (const double ms : analysis.step.samples_ms) EXPECT_LT(ms, 5.5);
}

// Launching the step as one graph wins the step without the recorder, but for what the device works, and no more.
TEST(UnrecordedStep, IsWhatGainsAreCountedFrom) {
  const Analysis analysis = analysis_of(launch_bound());
  double most_gain = 0;
  for (const LedgerRow& row : analysis.ledger) most_gain = std::max(most_gain, row.predicted_gain_ms);
  EXPECT_LE(most_gain, 4.0);
  EXPECT_GT(most_gain, 3.5);
  EXPECT_EQ(analysis.verdict.cause, Cause::kLaunch);
}

// The host runs ahead of a device that takes 500 µs a step; recording slows the host alone, and so nothing.
TEST(UnrecordedStep, OfADeviceThatHoldsTheStepUpIsTheRecordedOne) {
  ObservedProgram program;
  program.launch_ns = 40'000;
  program.device_bound = true;
  program.launches.assign(10, {"aten::mm", "gemm", 50'000});
  program.block(Mode::kLeftAlone, 20);
  for (int i = 0; i < 6; ++i) program.block(Mode::kTimeline, 6).block(Mode::kLeftAlone, 6);
  program.finish();
  const Analysis analysis = analysis_of(program);
  ASSERT_TRUE(analysis.step.unrecorded_ms.has_value());
  EXPECT_NEAR(analysis.step.ms.median, 0.5, 0.01);
  EXPECT_NEAR(analysis.step.unrecorded_ms->median, 0.5, 0.01);
  EXPECT_NEAR(analysis.step.recorder_ms->median, 0, 0.01);
}

// 10 operators of 100 µs, 150 where operators are recorded.
ObservedProgram host_program(double operators_slower) {
  ObservedProgram program;
  program.device = false;
  program.operators_slower = operators_slower;
  program.launches.assign(10, {"aten::mm", "gemm", 2'000, "f32[256,256] f32[256,256]"});
  program.block(Mode::kLeftAlone, 40);
  for (int i = 0; i < 6; ++i) program.block(Mode::kOperators, 6).block(Mode::kLeftAlone, 8);
  program.finish();
  return program;
}

TEST(UnrecordedStep, OfAProgramOnTheHostIsWhatIsTold) {
  const Analysis analysis = analysis_of(host_program(1.5));
  EXPECT_EQ(analysis.subject, Subject::kHostProgram);
  EXPECT_NEAR(analysis.step.ms.median, 1.0, 0.01);
  ASSERT_TRUE(analysis.step.recorded_ms.has_value());
  EXPECT_NEAR(analysis.step.recorded_ms->median, 1.5, 0.01);
  double sum = 0, share = 0;
  for (const LedgerRow& row : analysis.ledger) {
    sum += row.ms;
    share += row.share;
    EXPECT_LE(row.predicted_gain_ms, row.ms);
  }
  EXPECT_NEAR(sum, 1.0, 0.005);
  EXPECT_NEAR(share, 1, 0.005);
  double operators = 0;
  for (const OperatorTime& row : analysis.operators) operators += row.ms.median;
  EXPECT_LT(operators, 1.0);
  EXPECT_GT(operators, 0.9);
}

// Somebody else had the CPUs while nothing was recorded.
TEST(UnrecordedStep, OfAProgramOnTheHostThatIsLongerThanTheRecordedOneIsCommentedOn) {
  const Analysis analysis = analysis_of(host_program(0.5));
  EXPECT_FALSE(analysis.step.recorded_ms.has_value());
  EXPECT_NEAR(analysis.step.ms.median, 0.5, 0.01);
  EXPECT_THAT(analysis.warnings, testing::Contains(HasSubstr("steps that nobody recorded took 1.0")));
}

}  // namespace
}  // namespace hone::analyze
