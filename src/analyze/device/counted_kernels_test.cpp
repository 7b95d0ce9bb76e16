#include "analyze/device/counted_kernels.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::Counter;

constexpr const char* kSimt = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1";
constexpr const char* kF64 = "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16";
constexpr double kFlops = 17.2e9;

WorkWords product(const char* kernel, double us, double flops = kFlops) {
  return {.kind = "aten::mm",
          .op_class = trace::OperatorClass::kMatrix,
          .dtype = DType::kF32,
          .inputs = "f32[2048,2048] f32[2048,2048]",
          .flops = flops,
          .bytes = 33.6e6,
          .written = 16.8e6,
          .us = us,
          .kernel = kernel};
}

std::vector<CountedKernel> counted(const Works& works) {
  const Study study = make_study(works.trace(), gpu_roofs("NVIDIA H200"));
  return counted_kernels(study);
}

// mm of the same sizes in several types: a row of the table of operators has the type of one of them, and its launches take times as
// different as 30 and 340 µs.
TEST(CountedKernels, AreComparedWithTheWorkOfTheirOwnLaunch) {
  Works works;
  works.run(product(kF64, 285));
  works.again(337, kSimt);
  works.count({{Counter::kDuration, 340e3}, {Counter::kF32Fused, kFlops / 2}, {Counter::kDramRead, 150e6}});
  works.again(30, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT");
  works.end_step();
  const auto kernels = counted(works);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(kernels[0].operator_flops, kFlops);
  EXPECT_EQ(kernels[0].operator_bytes, 0);  // in which type is not known
  EXPECT_EQ(kernels[0].disagreement, "");
}

TEST(CountedKernels, AreNotComparedWhereTheirLaunchesDoDifferentWork) {
  Works works;
  works.run(product(kSimt, 337));
  works.count({{Counter::kDuration, 340e3}, {Counter::kF32Fused, kFlops / 2}});
  works.run(product(kSimt, 700, 4 * kFlops));
  works.give_blocks(64);
  works.end_step();
  EXPECT_EQ(counted(works).at(0).operator_flops, 0);
  EXPECT_EQ(counted(works).at(0).disagreement, "");
}

TEST(CountedKernels, AreNotComparedWhereSeveralDoTheWorkOfOneCall) {
  Works works;
  works.run(product(kSimt, 337));
  works.count({{Counter::kDuration, 340e3}, {Counter::kF32Fused, kFlops / 4}});
  works.also(300, kSimt);
  works.end_step();
  EXPECT_EQ(counted(works).at(0).disagreement, "");
}

TEST(CountedKernels, SayWhereTheyDoMoreThanTheirOperatorNeeds) {
  Works works;
  works.run(product(kSimt, 337));
  works.count({{Counter::kDuration, 340e3}, {Counter::kF32Fused, kFlops}, {Counter::kDramRead, 101e6}});
  works.end_step();
  const CountedKernel kernel = counted(works).at(0);
  EXPECT_EQ(kernel.disagreement,
            "34.4 GFLOP of arithmetic were measured, 17.2 GFLOP follow from the operator's shapes (2.00×); "
            "96.3 MiB of traffic to DRAM were measured, 48.1 MiB follow from the operator's shapes (2.00×)");
}

// That is what caches are for.
TEST(CountedKernels, AreNotBlamedForWhatTheyFindInCaches) {
  Works works;
  works.run(product(kSimt, 337));
  works.count({{Counter::kDuration, 340e3}, {Counter::kF32Fused, kFlops / 2}, {Counter::kDramRead, 1e6}});
  works.end_step();
  EXPECT_EQ(counted(works).at(0).disagreement, "");
}

}  // namespace
}  // namespace hone::analyze::device
