#include "analyze/device/host/sampled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/link/frames.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

using ::testing::SizeIs;
using trace::FrameId, trace::ThreadState;

constexpr int64_t kMs = 1'000'000;

// Two steps of 20 ms, of which the second was sampled: a kernel at 0 and one at 15 ms, and silence of the host
// between their launches.
class SampledHost : public ::testing::Test {
 protected:
  SampledHost() {
    const trace::TrackId process = trace::add_process(trace);
    thread = trace::add_thread(trace, process, "main", 0);
    timeline.threads = {thread};
    timeline.devices = {0};
    for (int64_t step = 0; step < 2; ++step) {
      launch("first", step * 20 * kMs);
      launch("second", step * 20 * kMs + 15 * kMs);
    }
  }

  void launch(const char* kernel, int64_t time) {
    const auto work = static_cast<uint32_t>(timeline.works.size());
    timeline.works.push_back({.span = static_cast<uint32_t>(trace.spans.size()),
                              .start_ns = time,
                              .end_ns = time + kMs,
                              .device = 0,
                              .call = work});
    trace.spans.add({time, kMs, thread, trace.strings.intern(kernel), trace::Category::kKernel});
    timeline.calls.push_back({0, time, time + 1000, 0, CallKind::kLaunch, work, 1});
    timeline.launched.push_back(work);
  }

  // Samples of the second step.
  void sample(const char* function, const char* file, ThreadState state, int count) {
    trace.stacks.frames.push_back({trace.strings.intern(function), trace.strings.intern(file), 7});
    const FrameId frame{static_cast<uint32_t>(trace.stacks.frames.size() - 1)};
    trace::link::recognise_frames(trace);
    for (int i = 0; i < count; ++i) trace.stacks.add({25 * kMs + i, thread, state}, std::vector{frame}, {});
  }

  static ActivitySpan silence(int64_t from, int64_t to) { return {from, to, Activity::kOther}; }

  trace::Trace trace;
  RankTimeline timeline;
  trace::TrackId thread;
};

TEST_F(SampledHost, DividesSilenceInEveryStepByWhatSamplesSayOfItsPlace) {
  sample("__next__", "/site-packages/torch/utils/data/dataloader.py", ThreadState::kPipe, 6);
  sample("save", "/home/anna/train.py", ThreadState::kFile, 2);
  std::vector<ActivitySpan> intervals = {silence(2 * kMs, 14 * kMs), silence(22 * kMs, 34 * kMs)};
  name_by_samples(intervals, {0, 1}, trace, timeline);
  ASSERT_THAT(intervals, SizeIs(4));
  EXPECT_EQ(intervals[0].activity, Activity::kInput);
  EXPECT_EQ(intervals[0].ns(), 9 * kMs);
  EXPECT_EQ(intervals[1].activity, Activity::kIo);
  EXPECT_EQ(intervals[1].end_ns, 14 * kMs);
  EXPECT_EQ(intervals[2].activity, Activity::kInput);
}

TEST_F(SampledHost, LeavesSilenceAsItIsWithoutSamples) {
  std::vector<ActivitySpan> intervals = {silence(2 * kMs, 14 * kMs)};
  name_by_samples(intervals, {0}, trace, timeline);
  ASSERT_THAT(intervals, SizeIs(1));
  EXPECT_EQ(intervals[0].activity, Activity::kOther);
}

TEST_F(SampledHost, LinesAreOfTheTimeInWhichTheDeviceHadNothingToDo) {
  sample("fall_asleep", "/home/anna/train.py", ThreadState::kSleep, 6);
  trace.stacks.samples.front().time_ns = 20 * kMs + 1;  // while the first kernel runs
  HostActivity activity;
  activity.intervals = {silence(0, 40 * kMs)};
  const auto lines = lines_of_idle_host(trace, timeline, activity);
  const auto& other = lines[static_cast<std::size_t>(Cause::kHostOther)];
  ASSERT_THAT(other, SizeIs(1));
  EXPECT_EQ(other[0].function, "fall_asleep");
  EXPECT_EQ(other[0].samples, 5);
}

}  // namespace
}  // namespace hone::analyze::device
