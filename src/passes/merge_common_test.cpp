#include "passes/merge_common.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(MergeCommon, EqualExpressionsAreComputedOnce) {
  check_rewrite(merge_common, R"((%x: f32[4]) {
    %a: f32[*] = Exp(%x)
    %b: f32[*] = Exp(%x)
    %c: f32[*] = Neg(%a)
    %d: f32[*] = Neg(%b)
    %y: f32[*] = Add(%c, %d)
    return %y
  })",
                R"((%x: f32[4]) {
    %a: f32[*] = Exp(%x)
    %c: f32[*] = Neg(%a)
    %y: f32[*] = Add(%c, %c)
    return %y
  })");
}

TEST(MergeCommon, EqualSmallConstantsAreOne) {
  check_rewrite(merge_common, R"((%x: f32[2]) {
    %one: f32[] = constant dense(1.0)
    %uno: f32[] = constant dense(1.0)
    %a: f32[*] = Add(%x, %one)
    %b: f32[*] = Add(%x, %uno)
    %y: f32[*] = Mul(%a, %b)
    return %y
  })",
                R"((%x: f32[2]) {
    %one: f32[] = constant dense(1.0)
    %a: f32[*] = Add(%x, %one)
    %y: f32[*] = Mul(%a, %a)
    return %y
  })");
}

TEST(MergeCommon, OtherAttributesAndRandomNumbersStayApart) {
  check_left_alone(merge_common, R"((%x: f32[4,4]) {
    %a: f32[*] = Softmax(%x) {axis = 0}
    %b: f32[*] = Softmax(%x) {axis = 1}
    %c: f32[*] = RandomNormalLike(%x)
    %d: f32[*] = RandomNormalLike(%x)
    return %a, %b, %c, %d
  })");
}

TEST(MergeCommon, WhatIsComputedAnewBehindAFenceIsNotTakenFromBefore) {
  // %late is %early again, computed when %loss is there; both fences are of the same value.
  check_left_alone(merge_common, R"((%x: f32[4]) {
    %early: f32[*] = Exp(%x)
    %loss: f32[*] = ReduceSum(%early)
    %again: f32[*] = hone.Recompute(%x, %loss)
    %late: f32[*] = Exp(%again)
    %once_more: f32[*] = hone.Recompute(%x, %loss)
    %latest: f32[*] = Exp(%once_more)
    %y: f32[*] = Mul(%late, %latest)
    return %loss, %y
  })");
}

TEST(MergeCommon, OutputsKeepTheirNames) {
  const PassOutcome outcome = run_pass(merge_common, graph_of(R"((%x: f32[4]) {
    %a: f32[*] = Tanh(%x)
    %b: f32[*] = Tanh(%x)
    return %a, %b
  })"));
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[0]).name, "a");
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[1]).name, "b");
}

}  // namespace
}  // namespace hone::passes
