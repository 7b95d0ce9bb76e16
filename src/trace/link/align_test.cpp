// Steps of ranks whose recordings begin at different steps, and nobody numbered any.
#include "trace/link/align.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/link/link.h"
#include "trace/testing/add_span.h"

namespace hone::trace {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Ranks of one run, each recorded from a step of its own on. Times in µs.
class Recordings {
 public:
  // `jitter_us` makes the steps of the run unlike; `clock_us` is what the rank's clock is ahead.
  void record(int rank, int from, int to, double clock_us, double jitter_us = 300) {
    const TrackId process = add_process(trace, rank);
    const TrackId thread = add_thread(trace, process), stream = add_stream(trace, process);
    double time = 1000;
    for (int step = 0; step < to; ++step) {
      time += jitter_us * ((step * 7) % 5);
      for (std::string_view op : {"aten::embedding", "aten::mm", "aten::gelu", "allreduce",
                                  "aten::gelu_backward", "aten::mm", "allreduce", "aten::_fused_adamw_"}) {
        time += 100;
        if (step < from) continue;
        const double at = time + clock_us;
        if (op == "allreduce") {
          const uint32_t work = add_launch(trace, {.on = thread, .from_us = at + 2, .us = 2},
                                           {.on = stream,
                                            .category = Category::kCommunication,
                                            .name = "ncclDevKernel_AllReduce",
                                            .from_us = at + 10,
                                            .us = 80.0 + 3 * rank % 2});
          describe_collective(trace, work, op, 1e6);
        } else {
          add_span(trace,
                   {.on = thread, .category = Category::kOperator, .name = op, .from_us = at, .us = 10});
          add_launch(trace, {.on = thread, .from_us = at + 2, .us = 2},
                     {.on = stream, .name = op, .from_us = at + 10, .us = 60});
        }
      }
    }
  }

  std::set<int32_t> steps(int rank) const {
    std::set<int32_t> found;
    for (std::size_t row = 0; row < trace.spans.size(); ++row)
      if (trace.spans.category[row] == Category::kStep &&
          trace.tracks[trace.spans.track[row].index].rank == rank)
        found.insert(trace.spans.step[row]);
    return found;
  }

  // The step of the device work that ends at a time of the run.
  int32_t step_at(int rank, int64_t ns, int64_t clock_ns) const {
    int32_t found = kNoStep;
    for (std::size_t row = 0; row < trace.spans.size(); ++row)
      if (trace.spans.category[row] == Category::kKernel &&
          trace.tracks[trace.spans.track[row].index].rank == rank &&
          trace.spans.start_ns[row] - clock_ns <= ns)
        found = trace.spans.step[row];
    return found;
  }

  Trace trace;
};

TEST(AlignSteps, ByCollectivesWhereRecordingsBeginAtDifferentSteps) {
  Recordings run;
  run.record(0, 2, 9, 0);
  run.record(1, 0, 8, 0);
  run.record(2, 4, 10, 0);
  ASSERT_TRUE(link_trace(run.trace).ok());
  EXPECT_EQ(*run.steps(1).begin(), 0);
  EXPECT_EQ(*run.steps(0).begin(), 2);
  EXPECT_EQ(*run.steps(2).begin(), 4);
  const int64_t in_all = 1'000'000 + 6'500'000 + 1'500'000;
  EXPECT_EQ(run.step_at(0, in_all, 0), run.step_at(1, in_all, 0));
  EXPECT_EQ(run.step_at(0, in_all, 0), run.step_at(2, in_all, 0));
  EXPECT_THAT(steps_found(run.trace.meta).notes,
              Contains(HasSubstr("rank 1 begins 2 steps before rank 0, rank 2 begins 2 steps after rank 0")));
  const std::size_t notes = run.trace.meta.notes.size();
  ASSERT_TRUE(link_trace(run.trace).ok());  // nothing moves twice
  EXPECT_EQ(*run.steps(0).begin(), 2);
  EXPECT_EQ(run.trace.meta.notes.size(), notes);
}

// Clocks that are more than a step apart: the steps' own unevenness tells.
TEST(AlignSteps, WhateverTheClocksSay) {
  Recordings run;
  run.record(0, 0, 9, 0);
  run.record(1, 1, 9, 5'000);
  ASSERT_TRUE(link_trace(run.trace).ok());
  EXPECT_EQ(*run.steps(0).begin(), 0);
  EXPECT_EQ(*run.steps(1).begin(), 1);
}

// Steps as even as clockwork: then the clocks tell.
TEST(AlignSteps, ByClocksWhereStepsAreEven) {
  Recordings run;
  run.record(0, 0, 9, 0, 0);
  run.record(1, 2, 9, 40, 0);
  ASSERT_TRUE(link_trace(run.trace).ok());
  EXPECT_EQ(*run.steps(1).begin(), 2);
}

TEST(AlignSteps, SaysWhereNothingTells) {
  Recordings run;
  run.record(0, 0, 6, 0);
  run.record(1, 2, 6, 0);
  for (Category& category : run.trace.spans.category)
    if (category == Category::kCommunication) category = Category::kKernel;
  run.trace.collectives.clear();
  ASSERT_TRUE(link_trace(run.trace).ok());
  EXPECT_EQ(*run.steps(1).begin(), 0);
  EXPECT_THAT(steps_found(run.trace.meta).notes, Contains(HasSubstr("numbered on their own")));
}

}  // namespace
}  // namespace hone::trace
