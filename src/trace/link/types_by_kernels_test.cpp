#include "trace/link/types_by_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/link/fabricate.h"

namespace hone::trace::link {
namespace {

using fabricate::Program;

void type_inputs(Program& program) {
  const SpanNesting nesting(program.trace);
  type_inputs_by_kernels(program.trace, find_device_work(program.trace, nesting));
}

TEST(TypesByKernels, AreReadFromTheNamesOfKernels) {
  EXPECT_EQ(element_type_of_kernel("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), DType::kBF16);
  EXPECT_EQ(element_type_of_kernel("void at::native::vectorized_elementwise_kernel<8, at::native::"
                                   "CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)"),
            DType::kBF16);
  EXPECT_EQ(
      element_type_of_kernel("void at::native::batch_norm_backward_kernel<c10::Half, float, float, int>()"),
      DType::kF16);
  EXPECT_EQ(element_type_of_kernel("ampere_sgemm_128x64_nn"), DType::kF32);
  EXPECT_EQ(element_type_of_kernel("void at::native::vectorized_elementwise_kernel<4, at::native::"
                                   "FillFunctor<long>, std::array<char*, 1ul> >(int)"),
            DType::kUndefined);
}

TEST(TypesByKernels, AreThoseOfTheLongestKernelOfACall) {
  Program program;
  const uint32_t add =
      program.op(program.main, "aten::cat", 0, 9, "undefined[4,2] (undefined[4] undefined[2]) =1 -");
  program.kernel(program.main, "cast<float>", 1, 10, 2);
  program.kernel(program.main, "cat<c10::BFloat16>", 3, 12, 5);
  program.kernel(program.main, "something", 5, 17, 9);
  const uint32_t alone = program.op(program.main, "aten::view", 20, 1, "undefined[4]");
  type_inputs(program);
  EXPECT_EQ(inputs_of(program, add), "bf16[4,2] (bf16[4] bf16[2]) =1 -");
  EXPECT_EQ(inputs_of(program, alone), "undefined[4]");
  EXPECT_THAT(program.trace.meta.warnings, testing::ElementsAre(testing::HasSubstr("without element types")));
  type_inputs(program);
  EXPECT_EQ(program.trace.meta.warnings.size(), 1u) << "not twice";
}

TEST(TypesByKernels, AreLeftAloneWhereTheRecorderWroteSome) {
  Program program;
  const uint32_t add = program.op(program.main, "aten::add", 0, 9, "undefined[4] f32[4]");
  program.kernel(program.main, "add<c10::BFloat16>", 1, 10, 2);
  type_inputs(program);
  EXPECT_EQ(inputs_of(program, add), "undefined[4] f32[4]");
  EXPECT_TRUE(program.trace.meta.warnings.empty());
}

// Only the whole of a sharded weight has been seen, and another tensor happens to be like the part.
TEST(TypesByKernels, AreThoseOfTheKernelForFusedStepsWhateverTheShapesSuggest) {
  Program program;
  const uint32_t relu = program.op(program.main, "aten::relu", 0, 1, "bf16[8,4]");
  const uint32_t update = program.op(program.main, "aten::_fused_adamw_", 2, 9,
                                     "(bf16[8,4] undefined[6]) (bf16[8,4] undefined[6]) () (f32[]) =0.1");
  program.kernel(program.main, "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >", 3, 12, 2);
  const uint32_t unlaunched = program.op(program.main, "aten::_fused_adamw_", 20, 9, "(undefined[6])");
  const SpanNesting nesting(program.trace);
  type_lists_by_kernels(program.trace, find_device_work(program.trace, nesting));
  EXPECT_EQ(inputs_of(program, relu), "bf16[8,4]");
  EXPECT_EQ(inputs_of(program, update), "(f32[8,4] f32[6]) (f32[8,4] f32[6]) () (f32[]) =0.1");
  EXPECT_EQ(inputs_of(program, unlaunched), "(undefined[6])");
}

// What FSDP copies into the buffer that it gathers is shown by no other call.
TEST(TypesByKernels, AreThoseOfListsThatHaveNone) {
  Program program;
  const uint32_t copy =
      program.op(program.main, "aten::_foreach_copy_", 0, 9, "(undefined[8]) (undefined[8]) -");
  program.kernel(program.main, "multi_tensor_apply_kernel<CopyFunctor<c10::BFloat16, c10::BFloat16> >", 3, 4,
                 1);
  const uint32_t norm = program.op(program.main, "aten::_foreach_norm", 10, 9, "(bf16[8] f32[6]) =2. -");
  program.kernel(program.main, "multi_tensor_apply_kernel<LpNormFunctor<float> >", 13, 14, 2);
  const SpanNesting nesting(program.trace);
  type_lists_by_kernels(program.trace, find_device_work(program.trace, nesting));
  EXPECT_EQ(inputs_of(program, copy), "(bf16[8]) (bf16[8]) -");
  EXPECT_EQ(inputs_of(program, norm), "(bf16[8] f32[6]) =2. -");
}

}  // namespace
}  // namespace hone::trace::link
