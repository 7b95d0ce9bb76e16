// Foreign programs of which only the host was recorded: what is known is told, what is not is not guessed.
#include "analyze/host_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/fabricate.h"
#include "trace/testing/add_span.h"

namespace hone::analyze {
namespace {

using fabricate::op;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using trace::OperatorClass;

// An eager program: each step runs a product four times within an operator that only dispatches it, and an
// operator of unknown cost once.
trace::Trace program(double before_ms = 0, double within_ms = 0) {
  fabricate::Timeline timeline({op("aten::linear", "aten::linear", OperatorClass::kMatrix, 1e9, 1e6, 1e6),
                                op("aten::addmm", "aten::addmm", OperatorClass::kMatrix, 1e9, 1e6, 1e6),
                                op("mystery", "mystery", OperatorClass::kOther, 0, 0, 0)});
  for (int step = 0; step < 5; ++step) {
    timeline.begin_step();
    timeline.idle(before_ms);
    for (int i = 0; i < 4; ++i) {
      timeline.run(1, 10);
      trace::SpanTable& spans = timeline.trace().spans;
      const std::size_t inner = spans.size() - 1;
      spans.add({spans.start_ns[inner], spans.duration_ns[inner], spans.track[inner], spans.name[inner],
                 trace::Category::kOperator, step, trace::OperatorId{0}, 0});
      std::swap(spans.op[inner], spans.op[inner + 1]);  // what encloses comes first
      spans.duration_ns[inner] += 1000;
    }
    timeline.idle(within_ms);
    timeline.run(2, 2);
    timeline.end_step();
  }
  timeline.trace().meta.notes.emplace_back("steps", "ProfilerStep ranges");
  return timeline.trace();
}

Analysis explained(const trace::Trace& trace, const Roofs& roofs = {}) {
  return *analyze_trace(trace, roofs, {});
}

TEST(HostProgram, NamesTheStepThatTookLonger) {
  trace::Trace trace = program();
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == trace::Category::kStep && trace.spans.step[row] == 4)
      trace.spans.duration_ns[row] *= 3;
  const Analysis analysis = explained(trace);
  EXPECT_THAT(analysis.step.notes, Contains(testing::AllOf(HasSubstr("step 4 took"), HasSubstr("outlier"))));
  EXPECT_EQ(analysis.step_spans.size(), 5u);
}

TEST(HostProgram, IsNotCalledHealthyWhereNothingWasJudged) {
  const Analysis analysis = explained(program());
  ASSERT_EQ(analysis.subject, Subject::kHostProgram);
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_FALSE(analysis.verdict.healthy());
  EXPECT_FALSE(analysis.floor_known);
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("Not judged"));
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("addmm ("));  // what is known: who takes the time
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("--roofs")));
  EXPECT_FALSE(analysis.phases.empty());
  ASSERT_EQ(analysis.ledger.front().cause, Cause::kFloor);  // "busy, not judged"
  EXPECT_THAT(analysis.ledger.front().title, HasSubstr("too little is known"));
  for (const std::string& line : analysis.ledger.front().evidence) EXPECT_THAT(line, Not(HasSubstr("floor")));
}

TEST(HostProgram, CountsEachExecutionAndNoWorkTwice) {
  const Analysis analysis = explained(program(), fabricate::round_roofs());
  ASSERT_TRUE(analysis.floor_known);
  const auto addmm = std::find_if(analysis.top.begin(), analysis.top.end(),
                                  [](const TopOperator& row) { return row.kind == "aten::addmm"; });
  ASSERT_NE(addmm, analysis.top.end());
  EXPECT_NEAR(addmm->flops, 4e9, 1);
  EXPECT_NEAR(addmm->floor_ms, 4e9 / 200e9 * 1e3, 0.01);
  EXPECT_NEAR(addmm->fraction_of_roof, 0.5, 0.01);
  EXPECT_NEAR(analysis.floor_ms, 20, 0.1);  // the enclosing operator adds none
  EXPECT_THAT(addmm->why, HasSubstr("4 calls"));
}

// What moves as much as a product around it has not computed for it.
TEST(HostProgram, CountsAProductThatCopiesItsBiasFirst) {
  trace::Trace trace = program();
  trace.operators[0].bytes_written = trace.operators[1].bytes_written = 4e6;
  trace.operators[1].flops = trace.operators[1].bytes_read = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.op[row] == trace::OperatorId{0}) trace.spans.duration_ns[row] = 10'000'000;
    if (trace.spans.op[row] == trace::OperatorId{1}) trace.spans.duration_ns[row] = 1'000'000;
  }
  const Analysis analysis = explained(trace, fabricate::round_roofs());
  EXPECT_GE(analysis.floor_ms, 20);  // of the products, which copying needs least of
}

// A sleep between two operators is no launching, however many short gaps there are beside it.
TEST(HostProgram, CallsLongGapsBetweenOperatorsWorkOfItsOwn) {
  const Analysis analysis = explained(program(0, 20));
  ASSERT_EQ(analysis.verdict.cause, Cause::kHostOther);
  for (const LedgerRow& row : analysis.ledger) {
    if (row.cause == Cause::kHostOther) {
      EXPECT_NEAR(row.ms, 20, 1);
    } else if (row.cause == Cause::kLaunch) {
      EXPECT_LT(row.ms, 1);
    }
  }
}

TEST(HostProgram, GetsAdviceForItsFrameworkNotForPlans) {
  const Analysis analysis = explained(program(20));
  ASSERT_EQ(analysis.verdict.cause, Cause::kHostOther);
  for (const Finding& row : analysis.findings) {
    EXPECT_THAT(row.fix, Not(HasSubstr("static plan")));
    EXPECT_THAT(row.fix, Not(HasSubstr("hone")));
  }
}

TEST(HostProgram, SaysThatTheDeviceIsMissing) {
  trace::Trace trace = program(20);
  trace.spans.category.back() = trace::Category::kStep;
  add_span(trace, {.on = trace.spans.track[1],
                   .category = trace::Category::kRuntime,
                   .name = "cudaLaunchKernel",
                   .from_us = 30'000,
                   .us = 1,
                   .step = 0,
                   .correlation = 7});
  trace.meta.framework = trace::Framework::kPyTorch;
  const Analysis analysis = explained(trace);
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_FALSE(analysis.verdict.healthy());
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("Host only"));
  EXPECT_TRUE(analysis.findings.empty());  // nothing of the host's promises anything
  for (const LedgerRow& row : analysis.ledger) EXPECT_EQ(row.predicted_gain_ms, 0);
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("ProfilerActivity.CUDA")));
  for (const TopOperator& row : analysis.top) EXPECT_THAT(row.why, Not(HasSubstr("FLOP/s")));
  trace.meta.framework = trace::Framework::kJax;
  EXPECT_THAT(explained(trace).warnings, testing::Each(Not(HasSubstr("ProfilerActivity"))));
}

TEST(HostProgram, PromisesNothingWhereTheFileEndsBeforeTheDevicesWork) {
  trace::Trace trace = program(20);
  trace.meta.cut_off = true;
  EXPECT_THAT(explained(trace).top.front().why, HasSubstr("FLOP/s"));  // of a program of the host alone
  trace.meta.devices.push_back({0, 0, "NVIDIA H200", 150e9, 132, 9, 0});
  const Analysis analysis = explained(trace);
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("No verdict"));
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_TRUE(analysis.roofline.empty());  // of calls that return at once
  EXPECT_THAT(analysis.warnings, Not(Contains(HasSubstr("--roofs"))));
  EXPECT_TRUE(analysis.findings.empty());
  for (const LedgerRow& row : analysis.ledger) EXPECT_EQ(row.predicted_gain_ms, 0);
  for (const TopOperator& row : analysis.top) EXPECT_THAT(row.why, Not(HasSubstr("FLOP/s")));
}

TEST(OwnPlan, IsStillCalledHealthyAndAdvisedAsBefore) {
  trace::Trace trace = program(20);
  trace.meta.notes.clear();
  const Analysis analysis = explained(trace, fabricate::round_roofs());
  EXPECT_EQ(analysis.subject, Subject::kPlan);
}

TEST(OwnPlan, OnAGpuIsJudgedByItsRoofsAndOneOnTheCpuIsNot) {
  Roofs of_gpu = fabricate::round_roofs();
  of_gpu.machine = "NVIDIA H100 80GB HBM3";
  trace::Trace trace = program(20);
  trace.meta.notes.clear();
  EXPECT_THAT(analyze_trace(trace, of_gpu, {}).error().message, HasSubstr("the recording is of a CPU alone"));
  trace.meta.device = "cuda";
  const auto analysis = analyze_trace(trace, of_gpu, {});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  EXPECT_EQ(analysis->subject, Subject::kPlan);
}

// A copy of a bias in each row is no change of order, whatever the strides say.
TEST(HostProgram, IsToldOfBroadcastsThatAreWrittenOutAsSuch) {
  trace::Operator copy = op("copy_ 64×2048", "aten::copy_", OperatorClass::kMovement, 0, 8e3, 5e5);
  trace::Operator product = op("aten::addmm", "aten::addmm", OperatorClass::kMatrix, 1e9, 1e6, 1e6);
  for (const bool avoidable : {false, true}) {
    copy.avoidable_bytes = avoidable ? copy.bytes() : 0;
    fabricate::Timeline timeline({copy, product});
    for (int step = 0; step < 5; ++step) {
      timeline.begin_step();
      timeline.run(0, 4);
      timeline.run(1, 10);
      timeline.end_step();
    }
    timeline.trace().meta.notes.emplace_back("steps", "ProfilerStep ranges");
    timeline.trace().meta.framework = trace::Framework::kPyTorch;
    for (const Roofs& roofs : {Roofs{}, fabricate::round_roofs()}) {
      const Analysis analysis = explained(timeline.trace(), roofs);
      const auto row = std::find_if(analysis.ledger.begin(), analysis.ledger.end(),
                                    [](const LedgerRow& of) { return of.cause == Cause::kAvoidableTraffic; });
      ASSERT_EQ(row != analysis.ledger.end(), avoidable);
      if (!avoidable) continue;
      EXPECT_NEAR(row->ms, 4, 0.01);
      EXPECT_EQ(row->rule, "written_broadcasts");
      EXPECT_THAT(row->fix, HasSubstr("leave tensors expanded"));
      EXPECT_THAT(row->evidence, Contains(HasSubstr("496 KiB moved")));
    }
  }
}

}  // namespace
}  // namespace hone::analyze
