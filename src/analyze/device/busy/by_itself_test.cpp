// Works one by one: what each costs above its floor, and why.
#include "analyze/device/busy/by_itself.h"

#include <gtest/gtest.h>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

// The only work of a program.
WorkSplit alone(const WorkWords& words) {
  Works made;
  made.run(words);
  made.end_step();
  return made.split().works.at(0);
}

// 100 µs at the roof of bf16, 200.9 of tf32, 1521 of f32.
WorkWords timed_product(DType dtype, double us, std::string kernel = "a_kernel") {
  return {.kind = "aten::mm",
          .op_class = OperatorClass::kMatrix,
          .dtype = dtype,
          .inputs = "f32[4096,1024] f32[1024,1024]",
          .flops = 7.772e10,
          .us = us,
          .kernel = std::move(kernel)};
}

WorkWords attention(std::string mask, double us) {
  const std::string operand = "bf16[4,8,1024,64] ";
  return {.kind = "aten::_efficient_attention_forward",
          .op_class = OperatorClass::kMatrix,
          .inputs = operand + operand + operand + mask,
          .flops = 7.772e10,
          .us = us};
}

TEST(Products, InTf32WouldTakeHalfInBf16) {
  const WorkSplit split = alone(timed_product(DType::kF32, 300, "sm90_xmma_gemm_tf32"));
  EXPECT_EQ(split.cause(), Cause::kPrecision);
  EXPECT_EQ(split.rule, Rule::kTf32Products);
  EXPECT_NEAR(split.target_ns, 100e3 / (200.9 / 300), 200);  // as near to its roof as now
  EXPECT_NEAR(split.of(Cause::kFloor), 1.0 / 3, 1e-3);
  EXPECT_NEAR(split.of(Cause::kPrecision) * 300e3, 300e3 - split.target_ns, 1);
}

TEST(Products, InF32BecomeTf32WhereNoneAreIn16Bits) {
  const WorkSplit split = alone(timed_product(DType::kF32, 2000, "cutlass_simt_sgemm"));
  EXPECT_EQ(split.cause(), Cause::kPrecision);
  EXPECT_EQ(split.rule, Rule::kF32WithoutMatrixUnits);
  EXPECT_NEAR(split.target_ns, 200.9e3 / 0.6, 500);          // in tf32, as near to its roof as is good
  EXPECT_NEAR(split.of(Cause::kFloor), 100.0 / 2000, 1e-3);  // that of bf16, to which tf32 leads
}

TEST(Products, InF32AmongThoseIn16BitsAreLeaks) {
  Works made;
  WorkWords main = timed_product(DType::kBF16, 250);
  main.flops *= 2;
  made.run(main);
  const uint32_t leak = made.run(timed_product(DType::kF32, 2000, "cutlass_simt_sgemm"));
  made.end_step();
  const WorkSplit split = made.split().works[leak];
  EXPECT_EQ(split.cause(), Cause::kPrecision);
  EXPECT_EQ(split.rule, Rule::kF32Among16Bits);
  EXPECT_NEAR(split.of(Cause::kFloor), 100.0 / 2000, 1e-3);
}

TEST(Products, InF64AreDouble) {
  EXPECT_EQ(alone(timed_product(DType::kF64, 2000)).rule, Rule::kF64Arithmetic);
  EXPECT_EQ(alone({.dtype = DType::kF64, .bytes = 42.24e6, .us = 12}).rule, Rule::kF64Arithmetic);
}

TEST(Products, In16BitsAreAsNarrowAsTheyNeedBe) {
  const WorkSplit split = alone(timed_product(DType::kBF16, 150));
  EXPECT_EQ(split.cause(), Cause::kFloor);
  EXPECT_EQ(split.rule, Rule::kFloor);
}

TEST(OddSizes, MatterToProductsIn16BitsAlone) {
  WorkWords odd = timed_product(DType::kBF16, 400);
  odd.inputs = "bf16[4096,1001] bf16[1001,1024]";
  EXPECT_EQ(alone(odd).rule, Rule::kOddSizes);
  EXPECT_EQ(alone(odd).cause(), Cause::kKernelInefficiency);
  odd.dtype = DType::kF32;
  odd.kernel = "sm90_xmma_gemm_tf32";
  EXPECT_EQ(alone(odd).rule, Rule::kTf32Products);
}

TEST(OddSizes, DoNotMatterToAProductAtItsRoof) {
  WorkWords odd = timed_product(DType::kBF16, 101);
  odd.inputs = "bf16[4096,1001] bf16[1001,1024]";
  EXPECT_EQ(alone(odd).rule, Rule::kFloor);
}

TEST(OddSizes, AreNotWhatAttentionIsSlowFor) {
  WorkWords words = attention("-", 800);
  words.inputs = "bf16[4,8,1001,60] bf16[4,8,1001,60] bf16[4,8,1001,60]";
  EXPECT_EQ(alone(words).rule, Rule::kSlowKernels);
  words.us = 400;  // a quarter of its roof is not poor for attention
  EXPECT_EQ(alone(words).rule, Rule::kFloor);
}

TEST(DenseMask, LeavesHalfOfAttentionOut) {
  const WorkSplit split = alone(attention("bf16[1024,1024]", 300));
  EXPECT_EQ(split.cause(), Cause::kKernelInefficiency);
  EXPECT_EQ(split.rule, Rule::kDenseAttentionMasks);
  EXPECT_NEAR(split.target_ns, 50e3 / kGoodMaskless, 1);
  EXPECT_NEAR(split.of(Cause::kFloor), 50.0 / 300, 1e-6);
}

TEST(DenseMask, IsNoneWithoutAMaskOrWhereAttentionIsFasterThanHalf) {
  EXPECT_EQ(alone(attention("-", 300)).rule, Rule::kFloor);
  EXPECT_EQ(alone(attention("bf16[1024,1024]", 80)).rule, Rule::kFloor);
}

TEST(DenseMask, IsOfAttentionAlone) {
  WorkWords words = attention("bf16[1024,1024]", 300);
  words.kind = "aten::addmm";
  EXPECT_NE(alone(words).rule, Rule::kDenseAttentionMasks);
}

// 10 µs at the roof of memory.
WorkWords pass(std::string inputs, double us) {
  return {.inputs = std::move(inputs), .bytes = 42.24e6, .us = us};
}
constexpr const char* kMixed = "f32[4,1024,1024] f32[4,1024,1024]{1048576,1,1024}";

TEST(MixedOrdersOfAPass, CostWhatItTakesAboveAGoodPass) {
  const WorkSplit split = alone(pass(kMixed, 30));
  EXPECT_EQ(split.cause(), Cause::kLayout);
  EXPECT_EQ(split.rule, Rule::kMixedOrders);
  EXPECT_NEAR(split.target_ns, 10e3 / kGoodTraffic, 1);
  EXPECT_NEAR(split.of(Cause::kFloor), 1.0 / 3, 1e-6);
}

TEST(MixedOrdersOfAPass, DoNotMatterToAFastOneNorToAShortOne) {
  EXPECT_EQ(alone(pass(kMixed, 12)).cause(), Cause::kFloor);
  WorkWords brief = pass(kMixed, 7);
  brief.bytes /= 10;
  EXPECT_EQ(alone(brief).cause(), Cause::kFloor);
}

TEST(MixedOrdersOfAPass, DoNotExplainASlowPassInOneOrder) {
  const WorkSplit split = alone(pass("f32[4,1024,1024] f32[4,1024,1024]", 50));
  EXPECT_EQ(split.cause(), Cause::kKernelInefficiency);
  EXPECT_EQ(split.rule, Rule::kSlowKernels);
}

TEST(AddingRows, FarBelowItsRoofIsOneAfterAnother) {
  WorkWords words = pass("f32[50000,256]", 500);
  words.kind = "aten::_index_put_impl_";
  words.op_class = OperatorClass::kMovement;
  words.bytes = 42.24e6;  // 10 µs at the roof
  const WorkSplit split = alone(words);
  EXPECT_EQ(split.cause(), Cause::kKernelInefficiency);
  EXPECT_EQ(split.rule, Rule::kRowsAddedInTurn);
  EXPECT_LT(split.target_ns, 15e3);
}

TEST(GeneratedKernels, AreSlowOnlyFarBelowTheirRoof) {
  WorkWords words = pass("f32[4,1024,1024]", 50);  // a fifth of the roof
  EXPECT_EQ(alone(words).rule, Rule::kSlowKernels);
  words.kernel = "triton_red_fused_sum_0";
  EXPECT_EQ(alone(words).rule, Rule::kFloor);
  words.us = 80;
  EXPECT_EQ(alone(words).rule, Rule::kSlowKernels);
}

// Its FLOPs and bytes are not known, as those of a detector's nms.
WorkSplit unknown_work(double us, uint32_t blocks) {
  Works made;
  made.run({.kind = "torchvision::nms", .op_class = OperatorClass::kOther, .us = us});
  if (blocks > 0) made.give_blocks(blocks);
  made.end_step();
  return made.split().works.at(0);
}

TEST(WorksOfUnknownCost, AreNotCalledNeeded) {
  const WorkSplit split = unknown_work(500, 0);
  EXPECT_EQ(split.rule, Rule::kUnjudgedWork);
  EXPECT_EQ(split.of(Cause::kUnjudged), 1);
  EXPECT_EQ(split.of(Cause::kFloor), 0);
  EXPECT_EQ(split.target_ns, 500e3);
}

TEST(WorksOfUnknownCost, AreSlowWhereOneBlockWorksForLong) {
  EXPECT_EQ(unknown_work(500, 1).rule, Rule::kFewBlocks);
  EXPECT_EQ(unknown_work(500, 1).target_ns, 500e3) << "no remedy is known";
  EXPECT_EQ(unknown_work(500, 132).rule, Rule::kUnjudgedWork);
  EXPECT_EQ(unknown_work(20, 1).rule, Rule::kUnjudgedWork);
}

// Half a percent of its roof, in either type; with one group it would be a matter of the type.
WorkSplit convolution_of_length_128(DType dtype, int groups) {
  WorkWords words{.kind = "aten::cudnn_convolution",
                  .op_class = OperatorClass::kConvolution,
                  .dtype = dtype,
                  .flops = 5.6e9,
                  .us = 3500,
                  .kernel = dtype == DType::kF32 ? "implicit_convolve_sgemm" : "sm90_xmma_fprop_bf16"};
  words.inputs = "f32[4,768,149] f32[768," + std::to_string(768 / groups) +
                 ",128] =[64] =[1] =[1] =" + std::to_string(groups) + " =True =False =True";
  Works made;
  made.run(words);
  made.give_blocks(64);
  made.end_step();
  return made.split().works.at(0);
}

TEST(GroupedConvolutions, FarBelowTheirRoofHaveNoRemedy) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const WorkSplit split = convolution_of_length_128(dtype, 16);
    EXPECT_EQ(split.rule, Rule::kGroupedConvolutions) << dtype_name(dtype);
    EXPECT_EQ(split.target_ns, 3500e3) << dtype_name(dtype);
    EXPECT_GT(split.of(Cause::kKernelInefficiency), 0.9) << dtype_name(dtype);
  }
  EXPECT_EQ(convolution_of_length_128(DType::kBF16, 1).rule, Rule::kSmallGrids);
}

}  // namespace
}  // namespace hone::analyze::device
