#include "trace/import/xplane/op_name.h"

#include <gtest/gtest.h>

namespace hone::trace::xplane {
namespace {

TEST(OpName, TellsModulePrimitiveAndPhase) {
  const OpPlace forward = place_of_op("jit(update)/jvp(block0)/attention/dot_general");
  EXPECT_EQ(forward.module, "block0/attention");
  EXPECT_EQ(forward.primitive, "dot_general");
  EXPECT_EQ(forward.phase, Phase::kForward);
  const OpPlace backward = place_of_op("jit(update)/transpose(jvp(block0))/attention/dot_general");
  EXPECT_EQ(backward.module, "block0/attention");
  EXPECT_EQ(backward.phase, Phase::kBackward);
  const OpPlace update = place_of_op("jit(update)/sub");
  EXPECT_EQ(update.module, "");
  EXPECT_EQ(update.primitive, "sub");
  EXPECT_EQ(update.phase, Phase::kUnknown);
}

TEST(OpName, LeavesOutHowJaxRunsIt) {
  EXPECT_EQ(place_of_op("jit(f)/jvp(jit(log_softmax))/sub").module, "");
  EXPECT_EQ(place_of_op("jit(f)/while/body/closed_call/Block_3/checkpoint/rematted_computation/mul").module,
            "Block_3");
  EXPECT_EQ(place_of_op("jit(f)/vmap(jvp(Encoder/Dense_0))/dot_general").module, "Encoder/Dense_0");
}

TEST(OpName, OfTensorFlowKnowsItsGradients) {
  const OpPlace place = place_of_op("gradient_tape/model/dense/MatMul/MatMul_1");
  EXPECT_EQ(place.module, "model/dense/MatMul");
  EXPECT_EQ(place.primitive, "MatMul_1");
  EXPECT_EQ(place.phase, Phase::kBackward);
}

TEST(OpName, WithoutEndOrBeginningIsReadAllTheSame) {
  EXPECT_EQ(place_of_op("").primitive, "");
  EXPECT_EQ(place_of_op("jvp((((").primitive, "jvp((((");
  std::string deep = "x";
  for (int i = 0; i < 100; ++i) deep = "jvp(" + deep + ")";
  EXPECT_EQ(place_of_op(deep).phase, Phase::kForward);
}

}  // namespace
}  // namespace hone::trace::xplane
