// Where the windows of steps begin and end.
#include "analyze/device/timeline/rank_timeline.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/device/timeline/occupancy.h"

namespace hone::analyze::device {
namespace {

// Two ranges of the host, 0 to 100 µs and 130 to 230 µs, each with one kernel of `kernel_us` that begins 20
// µs after its range does, or when the device is free.
trace::Trace program(const std::string& mark, int64_t kernel_us) {
  trace::Trace trace;
  const auto process = trace.add_track({trace::TrackKind::kProcess, "python", {}, 1, 1, 0, -1});
  const auto thread = trace.add_track({trace::TrackKind::kThread, "main", process, 1, 1, 0, -1});
  const auto stream = trace.add_track({trace::TrackKind::kStream, "stream 7", process, 1, 7, 0, 0});
  const auto call = trace.strings.intern("cudaLaunchKernel"), kernel = trace.strings.intern("gemm");
  int64_t free = 0;
  for (int32_t step = 0; step < 2; ++step) {
    const int64_t at = step * 130'000;
    const auto id = static_cast<uint64_t>(step + 1);
    const auto name = trace.strings.intern(mark + std::to_string(step));
    trace.spans.add({at, 100'000, thread, name, trace::Category::kStep, step, {}, 0});
    trace.spans.add({at + 10'000, 5'000, thread, call, trace::Category::kRuntime, step, {}, id});
    const int64_t begin = std::max(at + 20'000, free);
    trace.spans.add({begin, kernel_us * 1'000, stream, kernel, trace::Category::kKernel, step, {}, id});
    free = begin + kernel_us * 1'000;
  }
  return trace;
}

std::vector<int64_t> lengths_us(const RankTimeline& timeline) {
  std::vector<int64_t> lengths;
  for (const DeviceStep& step : timeline.steps) lengths.push_back((step.end_ns - step.start_ns) / 1'000);
  return lengths;
}

TEST(StepWindows, LeaveOutWhatTheProfilerNeedsBetweenItsRanges) {
  const trace::Trace trace = program("ProfilerStep#", 50);
  EXPECT_EQ(lengths_us(rank_timeline(trace, 0)), (std::vector<int64_t>{100, 100}));
}

TEST(StepWindows, TileTheTimeBetweenRangesOfTheProgramsOwn) {
  const trace::Trace trace = program("iteration ", 50);
  EXPECT_EQ(lengths_us(rank_timeline(trace, 0)), (std::vector<int64_t>{100, 130}));
}

TEST(StepWindows, EndWithTheDeviceAndGoOnFromThere) {
  const trace::Trace trace = program("ProfilerStep#", 200);
  EXPECT_EQ(lengths_us(rank_timeline(trace, 0)), (std::vector<int64_t>{220, 200}));
}

// A step without a mark, as an evaluation is: its kernel keeps the device busy until the next one's begins.
TEST(StepWindows, BeginAfterWhatWasLaunchedBetweenTheProfilersRanges) {
  trace::Trace trace = program("ProfilerStep#", 50);
  const trace::TrackId thread{1}, stream{2};
  trace.spans.add({110'000, 5'000, thread, {}, trace::Category::kRuntime, trace::kNoStep, {}, 9});
  trace.spans.add({120'000, 25'000, stream, {}, trace::Category::kKernel, trace::kNoStep, {}, 9});
  EXPECT_EQ(lengths_us(rank_timeline(trace, 0)), (std::vector<int64_t>{100, 85}));
  trace.spans.duration_ns.back() = 60'000;  // beside the step's own from 150 µs on
  EXPECT_EQ(lengths_us(rank_timeline(trace, 0)), (std::vector<int64_t>{100, 80}));
}

TEST(StepWindows, HoldWhatOccupancySaysOfThem) {
  for (const int64_t kernel_us : {50, 105, 200}) {
    const trace::Trace trace = program("ProfilerStep#", kernel_us);
    const RankTimeline timeline = rank_timeline(trace, 0);
    const Occupancy parts = occupancy(timeline, timeline.ledger_device());
    std::vector<int64_t> sums(timeline.steps.size(), 0);
    const auto add = [&](uint32_t window, int64_t start, int64_t end) {
      EXPECT_GE(start, timeline.steps[window].start_ns);
      EXPECT_LE(end, timeline.steps[window].end_ns);
      sums[window] += (end - start) / 1'000;
    };
    for (const BusyInterval& interval : parts.busy) add(interval.window, interval.start_ns, interval.end_ns);
    for (const Gap& gap : parts.gaps) add(gap.window, gap.start_ns, gap.end_ns);
    EXPECT_EQ(sums, lengths_us(timeline)) << kernel_us;
  }
}

}  // namespace
}  // namespace hone::analyze::device
