// The ledger adds up, whatever the trace looks like, and puts planted faults under their names.
#include "analyze/ledger.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/attribution.h"
#include "analyze/fabricate.h"
#include "analyze/rules.h"
#include "trace/testing/add_span.h"

namespace hone::analyze {
namespace {

using fabricate::op;
using trace::Category;
using trace::OperatorClass;

double sum(const Analysis& analysis) {
  double total = 0;
  for (const LedgerRow& row : analysis.ledger) total += row.ms;
  return total;
}

const LedgerRow* row(const Analysis& analysis, Cause cause) {
  for (const LedgerRow& candidate : analysis.ledger)
    if (candidate.cause == cause) return &candidate;
  return nullptr;
}

Analysis analysed(const trace::Trace& trace) {
  Roofs roofs = fabricate::round_roofs();
  Result<Analysis> result = analyze_trace(trace, roofs, {});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return *result;
}

// Spans of any category, anywhere, overlapping at will, on three threads and two processes.
trace::Trace chaos(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  trace::Trace trace;
  trace.meta = {"hone test", "", "cpu", 2, 0, {}};
  for (int i = 0; i < 4; ++i) trace.add_track({});
  for (int i = 0; i < 12; ++i) {
    trace::Operator any = op("op" + std::to_string(i), "Any", static_cast<OperatorClass>(i % 9),
                             static_cast<double>(below(1000000)), static_cast<double>(below(1000000)), 1000);
    any.avoidable_bytes = i % 3 == 0 ? any.bytes() : 0;
    trace.add_operator(any);
  }
  for (int32_t step = 0; step < 7; ++step) {
    int64_t start = 1'000'000 + step * 100'000;
    int64_t length = 50'000 + below(40'000);
    trace.spans.add({start, length, {0}, {}, Category::kStep, step, {}, 0});
    for (int i = 0; i < 60; ++i) {
      auto category = static_cast<Category>(1 + below(trace::kCategoryCount - 1));
      trace::OperatorId id =
          below(3) == 0 ? trace::OperatorId{} : trace::OperatorId{static_cast<uint32_t>(below(12))};
      trace.spans.add({start - 5000 + below(100'000),
                       below(8) * below(3000),
                       {static_cast<uint32_t>(below(4))},
                       {},
                       category,
                       step,
                       id,
                       0});
    }
  }
  return trace;
}

TEST(Attribution, DividesEveryNanosecondOfTheStep) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    trace::Trace trace = chaos(seed);
    for (const StepWindow& step : find_steps(trace, 0)) {
      Attribution parts = attribute(trace, step);
      double total = 0, operators = 0;
      for (double ns : parts.operator_ns) operators += ns;
      for (double ns : parts.waiting_ns) total += ns;
      EXPECT_NEAR(total + operators, parts.total_ns, 1e-3);
      EXPECT_NEAR(operators, parts.busy_ns, 1e-3);
    }
  }
}

TEST(Attribution, SharesOverlapEvenlyAndCountsTheInnermostSpan) {
  trace::Trace trace;
  for (int i = 0; i < 2; ++i) trace.add_track({});
  for (int i = 0; i < 3; ++i)
    trace.add_operator(op("op" + std::to_string(i), "Any", OperatorClass::kOther, 0, 0, 0));
  const auto add = [&](uint32_t thread, Category category, double from_us, double to_us,
                       trace::OperatorId op = {}) {
    add_span(trace, {.on = {thread},
                     .category = category,
                     .from_us = from_us,
                     .us = to_us - from_us,
                     .step = 0,
                     .op = op});
  };
  add(0, Category::kStep, 0, 100);
  add(0, Category::kOperator, 10, 70, {0});
  add(0, Category::kOperator, 20, 30, {1});  // nested
  add(1, Category::kOperator, 40, 80, {2});
  add(0, Category::kAllocation, 90, 95);
  std::vector<StepWindow> steps = find_steps(trace, 0);
  ASSERT_EQ(steps.size(), 1u);
  Attribution parts = attribute(trace, steps[0]);
  EXPECT_DOUBLE_EQ(parts.operator_ns[0], 1e3 * (10 + 10 + 15));
  EXPECT_DOUBLE_EQ(parts.operator_ns[1], 10e3);
  EXPECT_DOUBLE_EQ(parts.operator_ns[2], 1e3 * (15 + 10));
  EXPECT_DOUBLE_EQ(parts.busy_ns, 70e3);
  EXPECT_DOUBLE_EQ(parts.waiting_ns[static_cast<std::size_t>(Cause::kAllocator)], 5e3);
  EXPECT_DOUBLE_EQ(parts.waiting_ns[static_cast<std::size_t>(Cause::kHostOther)], 1e3 * (10 + 15));
}

TEST(Ledger, AddsUpToTheStepForAnyTrace) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Analysis analysis = analysed(chaos(seed));
    EXPECT_NEAR(sum(analysis), analysis.step.ms.median, 1e-9 + 0.0001 * analysis.step.ms.median);
    for (const LedgerRow& entry : analysis.ledger) {
      EXPECT_GT(entry.ms, 0);
      EXPECT_GE(entry.predicted_gain_ms, 0);
      EXPECT_LE(entry.predicted_gain_ms, entry.ms + 1e-12);
      EXPECT_FALSE(entry.evidence.empty());
    }
  }
}

// conv (2 GFLOP: 10 ms at the roof) then relu (60 MB: 1.2 ms, half of it from a cache) which could be the
// conv's epilogue.
trace::Trace conv_then_relu(double conv_ms, double relu_ms, double gap_ms, bool fusable) {
  trace::Operator conv = op("conv_1", "Conv", OperatorClass::kConvolution, 2e9, 1e6, 30e6);
  trace::Operator relu = op("relu_1", "Relu", OperatorClass::kPointwise, 7.5e6, 30e6, 30e6);
  if (fusable) {
    relu.avoidable_bytes = relu.bytes();
    relu.fuses_with = "conv_1";
  }
  fabricate::Timeline timeline({conv, relu});
  std::mt19937 random(5);
  std::uniform_real_distribution<double> jitter(0.99, 1.03);
  for (int step = 0; step < 20; ++step) {
    timeline.begin_step();
    timeline.run(0, conv_ms * jitter(random));
    timeline.idle(gap_ms);
    timeline.run(1, relu_ms * jitter(random));
    timeline.end_step();
    timeline.idle(1);
  }
  return timeline.trace();
}

TEST(Ledger, PutsAnUnfusedPointwiseOperatorUnderAvoidableTraffic) {
  Analysis analysis = analysed(conv_then_relu(11, 4, 0, true));
  ASSERT_NE(row(analysis, Cause::kAvoidableTraffic), nullptr);
  EXPECT_NEAR(row(analysis, Cause::kAvoidableTraffic)->ms, 4, 0.1);
  EXPECT_NEAR(row(analysis, Cause::kFloor)->ms, 10, 0.2);
  EXPECT_NEAR(analysis.floor_ms, row(analysis, Cause::kFloor)->ms, 1e-12);
  ASSERT_TRUE(analysis.verdict.cause.has_value());
  EXPECT_EQ(*analysis.verdict.cause, Cause::kAvoidableTraffic);
  const std::string& named = row(analysis, Cause::kAvoidableTraffic)->evidence[1];
  EXPECT_NE(named.find("relu_1"), std::string::npos) << named;
  EXPECT_NE(named.find("conv_1"), std::string::npos) << named;
}

TEST(Ledger, PutsASlowKernelUnderKernelInefficiency) {
  Analysis analysis = analysed(conv_then_relu(40, 1.3, 0, false));
  EXPECT_EQ(analysis.verdict.cause, Cause::kKernelInefficiency);
  EXPECT_NEAR(row(analysis, Cause::kKernelInefficiency)->ms, 30, 1);
  // 75 % of the roof is what a good convolution reaches: 13.3 ms.
  EXPECT_NEAR(row(analysis, Cause::kKernelInefficiency)->predicted_gain_ms, 40 - 13.3, 1);
}

// One plan of two kernels for the same convolution: 2 GFLOP by its definition, 0.6 by the cheapest algorithm.
trace::Trace convolution_by(double executed_flops, const char* algorithm, double ms) {
  trace::Operator conv = op("conv_1", "Conv", OperatorClass::kConvolution, 2e9, 1e6, 3e6);
  conv.least_flops = 6e8;
  conv.executed_flops = executed_flops;
  conv.algorithm = algorithm;
  fabricate::Timeline timeline({conv});
  for (int step = 0; step < 20; ++step) {
    timeline.begin_step();
    timeline.run(0, ms);
    timeline.end_step();
  }
  return timeline.trace();
}

TEST(Ledger, HasTheSameFloorForTwoKernelsOfOneGraph) {
  Analysis direct = analysed(convolution_by(0, "", 10.5));
  Analysis winograd = analysed(convolution_by(6.4e8, "Winograd F(4x4,3x3)", 6));
  EXPECT_DOUBLE_EQ(direct.floor_ms, 3);
  EXPECT_DOUBLE_EQ(winograd.floor_ms, direct.floor_ms);
  EXPECT_DOUBLE_EQ(direct.top[0].floor_ms, winograd.top[0].floor_ms);
  for (const Analysis* analysis : {&direct, &winograd}) {
    EXPECT_DOUBLE_EQ(row(*analysis, Cause::kFloor)->ms, 3);
    EXPECT_NEAR(sum(*analysis), analysis->step.ms.median, 1e-9);
    EXPECT_TRUE(analysis->warnings.empty());
  }
}

TEST(Ledger, CountsTheArithmeticThatAFasterAlgorithmSparesAsInefficiency) {
  Analysis analysis = analysed(convolution_by(0, "", 10.5));
  const LedgerRow* lost = row(analysis, Cause::kKernelInefficiency);
  ASSERT_NE(lost, nullptr);
  EXPECT_NEAR(lost->ms, 7.5, 1e-9);
  EXPECT_NEAR(lost->predicted_gain_ms, 10.5 - 3 / kAttainableFastAlgorithm, 1e-9);
  EXPECT_NE(lost->evidence[0].find("7.00 ms of it is arithmetic"), std::string::npos) << lost->evidence[0];
  EXPECT_NE(lost->evidence[1].find("Winograd's algorithm needs 3.3 times fewer"), std::string::npos)
      << lost->evidence[1];
}

TEST(Ledger, AddsUpAndWarnsWhereAnOperatorIsFasterThanItsFloor) {
  Analysis analysis = analysed(convolution_by(6.4e8, "Winograd F(4x4,3x3)", 2));
  EXPECT_DOUBLE_EQ(analysis.floor_ms, 3);
  EXPECT_NEAR(sum(analysis), 2, 1e-9);
  EXPECT_NEAR(row(analysis, Cause::kFloor)->ms, 2, 1e-9);
  ASSERT_EQ(analysis.warnings.size(), 1u);
  EXPECT_NE(analysis.warnings[0].find("less than its f32 compute roof allows"), std::string::npos);
}

TEST(Ledger, PutsTimeBetweenOperatorsUnderLaunch) {
  Analysis analysis = analysed(conv_then_relu(10.5, 2.1, 5, false));
  EXPECT_EQ(analysis.verdict.cause, Cause::kLaunch);
  EXPECT_NEAR(row(analysis, Cause::kLaunch)->ms, 5, 0.1);
}

TEST(Ledger, CallsAnEfficientStepHealthy) {
  Analysis analysis = analysed(conv_then_relu(10.8, 2.1, 0.01, false));
  EXPECT_TRUE(analysis.verdict.healthy()) << analysis.verdict.sentence;
  EXPECT_NE(analysis.verdict.sentence.find("Healthy"), std::string::npos);
}

TEST(Ledger, NamesHostActivityThatFillsAGap) {
  fabricate::Timeline timeline({op("a", "Any", OperatorClass::kOther, 0, 0, 0)});
  const std::pair<Category, Cause> expected[] = {{Category::kAllocation, Cause::kAllocator},
                                                 {Category::kInput, Cause::kInput},
                                                 {Category::kIo, Cause::kIo},
                                                 {Category::kCompile, Cause::kCompile},
                                                 {Category::kSynchronization, Cause::kHostSync}};
  timeline.begin_step();
  for (const auto& [category, cause] : expected) {
    timeline.run(0, 1);
    timeline.host(category, "x", 2);
  }
  timeline.end_step();
  Analysis analysis = analysed(timeline.trace());
  for (const auto& [category, cause] : expected) {
    ASSERT_NE(row(analysis, cause), nullptr) << cause_name(cause);
    EXPECT_NEAR(row(analysis, cause)->ms, 2, 1e-9);
  }
}

// A wait of the host's beside a device that is busy is none of the step's.
TEST(Ledger, TellsOfAWaitWhatNoOperatorRanBeside) {
  trace::Trace trace;
  trace.meta = {"hone test", "", "cuda", 1, 0, {}};
  for (int i = 0; i < 2; ++i) trace.add_track({});
  trace.add_operator(op("a", "Any", OperatorClass::kOther, 0, 0, 0));
  const trace::StringId name = trace.strings.intern("input: decode");
  for (int32_t step = 0; step < 3; ++step) {
    const int64_t start = 1'000'000 + step * 20'000'000;
    trace.spans.add({start, 15'000'000, {0}, {}, Category::kStep, step, {}, 0});
    trace.spans.add({start, 6'000'000, {1}, {}, Category::kOperator, step, {0}, 0});
    trace.spans.add({start + 5'000'000, 7'000'000, {1}, {}, Category::kOperator, step, {0}, 0});
    trace.spans.add({start + 2'000'000, 12'000'000, {0}, name, Category::kInput, step, {}, 0});
  }
  const Analysis analysis = analysed(trace);
  const LedgerRow* const input = row(analysis, Cause::kInput);
  ASSERT_NE(input, nullptr);
  EXPECT_NEAR(input->ms, 2, 1e-9);
  EXPECT_EQ(
      std::count(input->evidence.begin(), input->evidence.end(), "input: decode: 2.00 ms a step on average"),
      1)
      << ::testing::PrintToString(input->evidence);
}

TEST(Ledger, OfATraceWithoutStepsIsAnError) {
  trace::Trace trace;
  Roofs roofs;
  Result<Analysis> result = analyze_trace(trace, roofs, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("no steps"), std::string::npos);
}

TEST(Ledger, DoesNotJudgeOperatorsWithoutKnownCost) {
  fabricate::Timeline timeline({op("conv_1", "Conv", OperatorClass::kConvolution, 1e9, 1e6, 1e6),
                                op("nonzero", "NonZero", OperatorClass::kOther, 0, 0, 0)});
  for (int step = 0; step < 9; ++step) {
    timeline.begin_step();
    timeline.run(0, 10.5);
    timeline.run(1, 30);
    timeline.end_step();
  }
  const Analysis analysis = analysed(timeline.trace());
  const LedgerRow* unjudged = row(analysis, Cause::kUnjudged);
  ASSERT_NE(unjudged, nullptr);
  EXPECT_NEAR(unjudged->ms, 30, 0.1);
  EXPECT_EQ(unjudged->predicted_gain_ms, 0);
  ASSERT_EQ(unjudged->evidence.size(), 2u);
  EXPECT_EQ(unjudged->evidence[1].find("nonzero (NonZero): "), 0u) << unjudged->evidence[1];
  EXPECT_EQ(row(analysis, Cause::kKernelInefficiency)->evidence[0].find("1 operator"), 0u)
      << "an operator without known cost is not called slow";
  EXPECT_NEAR(sum(analysis), analysis.step.ms.median, 0.01);
}

TEST(Analysis, OfABusyMachineFindsNothing) {
  trace::Trace trace = conv_then_relu(40, 1.3, 0, false);
  const Analysis quiet = analysed(trace);
  ASSERT_FALSE(quiet.findings.empty());
  trace.meta.contention = {0.34, true};
  const Analysis analysis = analysed(trace);
  EXPECT_FALSE(analysis.verdict.given);
  EXPECT_FALSE(analysis.verdict.healthy());
  EXPECT_NE(analysis.verdict.sentence.find("34 %"), std::string::npos) << analysis.verdict.sentence;
  EXPECT_NE(analysis.verdict.sentence.find("--threads 1"), std::string::npos) << analysis.verdict.sentence;
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.ledger.size(), quiet.ledger.size());
  for (std::size_t i = 0; i < analysis.ledger.size(); ++i) {
    EXPECT_EQ(analysis.ledger[i].predicted_gain_ms, 0);
    EXPECT_EQ(analysis.ledger[i].ms, quiet.ledger[i].ms) << "the time was spent all the same";
  }
  EXPECT_EQ(analysis.warnings.size(), quiet.warnings.size() + 1);
  trace.meta.threads = 1;
  EXPECT_EQ(analysed(trace).verdict.sentence.find("--threads"), std::string::npos);
}

TEST(Analysis, WarnsOfDroppedRecordsAndMissingRoofs) {
  trace::Trace trace = conv_then_relu(10, 2, 0, false);
  trace.meta.dropped = 7;
  Roofs none;
  Result<Analysis> result = analyze_trace(trace, none, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->warnings.size(), 2u);
  EXPECT_EQ(result->floor_ms, 0);
}

TEST(Causes, RoundTripThroughTheirNames) {
  for (Cause cause : all_causes()) EXPECT_EQ(cause_from_name(cause_name(cause)), cause);
  EXPECT_FALSE(cause_from_name("weather").has_value());
}

}  // namespace
}  // namespace hone::analyze
