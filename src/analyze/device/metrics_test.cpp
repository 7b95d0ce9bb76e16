// The numbers that people steer by, and what they are judged against.
#include "analyze/device/metrics.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using testing::HasSubstr;

// Three steps of one product, whose kernel computes in the type that its name says.
Metric mfu_of(DType dtype, double us, const std::string& kernel) {
  fabricate::Works made;
  for (int step = 0; step < 3; ++step) {
    made.run({.kind = "aten::mm",
              .op_class = trace::OperatorClass::kMatrix,
              .dtype = dtype,
              .flops = 77.1e9,  // 100 µs at the roof of bf16
              .us = us,
              .kernel = kernel});
    made.end_step();
  }
  const auto analysis = analyze_device_trace(made.trace(), Roofs{}, {});
  EXPECT_TRUE(analysis.ok());
  if (analysis.ok())
    for (const Metric& metric : analysis->targets)
      if (metric.name == "mfu") return metric;
  ADD_FAILURE() << "no MFU";
  return {};
}

// Against the roof of f32 without tensor cores this product reaches its target, and against that of tf32, faster, it
// would not: who follows the advice would be told that things got worse.
TEST(Mfu, GrowsAsProductsGetFasterInNarrowerTypes) {
  const Metric f32 = mfu_of(DType::kF32, 2000, "cutlass_simt_sgemm"),
               tf32 = mfu_of(DType::kF32, 400, "sm90_xmma_gemm_tf32"),
               bf16 = mfu_of(DType::kBF16, 200, "sm90_xmma_gemm_bf16");
  EXPECT_LT(f32.value, 6);
  EXPECT_GT(tf32.value, 3 * f32.value);
  EXPECT_GT(bf16.value, 1.5 * tf32.value);
  EXPECT_NEAR(bf16.value, 50, 3);
}

TEST(Mfu, NamesTheTypeThatItIsJudgedBy) {
  EXPECT_THAT(mfu_of(DType::kF32, 2000, "cutlass_simt_sgemm").note,
              HasSubstr("in bf16, in which products in f32 could run"));
  EXPECT_THAT(mfu_of(DType::kBF16, 200, "sm90_xmma_gemm_bf16").note, HasSubstr("in bf16 ("));
}

}  // namespace
}  // namespace hone::analyze::device
