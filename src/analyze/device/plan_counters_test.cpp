// Plans of our own whose kernels were counted: their operators, their ledger and their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/device/testing/fabricate_counters.h"
#include "analyze/fabricate.h"

namespace hone::analyze::device {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using trace::Counter;

const LaunchShape kShape = {{64, 1, 1}, {256, 1, 1}, 40, 0};
const CounterValues kCopyAll = {{Counter::kDuration, 4e6},      {Counter::kSmThroughput, 10},
                                {Counter::kL1Throughput, 15},   {Counter::kL2Throughput, 50},
                                {Counter::kDramThroughput, 92}, {Counter::kDramRead, 30e6},
                                {Counter::kDramWritten, 30e6}};
const CounterValues kColumns = {{Counter::kDuration, 8e6},
                                {Counter::kSmThroughput, 5},
                                {Counter::kL1Throughput, 45},
                                {Counter::kL2Throughput, 87},
                                {Counter::kDramThroughput, 14},
                                {Counter::kDramRead, 30e6},
                                {Counter::kDramWritten, 30e6},
                                {Counter::kGlobalLoads, 1.05e6},
                                {Counter::kGlobalStores, 1.05e6},
                                {Counter::kGlobalLoadSectors, 4.2e6},
                                {Counter::kGlobalStoreSectors, 33.6e6},
                                {Counter::kGlobalLoadBytes, 134.2e6},
                                {Counter::kGlobalStoreBytes, 134.2e6}};

// Two operators that move 60 MB each, at 30 GB/s 2 ms: one takes 4 ms, the other 8.
trace::Trace two_operators() {
  analyze::fabricate::Timeline plan(
      {analyze::fabricate::op("near", "Cast", trace::OperatorClass::kMovement, 0, 30e6, 30e6),
       analyze::fabricate::op("slow", "Cast", trace::OperatorClass::kMovement, 0, 30e6, 30e6)});
  for (int step = 0; step < 20; ++step) {
    plan.begin_step();
    plan.run(0, 4);
    plan.run(1, 8);
    plan.end_step();
  }
  return plan.trace();
}

trace::Trace counted_operators() {
  trace::Trace trace = two_operators();
  trace.meta.devices = {h100()};
  trace.counters = {counted_launch(trace.strings, "copy_all", kShape, kCopyAll),
                    counted_launch(trace.strings, "columns", kShape, kColumns)};
  return trace;
}

PlanKernel kernel_of(uint32_t op, const char* name, double ns) {
  return {op, name, kShape.grid, kShape.block, ns};
}

Analysis analysed(const trace::Trace& trace, std::vector<PlanKernel> kernels) {
  AnalyzeOptions options;
  options.kernels = std::move(kernels);
  auto analysis = analyze_trace(trace, analyze::fabricate::round_roofs(), options);
  EXPECT_TRUE(analysis.ok()) << analysis.error().message;
  return analysis.ok() ? *std::move(analysis) : Analysis();
}

const LedgerRow* inefficiency_of(const Analysis& analysis) {
  for (const LedgerRow& row : analysis.ledger)
    if (row.cause == Cause::kKernelInefficiency) return &row;
  return nullptr;
}

TEST(CountersOfAPlan, SayOfItsKernelsWhatBoundsThemAndWhatOfTheStepTheyAre) {
  const Analysis found =
      analysed(counted_operators(), {kernel_of(0, "copy_all", 4e6), kernel_of(1, "columns", 8e6)});
  EXPECT_EQ(found.subject, Subject::kPlan);
  ASSERT_THAT(found.counted_kernels, SizeIs(2));
  const CountedKernel &slow = found.counted_kernels[0], &near = found.counted_kernels[1];
  EXPECT_EQ(slow.name, "columns");
  EXPECT_NEAR(slow.step_ms, 8, 1e-9);
  EXPECT_NEAR(slow.share, 8.0 / 12, 1e-6);
  EXPECT_EQ(slow.bound, "L2");
  ASSERT_THAT(slow.findings, Not(IsEmpty()));
  EXPECT_EQ(slow.findings[0].rule, "uncoalesced");
  EXPECT_EQ(near.bound, "DRAM");
  EXPECT_THAT(near.findings, IsEmpty());
  EXPECT_EQ(near.operator_bytes, 60e6);
  ASSERT_THAT(found.top, SizeIs(2));
  EXPECT_THAT(found.top[0].why, HasSubstr("; by counters: bound by L2, which is 87"));
  EXPECT_THAT(found.top[1].why, HasSubstr("; by counters: bound by DRAM, which is 92"));
}

// The roofs alone would have both win: what is near what the device can do does not, and the other what its fault costs.
TEST(CountersOfAPlan, PromiseWhatTheirFindingsPromise) {
  const Analysis found =
      analysed(counted_operators(), {kernel_of(0, "copy_all", 4e6), kernel_of(1, "columns", 8e6)});
  const LedgerRow* row = inefficiency_of(found);
  ASSERT_NE(row, nullptr);
  const CountedKernel& slow = found.counted_kernels[0];
  const double promised = slow.findings[0].predicted_gain_us / slow.us * 8;
  EXPECT_NEAR(row->predicted_gain_ms, promised, 0.01);
  EXPECT_THAT(row->evidence, Contains(HasSubstr(" ms of it by counters")));
  const Analysis by_roofs = analysed(two_operators(), {});
  ASSERT_NE(inefficiency_of(by_roofs), nullptr);
  EXPECT_NEAR(inefficiency_of(by_roofs)->ms, row->ms, 1e-9) << "counters move no time to another row";
  EXPECT_GT(inefficiency_of(by_roofs)->predicted_gain_ms, row->predicted_gain_ms + 1);
  EXPECT_THAT(inefficiency_of(by_roofs)->evidence, Not(Contains(HasSubstr("by counters"))));
  EXPECT_THAT(by_roofs.counted_kernels, IsEmpty());
}

TEST(CountersOfAPlan, OfAnOperatorWithSeveralKernelsAreThoseOfTheLongest) {
  const Analysis found =
      analysed(counted_operators(),
               {kernel_of(1, "columns", 2e6), kernel_of(1, "copy_all", 5e6), kernel_of(1, "uncounted", 1e6)});
  EXPECT_THAT(found.top[0].why, HasSubstr("; by counters: copy_all: bound by DRAM"));
  EXPECT_THAT(found.top[1].why, Not(HasSubstr("by counters")));
  EXPECT_EQ(found.counted_kernels[0].operator_bytes, 0) << "nobody knows what each kernel moves of it";
}

TEST(CountersOfAPlan, OfAnotherGeometryAreOfNoOperator) {
  PlanKernel other = kernel_of(1, "columns", 8e6);
  other.grid = {65, 1, 1};
  const Analysis found = analysed(counted_operators(), {other});
  ASSERT_THAT(found.counted_kernels, SizeIs(2));
  for (const CountedKernel& kernel : found.counted_kernels) EXPECT_EQ(kernel.step_ms, 0);
  for (const TopOperator& row : found.top) EXPECT_THAT(row.why, Not(HasSubstr("by counters")));
  const LedgerRow* row = inefficiency_of(found);
  ASSERT_NE(row, nullptr);
  EXPECT_NEAR(row->predicted_gain_ms, inefficiency_of(analysed(two_operators(), {}))->predicted_gain_ms,
              1e-9);
}

TEST(CountersOfAPlan, OutliveKernelsOfOperatorsThatAreNotThere) {
  EXPECT_THAT(analysed(counted_operators(), {kernel_of(7, "columns", 8e6)}).counted_kernels, SizeIs(2));
}

}  // namespace
}  // namespace hone::analyze::device
