// Programs of which no operator says what their kernels need: counters do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/testing/fabricate_works.h"
#include "trace/link/counted_operators.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using trace::Counter;

void cost_by_counters(Works& works) {
  const trace::SpanNesting nesting(works.trace());
  trace::link::cost_by_counters(works.trace(), trace::link::find_device_work(works.trace(), nesting));
}

// A transpose of 128 MiB that reads in order and writes a column at a time: a quarter of what it fetches is used.
const CounterValues kTransposeNaive = {{Counter::kDuration, 570e3},
                                       {Counter::kSmThroughput, 5},
                                       {Counter::kL1Throughput, 45},
                                       {Counter::kL2Throughput, 87},
                                       {Counter::kDramThroughput, 14},
                                       {Counter::kDramRead, 134.2e6},
                                       {Counter::kDramWritten, 134.2e6},
                                       {Counter::kGlobalLoads, 1.05e6},
                                       {Counter::kGlobalStores, 1.05e6},
                                       {Counter::kGlobalLoadSectors, 4.2e6},
                                       {Counter::kGlobalStoreSectors, 33.6e6},
                                       {Counter::kGlobalLoadBytes, 134.2e6},
                                       {Counter::kGlobalStoreBytes, 134.2e6}};
const CounterValues kCopy = {{Counter::kDuration, 90e3},      {Counter::kSmThroughput, 10},
                             {Counter::kL1Throughput, 15},    {Counter::kL2Throughput, 50},
                             {Counter::kDramThroughput, 92},  {Counter::kDramRead, 134.2e6},
                             {Counter::kDramWritten, 134.2e6}};

// Steps of a native program, whose kernels were counted.
Works native_program() {
  Works works;
  for (int step = 0; step < 5; ++step) {
    works.launch(570, "transpose_naive(float*, float*)");
    works.give_blocks(64);
    works.launch(90, "copy_all(float*, float*)");
    works.give_blocks(64);
    works.pass(20);
    works.end_step();
  }
  works.launch(570, "transpose_naive(float*, float*)");
  works.count(kTransposeNaive);
  works.launch(90, "copy_all(float*, float*)");
  works.count(kCopy);
  return works;
}

TEST(JudgedByCounters, AreKernelsThatNoOperatorLaunched) {
  Works works = native_program();
  cost_by_counters(works);
  const BusySplit split = works.split(gpu_roofs("NVIDIA H100 80GB HBM3"));
  const WorkSplit &naive = split.works[0], &copy = split.works[1];
  EXPECT_EQ(naive.rule, Rule::kUncoalesced);
  EXPECT_NEAR(naive.of(Cause::kFloor), 0.15, 0.03);  // 268 MB at the roof
  EXPECT_NEAR(naive.of(Cause::kKernelInefficiency), 0.85, 0.03);
  EXPECT_LT(naive.target_ns, 250e3);
  EXPECT_EQ(copy.rule, Rule::kFloor);
  EXPECT_GT(copy.of(Cause::kFloor), 0.9);
}

TEST(JudgedByCounters, IsAProgramWithoutOperators) {
  Works works = native_program();
  cost_by_counters(works);
  const auto analysis = analyze_device_trace(works.trace(), {}, {});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  EXPECT_TRUE(analysis->verdict.judged);
  EXPECT_EQ(analysis->verdict.cause, Cause::kKernelInefficiency);
  ASSERT_FALSE(analysis->top.empty());
  EXPECT_THAT(analysis->top[0].name, HasSubstr("transpose_naive"));
  EXPECT_EQ(analysis->top[0].roof, "DRAM");
  EXPECT_NEAR(analysis->coverage->costed_share, 1, 0.01);
  EXPECT_EQ(analysis->coverage->linked_share, 0);
  EXPECT_THAT(analysis->warnings, Not(Contains(HasSubstr("could not be traced back to an operator"))));
  for (const LedgerRow& row : analysis->ledger) {
    if (row.cause != Cause::kKernelInefficiency) continue;
    EXPECT_THAT(row.evidence, Contains(HasSubstr("by counters")));
  }
}

// An operator of which no rule says what it costs, all of whose kernels were counted.
TEST(JudgedByCounters, AreOperatorsWhoseCostsNothingElseTells) {
  Works works;
  for (int i = 0; i < 2; ++i) {
    works.run({.kind = "mine::two_kernels", .us = 90, .kernel = "copy_all(float*, float*)"});
    works.count(kCopy);
    works.also(90, "copy_all(float*, float*)");
    works.give_blocks(64);
  }
  works.run({.kind = "aten::mul", .bytes = 100, .us = 90, .kernel = "copy_all(float*, float*)"});
  works.give_blocks(64);
  works.end_step();
  cost_by_counters(works);
  EXPECT_NEAR(works.trace().operators[0].bytes(), 4 * 134.2e6, 1e6);
  EXPECT_TRUE(works.trace().operators[0].measured);
  EXPECT_EQ(works.trace().operators.back().bytes(), 100);  // its definition goes before what it did
  EXPECT_FALSE(works.trace().operators.back().measured);
}

TEST(JudgedByCounters, AreNoOperatorsOfWhichHalfWasCounted) {
  Works works;
  works.run({.kind = "mine::two_kernels", .us = 90, .kernel = "copy_all(float*, float*)"});
  works.count(kCopy);
  works.also(90, "another(float*, float*)");
  works.end_step();
  cost_by_counters(works);
  EXPECT_EQ(works.trace().operators[0].bytes(), 0);
}

}  // namespace
}  // namespace hone::analyze::device
