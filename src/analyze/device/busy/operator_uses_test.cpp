// Which arithmetic a program's products run in, which they could run in, and whose time a work is.
#include "analyze/device/busy/operator_uses.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

GpuRoofs h200() { return gpu_roofs("NVIDIA H200"); }

OperatorUses uses(const Works& made) { return uses_of(made.trace(), made.timeline(), h200()); }

WorkWords product_of_flops(DType dtype, double flops, std::string kernel = "a_kernel") {
  return {.kind = "aten::mm",
          .op_class = OperatorClass::kMatrix,
          .dtype = dtype,
          .flops = flops,
          .us = 100,
          .kernel = std::move(kernel)};
}

TEST(MostlyNarrow, IsAMatterOfArithmeticNotOfCounts) {
  Works made;
  made.run(product_of_flops(DType::kBF16, 5e10));
  for (int i = 0; i < 4; ++i) made.run(product_of_flops(DType::kF32, 1e10));
  made.end_step();
  EXPECT_TRUE(uses(made).mostly_narrow);

  Works wide;
  wide.run(product_of_flops(DType::kF32, 5e10));
  for (int i = 0; i < 4; ++i) wide.run(product_of_flops(DType::kF16, 1e10));
  wide.end_step();
  EXPECT_FALSE(uses(wide).mostly_narrow);
}

TEST(MostlyNarrow, AreThoseIn8BitsToo) {
  for (const DType dtype : {DType::kF8E4M3FN, DType::kI8}) {
    Works made;
    made.run(product_of_flops(dtype, 5e10));
    made.run(product_of_flops(DType::kF32, 1e10));
    made.end_step();
    EXPECT_TRUE(uses(made).mostly_narrow);
  }
}

TEST(MostlyNarrow, CountsProductsAlone) {
  Works made;
  made.run(product_of_flops(DType::kF32, 1e10));
  for (int i = 0; i < 4; ++i) made.run({.dtype = DType::kBF16, .flops = 1e11});
  made.end_step();
  EXPECT_FALSE(uses(made).mostly_narrow);
}

TEST(MostlyNarrow, IsNoProgramWithoutProducts) {
  Works made;
  made.run({.dtype = DType::kBF16, .flops = 1e9});
  made.end_step();
  EXPECT_FALSE(uses(made).mostly_narrow);
}

TEST(EnoughMath, Takes16BitsForF32OnlyAmongProductsOf16Bits) {
  EXPECT_EQ(enough_math(KernelMath::kVectorF32, h200(), true), KernelMath::kBf16);
  EXPECT_EQ(enough_math(KernelMath::kVectorF32, h200(), false), KernelMath::kTf32);
}

TEST(EnoughMath, TakesBf16ForTf32) {
  EXPECT_EQ(enough_math(KernelMath::kTf32, h200(), false), KernelMath::kBf16);
  EXPECT_EQ(enough_math(KernelMath::kTf32, h200(), true), KernelMath::kBf16);
}

TEST(EnoughMath, TakesTf32ForF64) {
  EXPECT_EQ(enough_math(KernelMath::kF64, h200(), false), KernelMath::kTf32);
  EXPECT_EQ(enough_math(KernelMath::kF64, h200(), true), KernelMath::kTf32);
}

TEST(EnoughMath, LeavesWhatIsNarrow) {
  for (const KernelMath math : {KernelMath::kF16, KernelMath::kBf16, KernelMath::kF8, KernelMath::kI8})
    EXPECT_EQ(enough_math(math, h200(), true), math);
}

TEST(EnoughMath, TakesNothingThatTheDeviceLacks) {
  GpuRoofs roofs = h200();
  roofs.bf16 = 0;
  EXPECT_EQ(enough_math(KernelMath::kVectorF32, roofs, true), KernelMath::kTf32);
  EXPECT_EQ(enough_math(KernelMath::kTf32, roofs, true), KernelMath::kTf32);
  roofs.tf32 = 0;
  EXPECT_EQ(enough_math(KernelMath::kVectorF32, roofs, true), KernelMath::kVectorF32);
  EXPECT_EQ(enough_math(KernelMath::kF64, roofs, false), KernelMath::kF64);
}

TEST(UsedMath, OfF32IsWhatTheKernelIsNamedAfterElseWhatItsRateAllows) {
  Works made;
  made.run(product_of_flops(DType::kF32, 1e10, "cutlass_simt_sgemm"));
  made.run(product_of_flops(DType::kF32, 1e9, "cutlass_s1688gemm_tensorop"));
  made.run(product_of_flops(DType::kF32, 1e10));  // in 100 µs: 100 TFLOP/s
  made.run(product_of_flops(DType::kF32, 1e9));
  made.end_step();
  const OperatorUses found = uses(made);
  EXPECT_EQ(found.rows[0].math, KernelMath::kVectorF32);
  EXPECT_EQ(found.rows[1].math, KernelMath::kTf32);
  EXPECT_EQ(found.rows[2].math, KernelMath::kTf32);
  EXPECT_EQ(found.rows[3].math, KernelMath::kVectorF32);
}

TEST(Floor, OfAProductThatNarrowsReadsHalfTheBytes) {
  Works made;
  WorkWords words = product_of_flops(DType::kF32, 1e6, "cutlass_tensorop");
  words.bytes = 42.24e6;  // 10 µs
  made.run(words);
  made.run({.dtype = DType::kF32, .bytes = 42.24e6});
  made.end_step();
  const OperatorUses found = uses(made);
  EXPECT_NEAR(found.rows[0].roof_ns, 10'000, 1);
  EXPECT_NEAR(found.rows[0].floor_ns, 5'000, 1);
  EXPECT_NEAR(found.rows[1].floor_ns, 10'000, 1);
}

TEST(Floor, OfAProductStaysWhereItsArithmeticChanges) {
  std::vector<double> floors;
  for (const WorkWords& words : {product_of_flops(DType::kF64, 1e10, "cutlass_dgemm"),
                                 product_of_flops(DType::kF32, 1e10, "cutlass_simt_sgemm"),
                                 product_of_flops(DType::kF32, 1e10, "cutlass_s1688gemm_tensorop"),
                                 product_of_flops(DType::kBF16, 1e10)}) {
    Works made;
    made.run(words);
    made.end_step();
    floors.push_back(uses(made).rows[0].floor_ns);
  }
  for (const double floor : floors) EXPECT_DOUBLE_EQ(floor, floors.back());
}

TEST(EnoughTime, OfAProductInF32IsThatInTf32) {
  Works made;
  made.run(product_of_flops(DType::kF32, 1e10, "cutlass_simt_sgemm"));
  made.end_step();
  const OperatorUse use = uses(made).rows[0];
  EXPECT_NEAR(use.enough_ns, 1e10 / h200().tf32 * 1e9, 1);
  EXPECT_NEAR(use.floor_ns, 1e10 / h200().bf16 * 1e9, 1);
}

TEST(Part, SharesAnOperatorsExecutionsAmongItsKernelsByTheirTime) {
  Works made;
  made.run({.us = 30, .kernel = "first"});
  made.also(10, "second");
  made.end_step();
  const RankTimeline timeline = made.timeline();
  const OperatorUses found = uses(made);
  ASSERT_EQ(timeline.works.size(), 2u);
  EXPECT_NEAR(found.part(timeline.works[0]), 0.75, 1e-9);
  EXPECT_NEAR(found.part(timeline.works[1]), 0.25, 1e-9);
}

TEST(Part, OfAnOperatorWithoutTimeIsNothing) {
  Works made;
  made.run({.us = 0});
  made.end_step();
  const RankTimeline timeline = made.timeline();
  ASSERT_EQ(timeline.works.size(), 1u);
  EXPECT_EQ(uses(made).part(timeline.works[0]), 0);
}

TEST(Elements, OfAPassAreThoseItBroadcastsTo) {
  Works made;
  made.run({.inputs = "f32[256,1] f32[1,512]"});
  made.run({.op_class = OperatorClass::kReduction, .inputs = "f32[256,1] f32[1,512]"});
  made.end_step();
  const OperatorUses found = uses(made);
  EXPECT_EQ(found.rows[0].elements, 256 * 512);
  EXPECT_EQ(found.rows[0].largest_input, 512);
  EXPECT_EQ(found.rows[1].elements, 512);
}

}  // namespace
}  // namespace hone::analyze::device
