#include "trace/link/recorded_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/segments/reader.h"
#include "trace/link/link.h"
#include "trace/testing/observed_program.h"

namespace hone::trace {
namespace {

using segments::Mode, segments::ObservedProgram;
using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

Trace linked(const ObservedProgram& program) {
  Result<segments::SegmentFile> segment = segments::read_segment(program.writer.bytes());
  EXPECT_TRUE(segment.ok());
  if (!segment.ok()) return {};
  Trace trace = std::move(segment->file.trace);
  const Status status = link_trace(trace);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  EXPECT_TRUE(trace.validate().ok());
  return trace;
}

std::vector<Span> step_spans_of(const Trace& trace) {
  std::vector<Span> steps;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep) steps.push_back(trace.spans.row(row));
  return steps;
}

std::vector<double> means_ms(const Trace& trace, BlockMode mode) {
  std::vector<double> ms;
  for (const BlockSteps& block : trace.meta.block_steps)
    if (block.mode == mode) ms.push_back(block.mean_ns * 1e-6);
  return ms;
}

TEST(RecordedSteps, GoFromMarkToMarkWithinTheBlocksOfTheTimeline) {
  ObservedProgram program;
  program.block(Mode::kTimeline, 5)
      .block(Mode::kLeftAlone, 6)
      .block(Mode::kOperators, 4)
      .block(Mode::kTimeline, 5);
  const Trace trace = linked(program.finish());
  const std::vector<Span> steps = step_spans_of(trace);
  ASSERT_EQ(steps.size(), 10u);
  for (const Span& step : steps) {
    EXPECT_EQ(step.duration_ns, 4 * 120'000);
    const RecordingBlock* block = block_at(trace.meta.blocks, 0, step.start_ns);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block->mode, BlockMode::kTimeline);
    EXPECT_LE(step.end_ns(), block->end_ns);
  }
  const StepsFound found = steps_found(trace.meta);
  EXPECT_EQ(found.how, "the ends of the optimizer's steps (AdamW)");
  EXPECT_EQ(found.confidence, 1);
}

// While launches are counted, nothing is known of the device.
TEST(RecordedSteps, AreNoneWhileHardwareCountersAreMeasured) {
  for (const bool marks : {true, false}) {
    ObservedProgram program;
    program.marks = marks;
    program.block(Mode::kTimeline, marks ? 5 : 0).block(Mode::kCounters, 40);
    const Trace trace = linked(program.finish());
    const std::vector<Span> steps = step_spans_of(trace);
    ASSERT_FALSE(steps.empty());
    for (const Span& step : steps) {
      const RecordingBlock* block = block_at(trace.meta.blocks, 0, step.start_ns);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(block->mode, BlockMode::kTimeline);
    }
  }
}

// Marks are noted from the beginning on, so that ranks number a step alike whatever is recorded of it.
// Before anything is recorded all blocks are one long one: parts of it tell how even its steps are.
TEST(RecordedSteps, AreKnownByTheirMarksWhileDevicesAreSampled) {
  ObservedProgram program;
  program.block(Mode::kTimeline, 5).block(Mode::kSampling, 6).block(Mode::kLeftAlone, 3);
  const Trace trace = linked(program.finish());
  ASSERT_EQ(trace.meta.sampled_steps.size(), 6u);
  for (const SampledStep& step : trace.meta.sampled_steps) {
    const RecordingBlock* block = block_at(trace.meta.blocks, 0, step.start_ns);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block->mode, BlockMode::kSampling);
    EXPECT_EQ(step.end_ns - step.start_ns, 4 * 105'000);
  }
  EXPECT_EQ(step_spans_of(trace).size(), 5u);
}

TEST(RecordedSteps, OfTheBlockBeforeTheFirstRecordedOneAreMeasuredInParts) {
  ObservedProgram program;
  for (int i = 0; i < 6; ++i) program.block(Mode::kLeftAlone, 3);
  program.block(Mode::kTimeline, 5).block(Mode::kLeftAlone, 6);
  const Trace trace = linked(program.finish());
  EXPECT_EQ(trace.meta.blocks.size(), 3u);
  EXPECT_EQ(trace.meta.blocks.front().mode, BlockMode::kUntouched);
  EXPECT_EQ(trace.meta.blocks.back().mode, BlockMode::kLeftAlone);
  EXPECT_THAT(means_ms(trace, BlockMode::kUntouched), AllOf(SizeIs(12), Each(DoubleNear(0.4, 1e-9))));
  EXPECT_THAT(means_ms(trace, BlockMode::kLeftAlone), SizeIs(1));
}

TEST(RecordedSteps, AreNumberedByTheMarksSinceTheProgramBegan) {
  ObservedProgram program;
  program.block(Mode::kLeftAlone, 7).block(Mode::kTimeline, 2);
  const std::vector<Span> steps = step_spans_of(linked(program.finish()));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, 8);
  EXPECT_EQ(steps[1].step, 9);
}

TEST(RecordedSteps, OfBlocksTakeTheirMeanWithoutTheFirstAndTheLast) {
  ObservedProgram program;
  for (int i = 0; i < 3; ++i) program.block(Mode::kTimeline, 5).block(Mode::kLeftAlone, 6);
  const Trace trace = linked(program.finish());
  EXPECT_THAT(means_ms(trace, BlockMode::kLeftAlone), AllOf(SizeIs(3), Each(DoubleNear(0.42, 1e-9))));
  EXPECT_THAT(means_ms(trace, BlockMode::kTimeline), AllOf(SizeIs(3), Each(DoubleNear(0.48, 1e-9))));
  for (const BlockSteps& block : trace.meta.block_steps)
    EXPECT_EQ(block.steps, block.mode == BlockMode::kLeftAlone ? 4 : 3);
}

// Two optimizers of one class, as of a generator and its adversary: 3 launches in 100 ns, then 5 in 200 ns.
TEST(RecordedSteps, MayHaveSeveralMarksAndBeginWithTheSameOneInEveryBlock) {
  Trace trace;
  trace.meta.blocks = {{0, 1, BlockMode::kTimeline, 0, 2'050},
                       {0, 2, BlockMode::kLeftAlone, 2'050, 4'000},
                       {0, 3, BlockMode::kTimeline, 4'000, 6'000}};
  std::vector<int64_t> launches;
  for (int64_t time = 0; time < 6'000; time += 300) {
    for (int64_t at : {10, 40, 70, 110, 140, 170, 200, 230}) launches.push_back(time + at);
    for (int64_t at : {100, 300})
      trace.meta.marks.push_back({0, StepMarkKind::kOptimizer, "Adam", time + at, 1, 0});
  }
  const link::MarkedSteps marked = link::find_marked_steps(trace, 0, launches);
  EXPECT_EQ(marked.marks_a_step, 2);
  EXPECT_EQ(marked.what(), "the ends of the optimizer's steps (Adam), 2 a step");
  ASSERT_FALSE(marked.steps.empty());
  for (const link::StepInterval& step : marked.steps) {
    EXPECT_EQ(step.end_ns - step.start_ns, 300);
    EXPECT_EQ(step.start_ns % 300, marked.steps[0].start_ns % 300);
  }
  for (const BlockSteps& block : marked.blocks) EXPECT_EQ(block.mean_ns, 300);
  EXPECT_EQ(marked.blocks.size(), 3u);
}

TEST(RecordedSteps, BeginWithSomethingThatWasRecorded) {
  segments::SegmentWriter writer;
  writer.mode(Mode::kTimeline, 1, 1'000);
  for (const int64_t time : {2'000, 12'000, 22'000}) writer.mark(segments::MarkKind::kOptimizer, "SGD", time);
  for (const int64_t time : {5'000, 15'000}) writer.add(writer.kernel("gemm", time, 100, 1));
  writer.mode(Mode::kFinished, 0, 30'000);
  Result<segments::SegmentFile> segment = segments::read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  Trace trace = std::move(segment->file.trace);
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_TRUE(trace.validate().ok());
  const std::vector<Span> steps = step_spans_of(trace);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, 1);
}

// The program says itself where its steps end; modules are called for every token.
TEST(RecordedSteps, GoByTheMarksThatSayMostSurelyWhereStepsEnd) {
  Trace trace;
  trace.meta.blocks = {{0, 1, BlockMode::kTimeline, 0, 1'000}};
  for (int64_t time = 10; time < 1'000; time += 30)
    trace.meta.marks.push_back({0, StepMarkKind::kModule, "GPT", time, 1, 0});
  EXPECT_EQ(link::find_marked_steps(trace, 0, {}).kind, StepMarkKind::kModule);
  for (int64_t time = 15; time < 1'000; time += 90)
    trace.meta.marks.push_back({0, StepMarkKind::kUser, "request", time, 1, 0});
  const link::MarkedSteps marked = link::find_marked_steps(trace, 0, {});
  EXPECT_EQ(marked.kind, StepMarkKind::kUser);
  EXPECT_EQ(marked.steps.size(), 10u);
}

// Marks of one kind that come once, before the loop, divide nothing.
TEST(RecordedSteps, AreNotMarkedByWhatComesOnceInABlock) {
  Trace trace;
  trace.meta.blocks = {{0, 1, BlockMode::kTimeline, 0, 1'000}};
  trace.meta.marks = {{0, StepMarkKind::kOptimizer, "Adam", 500, 1, 0}};
  EXPECT_FALSE(link::find_marked_steps(trace, 0, {}).found());
}

TEST(RecordedSteps, WithoutMarksAreFoundByTheirLaunchesAndNoneReachesFromBlockToBlock) {
  ObservedProgram program;
  program.marks = false;
  for (int i = 0; i < 3; ++i) program.block(Mode::kTimeline, 8).block(Mode::kLeftAlone, 10);
  const Trace trace = linked(program.finish());
  const std::vector<Span> steps = step_spans_of(trace);
  EXPECT_GE(steps.size(), 20u);
  for (const Span& step : steps) EXPECT_EQ(step.duration_ns, 4 * 120'000);
  EXPECT_THAT(steps_found(trace.meta).how, HasSubstr("the repeating sequence"));
  ASSERT_THAT(means_ms(trace, BlockMode::kLeftAlone), SizeIs(3));
  EXPECT_THAT(means_ms(trace, BlockMode::kLeftAlone), Each(DoubleNear(0.42, 0.42 * 0.02)));
}

// The device is behind the host: what it still had to do when the block ended was not recorded.
TEST(RecordedSteps, AtTheEndOfABlockAreLeftOutWhereTheirDeviceWorkIsMissing) {
  Meta meta;
  meta.blocks = {{0, 1, BlockMode::kTimeline, 0, 450}, {0, 2, BlockMode::kTimeline, 500, 900}};
  std::vector<link::StepInterval> steps;
  std::vector<int64_t> launches;
  for (int64_t start : {0, 100, 200, 300, 500, 600, 700}) {
    steps.push_back({start, start + 100, static_cast<int32_t>(start / 100)});
    // Of the first block's last two steps some work is missing, and of a step in the middle of the second.
    const int64_t count = start == 200 ? 7 : start == 300 ? 0 : start == 600 ? 8 : 10;
    for (int64_t i = 0; i < count; ++i) launches.push_back(start + 5 * i);
  }
  link::drop_torn_steps(meta, 0, launches, steps);
  std::vector<int32_t> kept;
  for (const link::StepInterval& step : steps) kept.push_back(step.number);
  EXPECT_THAT(kept, testing::ElementsAre(0, 1, 5, 6, 7));
}

// A call is watched where nothing is recorded; elsewhere it is recorded like any other.
TEST(RecordedSteps, MayBeMarkedByACallThatComesOnceAStep) {
  segments::SegmentWriter writer;
  uint32_t correlation = 0;
  int64_t time = 1'000;
  const auto run = [&](Mode mode, uint32_t block) {
    writer.mode(mode, block, time + 50);
    for (int step = 0; step < 6; ++step, time += 1'000) {
      if (mode == Mode::kLeftAlone) {
        writer.mark(segments::MarkKind::kApiCall, "cudaStreamSynchronize", time + 500);
        continue;
      }
      writer.add(writer.call("cudaLaunchKernel", time + 100, 10, ++correlation));
      writer.add(writer.kernel("gemm", time + 150, 100, correlation));
      writer.add(writer.call("cudaStreamSynchronize", time + 500, 10, ++correlation));
    }
  };
  run(Mode::kTimeline, 1);
  run(Mode::kLeftAlone, 2);
  writer.mode(Mode::kFinished, 0, time);
  Result<segments::SegmentFile> segment = segments::read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  Trace trace = std::move(segment->file.trace);
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(steps_found(trace.meta).how, "a call that comes once a step (cudaStreamSynchronize)");
  EXPECT_THAT(step_spans_of(trace), SizeIs(5));
  EXPECT_THAT(means_ms(trace, BlockMode::kLeftAlone), Each(DoubleNear(0.001, 1e-9)));
}

// A program that waits after each of its launches: kernels of three names in turn are one step, wherever a block begins.
TEST(RecordedSteps, MarkedByACallAfterEachLaunchGoByTheNamesOfWhatIsLaunched) {
  segments::SegmentWriter writer;
  uint32_t correlation = 0;
  int64_t time = 1'000;
  int turn = 0;
  const std::vector<std::pair<const char*, int64_t>> turns = {
      {"transpose", 600}, {"series", 150}, {"transpose_tiled", 90}};
  const auto run = [&](Mode mode, uint32_t block, int launches) {
    writer.mode(mode, block, time + 50);
    for (int i = 0; i < launches; ++i, ++turn) {
      const auto& [kernel, kernel_ns] = turns[static_cast<std::size_t>(turn % 3)];
      if (mode == Mode::kLeftAlone) {
        writer.mark(segments::MarkKind::kApiCall, "cudaDeviceSynchronize", time + 300 + kernel_ns);
      } else {
        writer.add(writer.call("cudaLaunchKernel", time + 100, 10, ++correlation));
        writer.add(writer.kernel(kernel, time + 150, kernel_ns, correlation));
        writer.add(writer.call("cudaDeviceSynchronize", time + 300 + kernel_ns, 10, ++correlation));
      }
      time += 400 + kernel_ns;
    }
  };
  run(Mode::kTimeline, 1, 20);
  run(Mode::kLeftAlone, 2, 40);
  run(Mode::kTimeline, 3, 20);
  writer.mode(Mode::kFinished, 0, time);
  Result<segments::SegmentFile> segment = segments::read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  Trace trace = std::move(segment->file.trace);
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(steps_found(trace.meta).how, "a call that comes once a step (cudaDeviceSynchronize), 3 a step");
  const std::vector<Span> steps = step_spans_of(trace);
  EXPECT_GE(steps.size(), 11u);
  for (const Span& step : steps) EXPECT_EQ(step.duration_ns, 3 * 400 + 600 + 150 + 90);
  for (const double ms : means_ms(trace, BlockMode::kLeftAlone)) EXPECT_NEAR(ms, 2040e-6, 40e-6);
}

// In a block of the timeline nothing is known of a program that drives no device.
TEST(RecordedSteps, OfAProgramWithoutADeviceAreThoseWithOperators) {
  const std::vector<link::StepInterval> steps = {{0, 10, 0, BlockMode::kTimeline},
                                                 {20, 30, 1, BlockMode::kOperators}};
  EXPECT_EQ(link::shown_steps(steps, true).at(0).number, 0);
  EXPECT_EQ(link::shown_steps(steps, false).at(0).number, 1);
}

TEST(RecordedSteps, OfARecorderThatTakesNoTurnsAreAllOfThem) {
  const std::vector<link::StepInterval> steps = {{0, 10, 0}, {10, 20, 1}};
  EXPECT_THAT(link::within_blocks({}, 0, steps), SizeIs(2));
  EXPECT_THAT(link::shown_steps(steps, true), SizeIs(2));
}

}  // namespace
}  // namespace hone::trace
