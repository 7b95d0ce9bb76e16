// What counters mean, on kernels made up counter by counter: each fault is found by what was measured, and what only looks like
// one is left alone. recorded_kernels_test.cpp asks the same of kernels that ran.
#include "analyze/device/kernels/kernel_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_counters.h"

namespace hone::analyze::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::Counter;

constexpr LaunchShape kUsual = {{4096, 1, 1}, {256, 1, 1}, 32, 0};

TEST(KernelStudy, AKernelThatKeepsDramBusyIsLeftAlone) {
  const MadeUpKernel kernel(kUsual, {});
  EXPECT_THAT(kernel.faults(), IsEmpty());
  EXPECT_EQ(kernel.study().bound, KernelBound::kDram);
  EXPECT_TRUE(kernel.study().near_roof());
}

TEST(KernelStudy, ThreadsThatLieApartFetchInVain) {
  const MadeUpKernel kernel(kUsual, {{Counter::kGlobalLoads, 1000},
                                     {Counter::kGlobalLoadSectors, 32'000},
                                     {Counter::kGlobalLoadBytes, 128'000},
                                     {Counter::kDramRead, 1'024'000}});
  ASSERT_THAT(kernel.faults(), ElementsAre("uncoalesced"));
  const KernelFault fault = kernel.study().faults[0];
  EXPECT_THAT(fault.evidence[0], HasSubstr("12.5 %"));
  EXPECT_THAT(fault.evidence[1], HasSubstr("32.0 sectors an access of a warp, where 4.0 would do"));
  EXPECT_GT(fault.gain(), 0.5);
}

// Counters of different passes: in one of them a short kernel took longer.
TEST(KernelStudy, NoMultiprocessorHasWorkForLongerThanTheKernelRuns) {
  for (const double most : {5900.0, 0.0}) {
    const MadeUpKernel kernel(kUsual, {{Counter::kSmCyclesElapsed, 5000},
                                       {Counter::kSmCyclesActive, 5800},
                                       {Counter::kSmCyclesActiveMost, most}});
    ASSERT_TRUE(kernel.study().group->active_share().has_value());
    EXPECT_DOUBLE_EQ(*kernel.study().group->active_share(), 5800 / std::max(5800.0, most));
  }
}

// Threads that read the same place share what is fetched.
TEST(KernelStudy, ThreadsThatReadOnePlaceAreNotApart) {
  EXPECT_THAT(MadeUpKernel(kUsual, {{Counter::kGlobalLoads, 1000},
                                    {Counter::kGlobalLoadSectors, 1000},
                                    {Counter::kGlobalLoadBytes, 128'000}})
                  .faults(),
              IsEmpty());
}

// Nothing waits for it: the gain is capped by what the other units need.
TEST(KernelStudy, ConflictsThatCostNothingAreNotNamed) {
  const CounterValues conflicts = {
      {Counter::kSharedWavefronts, 3'200'000}, {Counter::kSharedConflicts, 3'100'000},
      {Counter::kL1Wavefronts, 3'200'000},     {Counter::kL1Throughput, 95},
      {Counter::kDramThroughput, 10},          {Counter::kL2Throughput, 10}};
  EXPECT_THAT(MadeUpKernel(kUsual, conflicts).faults(), ElementsAre("bank_conflicts"));
  EXPECT_EQ(MadeUpKernel(kUsual, conflicts).study().bound, KernelBound::kL1);
  EXPECT_THAT(MadeUpKernel(kUsual, {{Counter::kSharedWavefronts, 3'200'000},
                                    {Counter::kSharedConflicts, 3'100'000},
                                    {Counter::kL1Wavefronts, 3'200'000},
                                    {Counter::kL1Throughput, 60}})
                  .faults(),
              IsEmpty());
}

TEST(KernelStudy, BranchesThatDivideAWarpCostWhereArithmeticBounds) {
  const MadeUpKernel kernel(kUsual, {{Counter::kSmThroughput, 92},
                                     {Counter::kDramThroughput, 8},
                                     {Counter::kL2Throughput, 8},
                                     {Counter::kThreadsPerInstruction, 6.4},
                                     {Counter::kBranchTargets, 100},
                                     {Counter::kDivergentTargets, 45}});
  ASSERT_THAT(kernel.faults(), ElementsAre("divergence"));
  EXPECT_THAT(kernel.study().faults[0].evidence[1], HasSubstr("45"));
  EXPECT_THAT(MadeUpKernel(kUsual, {{Counter::kThreadsPerInstruction, 6.4}}).faults(), IsEmpty());
}

TEST(KernelStudy, TooFewWarpsAreBlamedOnWhatLimitsThem) {
  const auto idle = [](const LaunchShape& shape, double warps) {
    return MadeUpKernel(
               shape,
               {{Counter::kDramThroughput, 30}, {Counter::kL2Throughput, 30}, {Counter::kWarpsActive, warps}})
        .faults();
  };
  EXPECT_THAT(idle({{4096, 1, 1}, {256, 1, 1}, 200, 0}, 12), ElementsAre("occupancy_by_registers"));
  EXPECT_THAT(idle({{4096, 1, 1}, {128, 1, 1}, 32, 100 * 1024}, 12),
              ElementsAre("occupancy_by_shared_memory"));
  EXPECT_THAT(idle({{99'000, 1, 1}, {32, 1, 1}, 32, 0}, 48), ElementsAre("occupancy_by_block_size"));
}

// A product on matrix units has few warps and needs no more.
TEST(KernelStudy, FewWarpsThatKeepAUnitBusyAreEnough) {
  EXPECT_THAT(MadeUpKernel(
                  {{4096, 1, 1}, {256, 1, 1}, 200, 0},
                  {{Counter::kSmThroughput, 85}, {Counter::kDramThroughput, 20}, {Counter::kWarpsActive, 12}})
                  .faults(),
              IsEmpty());
}

TEST(KernelStudy, AFewBlocksMoreThanFitCostAWave) {
  const MadeUpKernel kernel({{272, 1, 1}, {1024, 1, 1}, 28, 0}, {{Counter::kSmThroughput, 52},
                                                                 {Counter::kDramThroughput, 0},
                                                                 {Counter::kL2Throughput, 0},
                                                                 {Counter::kSmCyclesActive, 104'000}});
  ASSERT_THAT(kernel.faults(), ElementsAre("tail"));
  EXPECT_NEAR(kernel.study().faults[0].gain(), 0.48, 0.01);
  EXPECT_THAT(kernel.study().faults[0].evidence[0],
              HasSubstr("1.03 waves of blocks: 272 blocks of which 264"));
}

TEST(KernelStudy, FewBlocksLeaveMultiprocessorsIdle) {
  const MadeUpKernel kernel({{8, 1, 1}, {256, 1, 1}, 16, 0}, {{Counter::kDramThroughput, 3},
                                                              {Counter::kL2Throughput, 3},
                                                              {Counter::kSmThroughput, 1},
                                                              {Counter::kL1Throughput, 1},
                                                              {Counter::kSmCyclesActive, 12'000}});
  ASSERT_THAT(kernel.faults(), ElementsAre("small_grids"));
  EXPECT_THAT(kernel.study().faults[0].evidence[0], HasSubstr("8 blocks on 132 multiprocessors"));
}

TEST(KernelStudy, SomeLongBlocksAreAnImbalance) {
  EXPECT_THAT(MadeUpKernel({{2112, 1, 1}, {256, 1, 1}, 32, 0}, {{Counter::kSmThroughput, 40},
                                                                {Counter::kDramThroughput, 1},
                                                                {Counter::kL2Throughput, 1},
                                                                {Counter::kSmCyclesActive, 90'000}})
                  .faults(),
              ElementsAre("imbalance"));
}

TEST(KernelStudy, SpilledRegistersAreTrafficOfTheirOwn) {
  const MadeUpKernel kernel(kUsual, {{Counter::kLocalLoadSectors, 5e9},
                                     {Counter::kLocalStoreSectors, 4e9},
                                     {Counter::kGlobalLoadSectors, 1e6},
                                     {Counter::kInstructions, 3.4e9}});
  ASSERT_THAT(kernel.faults(), ElementsAre("register_spills"));
  EXPECT_THAT(kernel.study().faults[0].evidence[1], HasSubstr("32 registers"));
}

TEST(KernelStudy, DoublePrecisionOverFloatsIsNamed) {
  const MadeUpKernel kernel(kUsual, {{Counter::kSmThroughput, 90},
                                     {Counter::kPipeF64, 88},
                                     {Counter::kDramThroughput, 20},
                                     {Counter::kL2Throughput, 20},
                                     {Counter::kF64Fused, 1e9},
                                     {Counter::kF32Fused, 1e7},
                                     {Counter::kGlobalLoads, 1e6},
                                     {Counter::kGlobalLoadBytes, 128e6}});
  ASSERT_THAT(kernel.faults(), ElementsAre("f64_arithmetic"));
  EXPECT_THAT(kernel.study().faults[0].evidence[1], HasSubstr("4 bytes at a time"));
}

TEST(KernelStudy, WhatWaitsWithoutAReasonIsLatencyWithItsLeadingStall) {
  const MadeUpKernel kernel(kUsual, {{Counter::kDramThroughput, 40},
                                     {Counter::kL2Throughput, 40},
                                     {Counter::kStallLongScoreboard, 30},
                                     {Counter::kStallSelected, 1},
                                     {Counter::kStallNotSelected, 2}});
  ASSERT_THAT(kernel.faults(), ElementsAre("latency"));
  const KernelFault fault = kernel.study().faults[0];
  EXPECT_TRUE(fault.is_bound);
  EXPECT_THAT(fault.evidence[1], HasSubstr("(long_scoreboard)"));
  EXPECT_NEAR(fault.gain(), 0.5, 0.01);  // to four fifths of DRAM
}

TEST(KernelStudy, NothingIsSaidOfUnitsThatWereNotMeasured) {
  CounterGroup group;
  group.launch = kUsual;
  group.means[static_cast<std::size_t>(Counter::kDuration)] = 1000;
  const KernelStudy study = study_kernel(group, nullptr);
  EXPECT_FALSE(study.knows_units);
  EXPECT_EQ(study.bound, KernelBound::kUnknown);
  EXPECT_THAT(study.faults, IsEmpty());
}

}  // namespace
}  // namespace hone::analyze::device
