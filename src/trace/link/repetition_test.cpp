#include <chrono>

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"
#include "trace/link/link.h"
#include "trace/testing/add_span.h"

namespace hone::trace {
namespace {

using link::fabricate::Program;

// Calls one operator after another, each launching a kernel.
class Runner {
 public:
  void run(std::string_view op) {
    program.op(program.main, op, time, 8);
    program.kernel(program.main, op, time + 2, time + 5, 6);
    time += 10;
  }
  void micro_batch() {
    for (std::string_view op :
         {"aten::embedding", "aten::mm", "aten::gelu", "aten::mm", "aten::gelu", "aten::sum"})
      run(op);
    for (std::string_view op : {"aten::gelu_backward", "aten::mm", "aten::embedding_dense_backward"}) run(op);
  }
  int steps() const {
    int count = 0;
    for (Category category : program.trace.spans.category) count += category == Category::kStep ? 1 : 0;
    return count;
  }

  Program program;
  int64_t time = 1;
};

TEST(Repetition, OfStepsThatAccumulateGradientsEndsWithTheOptimizer) {
  Runner runner;
  for (int step = 0; step < 5; ++step) {
    for (int micro = 0; micro < 4; ++micro) runner.micro_batch();
    runner.run("aten::_fused_adamw_");
  }
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  EXPECT_EQ(runner.steps(), 5);
  EXPECT_EQ(steps_found(runner.program.trace.meta).how,
            "the repeating sequence: 37 launches a step, divided at the end of the optimizer's step");
}

// A broken clock gives every kernel the same time, so that each lies in all that came before.
TEST(Repetition, IsNotFoundInKernelsOfOneMomentAndThatSoon) {
  Trace trace;
  const TrackId stream = add_stream(trace, add_process(trace));
  for (int i = 0; i < 100'000; ++i)
    add_span(trace, {.on = stream, .category = Category::kKernel, .name = "kernel", .us = 5});
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(Repetition, OfTwoOptimizersInTurnIsBothTogether) {
  Runner runner;
  for (int step = 0; step < 5; ++step) {
    runner.micro_batch();
    runner.run("aten::_fused_adamw_");
    runner.run("aten::tanh");
    runner.run("aten::sigmoid");
    runner.run("aten::log");
    runner.run("aten::_fused_adamw_");
  }
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  EXPECT_EQ(runner.steps(), 5);
}

// Sharded training copies each layer's weights as lists of tensors before it gathers them.
TEST(Repetition, IsNotDividedWhereWeightsAreCopiedToBeGathered) {
  Runner runner;
  for (int step = 0; step < 4; ++step) {
    for (int layer = 0; layer < 3; ++layer) {
      runner.run("aten::_foreach_copy_");
      runner.micro_batch();
    }
    runner.run("aten::_fused_adamw_");
  }
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  const SpanTable& spans = runner.program.trace.spans;
  EXPECT_EQ(runner.steps(), 4);
  EXPECT_EQ(spans.step[0], 0);
  EXPECT_EQ(steps_found(runner.program.trace.meta).confidence, 0.95);
}

// Batches of two sizes take turns, and one pair of them is all that was recorded twice.
TEST(Repetition, OfStepsThatTakeTurnsIsFoundByTheOptimizerAndSaysItsDoubt) {
  Runner runner;
  for (int step = 0; step < 3; ++step) {
    const bool is_long = step % 2 == 0;
    for (std::string_view op : {"aten::embedding", "aten::mm", is_long ? "aten::exp" : "aten::log",
                                "aten::tanh", is_long ? "aten::sin" : "aten::cos", "aten::sum"})
      runner.run(op);
    runner.run("aten::_fused_adamw_");
  }
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  EXPECT_EQ(runner.steps(), 3);
  const StepsFound found = steps_found(runner.program.trace.meta);
  EXPECT_LE(found.confidence, 0.6);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_TRUE(found.notes[0].starts_with("steps differ from one to the next")) << found.notes[0];
}

TEST(Repetition, LeavesOutPartsOfStepsAtTheEnds) {
  Runner runner;
  runner.run("aten::gelu_backward");
  runner.run("aten::mm");
  runner.run("aten::_fused_adamw_");
  for (int step = 0; step < 4; ++step) {
    runner.micro_batch();
    runner.run("aten::_fused_adamw_");
  }
  runner.run("aten::embedding");
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  EXPECT_EQ(runner.steps(), 4);
  const SpanTable& spans = runner.program.trace.spans;
  EXPECT_EQ(spans.step[0], kNoStep);
  EXPECT_EQ(steps_found(runner.program.trace.meta).confidence, 0.95);
}

TEST(Repetition, IsFoundInRecordingsOfDevicesAlone) {
  Runner runner;
  Program& program = runner.program;
  for (int step = 0; step < 4; ++step)
    for (std::string_view kernel : {"copy", "gemm", "gelu", "gemm", "gelu", "gemm", "gelu", "reduce"})
      program.span(program.stream, Category::kKernel, kernel, runner.time += 10, 8);
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(runner.steps(), 4);
  EXPECT_EQ(program.trace.spans.step[0], 0);
  EXPECT_EQ(program.trace.spans.step[31], 3);
  ASSERT_TRUE(program.trace.validate().ok());
}

// Launches of one kernel again and again, with a wait of the host after every twenty; empty: it never waits.
Trace chain(int steps, std::string_view wait) {
  Program program;
  int64_t time = 1;
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < 20; ++i, time += 10) program.kernel(program.main, "tiny", time, time + 5, 2);
    if (!wait.empty()) program.span(program.main, Category::kSynchronization, wait, time, 4);
    time += 5;
  }
  return std::move(program.trace);
}

TEST(Repetition, OfLaunchesThatAreAllAlikeEndsWhereTheHostWaits) {
  Trace trace = chain(8, "cudaDeviceSynchronize");
  ASSERT_TRUE(link_trace(trace).ok());
  const StepsFound found = steps_found(trace.meta);
  EXPECT_EQ(found.how,
            "the repeating sequence: 20 launches a step, divided at the host's wait for the device "
            "(cudaDeviceSynchronize)");
  EXPECT_LT(found.confidence, 0.5);
  int steps = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep) {
      ++steps;
      EXPECT_NEAR(static_cast<double>(trace.spans.duration_ns[row]), 205'000, 15'000);
    }
  EXPECT_EQ(steps, 8);
}

TEST(Repetition, IsNotFoundInLaunchesThatAreAllAlikeWithoutAWait) {
  Trace trace = chain(8, "");
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(
      steps_found(trace.meta).how,
      "the whole trace as one step: 160 launches of one kind follow each other, and nothing tells how many "
      "are a step");
  EXPECT_EQ(steps_found(trace.meta).confidence, 0);
}

TEST(Repetition, IsNeverReadFromGaps) {
  Runner runner;
  for (std::string_view op :
       {"aten::mm", "aten::gelu", "aten::sum", "aten::exp", "aten::log", "aten::tanh"}) {
    runner.run(op);
    runner.time += 100'000;
  }
  ASSERT_TRUE(link_trace(runner.program.trace).ok());
  EXPECT_EQ(runner.steps(), 1);
  EXPECT_EQ(steps_found(runner.program.trace.meta).confidence, 0);
}

}  // namespace
}  // namespace hone::trace
