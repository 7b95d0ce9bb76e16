// What cannot be right, and what only looks like it.
#include "analyze/device/self_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::OperatorClass;

OperatorTime row(OperatorClass op_class, std::string roof, double fraction) {
  OperatorTime row;
  row.name = "mm 64×64 · 64×64";
  row.op_class = op_class;
  row.bound_by_dram = roof == "DRAM";
  row.roof = std::move(roof);
  row.fraction_of_roof = fraction;
  row.ms.median = 1;
  return row;
}

std::vector<std::string> check(std::vector<OperatorTime> rows, const GpuRoofs& roofs = {}) {
  OperatorTables tables;
  tables.operators = std::move(rows);
  return self_check(tables, roofs);
}

TEST(SelfCheck, DoubtsProductsThatAreFasterThanTheDevice) {
  const OperatorTime product = row(OperatorClass::kMatrix, "bf16 compute", 1.63);
  EXPECT_THAT(check({product}),
              ElementsAre(HasSubstr("mm 64×64 · 64×64 runs at 163.0 % of the bf16 compute roof")));
  EXPECT_THAT(check({product, product, product}), ElementsAre(HasSubstr("(and 2 more)")));
  EXPECT_THAT(check({row(OperatorClass::kMatrix, "bf16 compute", 1.1)}), IsEmpty());
}

TEST(SelfCheck, GrantsProductsWhatTheHighestClockGivesAboveAMeasuredRoof) {
  const GpuRoofs measured = gpu_roofs("NVIDIA H200"), sheet = gpu_roofs("NVIDIA A100-SXM4-40GB");
  EXPECT_THAT(check({row(OperatorClass::kMatrix, "bf16 compute", 1.22)}, measured), IsEmpty());
  EXPECT_THAT(check({row(OperatorClass::kMatrix, "bf16 compute", 1.5)}, measured),
              ElementsAre(HasSubstr("FLOPs")));
  EXPECT_THAT(check({row(OperatorClass::kMatrix, "bf16 compute", 1.22)}, sheet),
              ElementsAre(HasSubstr("FLOPs")));
}

TEST(SelfCheck, DoubtsTrafficThatNoCacheServes) {
  EXPECT_THAT(check({row(OperatorClass::kReduction, "DRAM", 34)}), ElementsAre(HasSubstr("its bytes")));
  EXPECT_THAT(check({row(OperatorClass::kPointwise, "DRAM", 2.5)}), IsEmpty()) << "in L2";
}

TEST(SelfCheck, GrantsConvolutionsAnAlgorithmOfFewerFlops) {
  EXPECT_THAT(check({row(OperatorClass::kConvolution, "f32 compute", 2.2)}), IsEmpty());
  EXPECT_THAT(check({row(OperatorClass::kConvolution, "f32 compute", 5)}), ElementsAre(HasSubstr("FLOPs")));
}

TEST(SelfCheck, GrantsProductsOfZerosAHigherClock) {
  OperatorTime one_hot = row(OperatorClass::kMatrix, "bf16 compute", 1.19);
  one_hot.main_cause = Cause::kAvoidableTraffic;
  EXPECT_THAT(check({one_hot}), IsEmpty());
}

TEST(SelfCheck, LeavesShortRowsAlone) {
  OperatorTime brief = row(OperatorClass::kMatrix, "bf16 compute", 2);
  brief.ms.median = 0.005;
  EXPECT_THAT(check({brief}), IsEmpty());
}

TEST(SelfCheck, DoubtsKernelsThatTakeLongerThanTheirLaunches) {
  OperatorTables tables;
  KernelTime kernel;
  kernel.name = "a_kernel";
  kernel.launches = 12;
  kernel.mean_us = 100;
  kernel.ms = 1.2;
  tables.kernels = {kernel};
  EXPECT_THAT(self_check(tables, {}), IsEmpty());
  tables.kernels[0].ms = 0.4;  // beside others
  EXPECT_THAT(self_check(tables, {}), IsEmpty());
  tables.kernels[0].ms = 3.2;
  EXPECT_THAT(self_check(tables, {}), ElementsAre(HasSubstr("3.20 ms of a step, more than its 12 launches")));
}

}  // namespace
}  // namespace hone::analyze::device
