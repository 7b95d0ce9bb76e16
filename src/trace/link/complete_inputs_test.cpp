#include "trace/link/complete_inputs.h"

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"

namespace hone::trace::link {
namespace {

using fabricate::Program;

void all_in_step(Program& program, int32_t step) {
  for (int32_t& of : program.trace.spans.step) of = of == kNoStep ? step : of;
}

void complete(Program& program) { complete_inputs(program.trace, SpanNesting(program.trace)); }

TEST(CompleteInputs, GiveTensorsInListsTheTypeOfTheLastTensorOfTheirShape) {
  Program program;
  program.op(program.main, "aten::relu", 0, 1, "f32[2,8]");
  program.op(program.main, "aten::relu", 1, 1, "bf16[2,8]");
  program.op(program.main, "aten::relu", 2, 1, "f16[4]");
  const uint32_t cat =
      program.op(program.main, "aten::cat", 3, 1, "(undefined[2,8] undefined[4] undefined[5]) =0");
  complete(program);
  EXPECT_EQ(inputs_of(program, cat), "(bf16[2,8] f16[4] undefined[5]) =0");
}

TEST(CompleteInputs, GiveTensorsInListsTheTypeThatTheOthersShare) {
  Program program;
  const uint32_t cat = program.op(program.main, "aten::cat", 0, 1, "(undefined[2,8] f16[4] undefined[5]) =0");
  complete(program);
  EXPECT_EQ(inputs_of(program, cat), "(f16[2,8] f16[4] f16[5]) =0");
}

TEST(CompleteInputs, GiveUpdatesTheGradientsOfTheirStepForListsThatAreMissing) {
  Program program;
  for (int32_t step = 0; step < 2; ++step) {
    program.op(program.backward, "torch::autograd::AccumulateGrad", 0, 1, "f32[8,4]");
    program.op(program.backward, "torch::autograd::AccumulateGrad", 1, 1, step == 0 ? "f32[8]" : "f32[9]");
    program.op(program.main, "aten::_foreach_norm", 2, 1, "() =2. -");
    program.op(program.main, "aten::_fused_adamw_", 3, 1, "() () () () () () =0.1");
    program.op(program.main, "aten::_foreach_add_", 4, 1, "() =1");
    all_in_step(program, step);
  }
  complete(program);
  EXPECT_EQ(inputs_of(program, 2), "(f32[8,4] f32[8]) =2. -");
  EXPECT_EQ(inputs_of(program, 7), "(f32[8,4] f32[9]) =2. -");
  EXPECT_EQ(inputs_of(program, 3),
            "(f32[8,4] f32[8]) (f32[8,4] f32[8]) (f32[8,4] f32[8]) (f32[8,4] f32[8]) () () =0.1");
  EXPECT_EQ(inputs_of(program, 4), "() =1") << "counters of steps, not parameters";
}

TEST(CompleteInputs, DivideTheGradientsAmongSeveralUpdatesOfAStep) {
  Program program;
  program.op(program.backward, "torch::autograd::AccumulateGrad", 0, 1, "f32[8,4]");
  program.op(program.main, "aten::_fused_sgd_", 3, 1, "() () ()");
  const uint32_t second = program.op(program.main, "aten::_fused_sgd_", 4, 1, "() () ()");
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, second), "(f32[16]) (f32[16]) ()");
}

// Adam by lists multiplies parameters (decay) and second moments: two calls of one kind, each for all tensors.
TEST(CompleteInputs, GiveEachOperationOfAnOptimizerAllTensors) {
  Program program;
  program.op(program.backward, "torch::autograd::AccumulateGrad", 0, 1, "f32[8,4]");
  const uint32_t clip = program.op(program.main, "aten::_foreach_mul_", 2, 1, "() =0.5");
  program.op(program.main, "Optimizer.step#AdamW.step", 10, 20);
  program.op(program.main, "aten::_foreach_lerp_", 11, 1, "() () =0.1");
  const uint32_t decay = program.op(program.main, "aten::_foreach_mul_", 13, 1, "() =0.99");
  const uint32_t moment = program.op(program.main, "aten::_foreach_mul_", 15, 1, "() =0.999");
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, clip), "(f32[8,4]) =0.5");
  EXPECT_EQ(inputs_of(program, decay), "(f32[8,4]) =0.99");
  EXPECT_EQ(inputs_of(program, moment), "(f32[8,4]) =0.999");
}

TEST(CompleteInputs, DivideTheGradientsAmongTheGroupsOfAnOptimizer) {
  Program program;
  program.op(program.backward, "torch::autograd::AccumulateGrad", 0, 1, "f32[8,4]");
  for (const double at : {10.0, 20.0}) {
    program.op(program.main, "aten::_foreach_lerp_", at, 1, "() () =0.1");
    program.op(program.main, "aten::_foreach_mul_", at + 2, 1, "() =0.99");
    program.op(program.main, "aten::_foreach_mul_", at + 4, 1, "() =0.999");
  }
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, 1), "(f32[16]) (f32[16]) =0.1");
  EXPECT_EQ(inputs_of(program, 2), "(f32[16]) =0.99");
}

TEST(CompleteInputs, CountAGradientOnceThatMicroBatchesAddUp) {
  Program program;
  for (int batch = 0; batch < 3; ++batch) {
    for (const double at : {0.0, 1.0}) {
      program.op(program.backward, "torch::autograd::AccumulateGrad", 10 * batch + at, 0.9,
                 at == 0 ? "f32[8,4]" : "f32[8]");
      if (batch > 0) program.op(program.backward, "aten::add_", 10 * batch + at, 0.5);
    }
  }
  const uint32_t update = program.op(program.main, "aten::_fused_sgd_", 40, 1, "() () ()");
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, update), "(f32[8,4] f32[8]) (f32[8,4] f32[8]) ()");
}

TEST(CompleteInputs, CountGradientsThatAreAllAddedToZeros) {
  Program program;
  program.op(program.backward, "torch::autograd::AccumulateGrad", 0, 1, "f32[8,4]");
  program.op(program.backward, "aten::add_", 0, 0.5);
  const uint32_t update = program.op(program.main, "aten::_fused_sgd_", 40, 1, "() () ()");
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, update), "(f32[8,4]) (f32[8,4]) ()");
}

TEST(CompleteInputs, LeaveAloneWhatNothingTells) {
  Program program;
  const uint32_t update = program.op(program.main, "aten::_fused_adamw_", 3, 1, "() () () ()");
  const uint32_t cat = program.op(program.main, "aten::cat", 4, 1, "() =0");
  all_in_step(program, 0);
  complete(program);
  EXPECT_EQ(inputs_of(program, update), "() () () ()");
  EXPECT_EQ(inputs_of(program, cat), "() =0");
}

}  // namespace
}  // namespace hone::trace::link
