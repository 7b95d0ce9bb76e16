// Which works belong to one execution of an operator.
#include "analyze/device/timeline/executions.h"

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// One thread and one stream, on which a test puts calls of operators and what they launch. Times in µs.
class ExecutionProgram {
 public:
  ExecutionProgram() {
    const trace::TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    stream_ = add_stream(trace_, process);
    for (const char* kind : {"aten::addmm", "PythonDispatchMode"}) {
      trace::Operator op;
      op.name = op.kind = kind;
      trace_.add_operator(op);
    }
  }

  ExecutionProgram& call(double from_us, double us, uint32_t op = 0) {
    add_span(trace_, {.on = thread_,
                      .category = trace::Category::kOperator,
                      .name = "an operator",
                      .from_us = from_us,
                      .us = us,
                      .op = {op}});
    return *this;
  }

  ExecutionProgram& launch(double at_us) {
    add_launch(trace_, {.on = thread_, .from_us = at_us, .us = 1},
               {.on = stream_, .name = "a_kernel", .from_us = at_us + 100, .us = 1, .op = {0}});
    return *this;
  }

  // Its launch is not in the recording.
  ExecutionProgram& kernel(double at_us, uint64_t external) {
    const uint32_t row = add_span(trace_, {.on = stream_,
                                           .category = trace::Category::kKernel,
                                           .name = "a_kernel",
                                           .from_us = at_us + 100,
                                           .us = 1,
                                           .op = {0}});
    trace_.launches.push_back({row, external, {}, {}, 0, 0, 0});
    return *this;
  }

  // By work: the execution it belongs to, numbered in the order in which they first occur.
  std::vector<uint32_t> executions() const {
    const RankTimeline timeline = rank_timeline(trace_, 0);
    std::vector<uint32_t> numbers;
    for (const Work& work : timeline.works) {
      numbers.push_back(work.execution);
      EXPECT_LT(work.execution, timeline.executions);
    }
    return numbers;
  }

 private:
  trace::Trace trace_;
  trace::TrackId thread_, stream_;
};

using Numbers = std::vector<uint32_t>;

TEST(Executions, AreCallsThatLaunchWorks) {
  EXPECT_EQ(ExecutionProgram().call(0, 10).launch(1).launch(3).call(10, 10).launch(12).executions(),
            (Numbers{0, 0, 1}));
}

TEST(Executions, OfAnOperatorThatADispatcherHandsToItselfCountOnce) {
  // The outer call is of the same row of the operator table as the inner one.
  EXPECT_EQ(ExecutionProgram().call(0, 20).call(1, 18, 1).call(2, 8).launch(3).launch(5).executions(),
            (Numbers{0, 0}));
}

TEST(Executions, AreOfTheInnermostCallEvenWhereTheOuterOneLaunchesToo) {
  EXPECT_EQ(ExecutionProgram().call(0, 20).call(2, 8).launch(3).launch(15).executions(), (Numbers{0, 1}));
}

TEST(Executions, AreToldByTheFrameworksIdsWhereLaunchesAreMissing) {
  EXPECT_EQ(ExecutionProgram().kernel(0, 7).kernel(2, 7).kernel(4, 8).executions(), (Numbers{0, 0, 1}));
}

TEST(Executions, AreWorksOneByOneWhereNothingTells) {
  EXPECT_EQ(ExecutionProgram().kernel(0, 0).kernel(2, 0).launch(4).executions(), (Numbers{0, 1, 2}));
}

}  // namespace
}  // namespace hone::analyze::device
