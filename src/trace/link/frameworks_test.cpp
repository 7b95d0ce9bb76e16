#include "trace/link/frameworks.h"

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"
#include "trace/link/link.h"
#include "trace/segments/record.h"

namespace hone::trace::link {
namespace {

using fabricate::Program;

// The framework of a program with one step that calls and launches these.
Framework made_by(std::initializer_list<std::string_view> calls,
                  std::initializer_list<std::string_view> kernels) {
  Program program;
  double time = 10;
  for (std::string_view call : calls) program.span(program.main, Category::kRegion, call, time += 10, 5);
  for (std::string_view kernel : kernels) {
    time += 10;
    program.kernel(program.main, kernel, time, time + 3, 2);
  }
  EXPECT_TRUE(link_trace(program.trace).ok());
  return program.trace.meta.framework;
}

TEST(Frameworks, AreToldByTheNamesThatOnlyTheyGive) {
  EXPECT_EQ(made_by({"aten::mm"}, {"nvjet_tst_192x192_64x4_2x1_v_bz_TNT"}), Framework::kPyTorch);
  EXPECT_EQ(made_by({}, {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>"}),
            Framework::kPyTorch)
      << "Nsight Systems records kernels alone";
  EXPECT_EQ(made_by({"TSL:XlaModule:#prefix=jit(step)/,hlo_module=jit_step,program_id=7#"}, {"fusion_3"}),
            Framework::kJax);
  EXPECT_EQ(made_by({}, {"loop_add_fusion_2", "input_reduce_fusion_1"}), Framework::kJax);
  EXPECT_EQ(made_by({"EagerExecute: MatMul", "ExecutorState::Process"}, {"loop_add_fusion"}),
            Framework::kTensorFlow);
}

TEST(Frameworks, AProgramThatCallsLibrariesItselfIsNative) {
  EXPECT_EQ(made_by({"solve", "layer 3"}, {"my_stencil<float>", "cutlass_80_tensorop_s1688gemm_128x128",
                                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}),
            Framework::kNative);
}

TEST(Frameworks, AreTakenAsTheTraceSaysWhereItDoes) {
  Program program;
  program.span(program.main, Category::kRegion, "aten::mm", 0, 5);
  program.trace.meta.framework = Framework::kHone;
  EXPECT_EQ(recognise_framework(program.trace), Framework::kHone);
  program.trace.meta.framework = Framework::kNative;
  program.trace.meta.producer = "hone 0.1.0";
  EXPECT_EQ(recognise_framework(program.trace), Framework::kHone);
}

TEST(Frameworks, OfProgramsThatHoneRecordedAreTheirOwn) {
  Program program;
  program.span(program.main, Category::kOperator, "aten::mm", 0, 5);
  program.trace.meta.producer = segments::kProducer;
  EXPECT_EQ(recognise_framework(program.trace), Framework::kPyTorch);
}

TEST(Frameworks, EveryMarkCanDecide) {
  EXPECT_EQ(unreachable_rows(framework_marks()), std::vector<std::string_view>());
}

TEST(Frameworks, AreReadBackByTheirNames) {
  for (int i = 0; i < kFrameworkCount; ++i) {
    const auto framework = static_cast<Framework>(i);
    EXPECT_EQ(framework_from_name(framework_name(framework)), framework);
    EXPECT_FALSE(framework_title(framework).empty());
  }
  EXPECT_FALSE(framework_from_name("theano"));
}

}  // namespace
}  // namespace hone::trace::link
