// What is said where a recording lacks a part of the program.
#include "analyze/device/timeline/evidence.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kWorks = 10;

trace::Trace program(int steps = 4) {
  fabricate::Ranks made(1);
  for (int step = 0; step < steps; ++step) {
    made.begin_step(0);
    for (int i = 0; i < kWorks; ++i) made.launch(0, 100);
    made.wait(0);
    made.end_step(0);
  }
  return made.trace();
}

// Keeps rows for which `keep(row number among its category)` holds; turns the others into something that
// nobody reads.
template <typename Keep>
void drop(trace::Trace& trace, trace::Category category, const Keep& keep) {
  int number = 0;
  for (trace::Category& each : trace.spans.category)
    if (each == category && !keep(number++)) each = trace::Category::kOther;
}

Analysis analysis_of(const trace::Trace& trace) {
  auto analysis = analyze_trace(trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok());
  return analysis.ok() ? std::move(*analysis) : Analysis{};
}

TEST(Evidence, OfAWholeRecordingIsWhole) {
  const Analysis analysis = analysis_of(program());
  EXPECT_THAT(analysis.verdict.sentence, Not(HasSubstr("As far as the")));
  EXPECT_EQ(analysis.step.count, 4);
}

TEST(Evidence, TheVerdictIsOfAPartWhereKernelsAreMissing) {
  trace::Trace trace = program();
  drop(trace, trace::Category::kKernel, [](int i) { return i % 5 != 0; });
  const Analysis analysis = analysis_of(trace);
  EXPECT_THAT(analysis.verdict.sentence, StartsWith("As far as the recording goes: "));
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("lacks 20")));
}

TEST(Evidence, ThereIsNoVerdictWhereMostKernelsAreMissing) {
  trace::Trace trace = program();
  drop(trace, trace::Category::kKernel, [](int i) { return i % 5 == 0; });
  const Analysis analysis = analysis_of(trace);
  EXPECT_THAT(analysis.verdict.sentence, StartsWith("No verdict: "));
  EXPECT_FALSE(analysis.verdict.cause.has_value());
  EXPECT_FALSE(analysis.verdict.healthy());
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_FALSE(analysis.ledger.empty());
  for (const LedgerRow& row : analysis.ledger) {
    EXPECT_EQ(row.predicted_gain_ms, 0) << row.rule;
    EXPECT_EQ(row.fix, "") << row.rule;
  }
}

// What is launched while a graph is captured runs when the graph does.
TEST(Evidence, LaunchesOfACaptureLackNothing) {
  constexpr int kCaptured = 6;
  trace::Trace trace = program();
  std::vector<uint32_t> launches;
  for (uint32_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == trace::Category::kRuntime && trace.spans.correlation[row] != 0)
      launches.push_back(row);
  drop(trace, trace::Category::kKernel, [](int i) { return i >= kCaptured; });
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("As far as the recording goes: "));
  const auto mark = [&](const char* call, int64_t at_ns) {
    add_span(trace, {.on = trace.spans.track[launches.front()],
                     .category = trace::Category::kRuntime,
                     .name = call,
                     .from_us = static_cast<double>(at_ns) * 1e-3,
                     .us = 0,
                     .step = trace.spans.step[launches.front()]});
  };
  mark("cudaStreamBeginCapture", trace.spans.start_ns[launches.front()]);
  mark("cudaStreamEndCapture", trace.spans.start_ns[launches[kCaptured]]);
  EXPECT_THAT(analysis_of(trace).verdict.sentence, Not(HasSubstr("As far as the")));
}

TEST(Evidence, TheVerdictIsOfAPartWhereLaunchesAreMissing) {
  trace::Trace trace = program();
  drop(trace, trace::Category::kRuntime, [](int i) { return i % 5 != 0; });
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("As far as the recording goes: "));
  // Devices alone may be what the user wanted to record, unless the file was cut off.
  trace = program();
  drop(trace, trace::Category::kRuntime, [](int) { return false; });
  EXPECT_THAT(analysis_of(trace).verdict.sentence, Not(HasSubstr("As far as the")));
  trace.meta.cut_off = true;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("No verdict: "));
  drop(trace, trace::Category::kOperator, [](int) { return false; });
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("As far as the file goes: "));
}

TEST(Evidence, ThereIsNoVerdictWhereOneCallLaunchesEverything) {
  trace::Trace trace = program();
  for (uint64_t& id : trace.spans.correlation)
    if (id != 0) id = 1;
  const Analysis analysis = analysis_of(trace);
  EXPECT_THAT(analysis.verdict.sentence, StartsWith("No verdict: "));
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("correlation ids are not unique"));
}

TEST(Evidence, ThereIsNoVerdictWhereWorkTakesNoTime) {
  trace::Trace trace = program();
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == trace::Category::kKernel) trace.spans.duration_ns[row] = 0;
  const Analysis analysis = analysis_of(trace);
  EXPECT_THAT(analysis.verdict.sentence, StartsWith("No verdict: "));
  EXPECT_THAT(analysis.verdict.sentence, HasSubstr("it takes no time"));
}

TEST(Evidence, TheEndOfAnOnlyStepMayBeMissing) {
  trace::Trace trace = program(1);
  trace.meta.cut_off = true;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == trace::Category::kStep) trace.spans.duration_ns[row] *= 2;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("No verdict: "));
}

TEST(Evidence, LostRecordsCount) {
  trace::Trace trace = program();
  trace.meta.lost = trace.spans.size() / 10;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("As far as the recording goes: "));
  trace.meta.lost = 1;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, Not(HasSubstr("As far as the")));
  trace.meta.dropped = 2 * trace.spans.size();
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("No verdict: "));
}

TEST(Evidence, StepsWithinWhichTheFileEndsAreLeftOut) {
  trace::Trace trace = program();
  trace.meta.cut_off = true;
  drop(trace, trace::Category::kKernel, [](int i) { return i < 3 * kWorks + 4; });
  const Analysis whole = analysis_of(program(3)), torn = analysis_of(trace);
  EXPECT_EQ(torn.step.count, 3);
  EXPECT_THAT(torn.verdict.sentence, Not(HasSubstr("As far as the")));
  EXPECT_THAT(torn.warnings, Contains(HasSubstr("1 step at the end left out")));
  for (const Metric& metric : whole.targets)
    for (const Metric& other : torn.targets)
      if (metric.name == other.name) {
        EXPECT_NEAR(other.value, metric.value, 0.01 * metric.value + 0.01) << metric.name;
      }
}

// As PyTorch orders files: all operators first.
TEST(Evidence, OperatorsWhoseLaunchesAreMissingCount) {
  trace::Trace trace = program(1);
  trace.meta.cut_off = true;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, Not(HasSubstr("As far as the")));
  const auto lacks_from = [&](int first) {
    trace::Trace torn = trace;
    drop(torn, trace::Category::kRuntime, [&](int i) { return i < first; });
    drop(torn, trace::Category::kKernel, [&](int i) { return i < first; });
    return analysis_of(torn).verdict.sentence;
  };
  EXPECT_THAT(lacks_from(8), StartsWith("As far as the file goes: "));
  EXPECT_THAT(lacks_from(5), StartsWith("No verdict: "));
}

TEST(Evidence, TheHostAloneGetsNoVerdictOnADevice) {
  trace::Trace trace = program();
  drop(trace, trace::Category::kKernel, [](int) { return false; });
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("Host only"));
  drop(trace, trace::Category::kRuntime, [](int) { return false; });
  trace.meta.cut_off = true;
  EXPECT_THAT(analysis_of(trace).verdict.sentence, StartsWith("No verdict: the file ends before"));
}

}  // namespace
}  // namespace hone::analyze::device
