#include "passes/fuse_pointwise.h"

#include <fmt/core.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(FusePointwise, AChainBecomesOneGroup) {
  check_rewrite(fuse_pointwise, R"((%x: f32[2,3], %b: f32[3]) {
    %a: f32[*] = Add(%x, %b)
    %t: f32[*] = Tanh(%a)
    %y: f32[*] = Mul(%t, %a)
    return %y
  })",
                R"((%x: f32[2,3], %b: f32[3]) {
    %y: f32[2,3] = hone.Fused(%x, %b) {kind = "pointwise"}
      graph "y" (%x: f32[2,3], %b: f32[3]) {
        %a: f32[*] = Add(%x, %b)
        %t: f32[*] = Tanh(%a)
        %y: f32[*] = Mul(%t, %a)
        return %y
      }
    return %y
  })");
}

TEST(FusePointwise, AValueReadOutsideLeavesTheGroup) {
  const PassOutcome outcome = run_pass(fuse_pointwise, graph_of(R"((%x: f32[4,4]) {
    %a: f32[*] = Relu(%x)
    %b: f32[*] = Exp(%a)
    %m: f32[*] = MatMul(%x, %a)
    return %b, %m
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 2U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].outputs.size(), 2U);
}

TEST(FusePointwise, AGroupNeverWaitsForItself) {
  check_left_alone(fuse_pointwise, R"((%x: f32[4,4]) {
    %a: f32[*] = Relu(%x)
    %m: f32[*] = MatMul(%a, %a)
    %y: f32[*] = Add(%a, %m)
    return %y
  })",
                   "must run first");
}

TEST(FusePointwise, TwoGroupsNeverWaitForEachOther) {
  // Two chains, each with an end that feeds the other through a product: both cannot be groups. Verified
  // graphs are acyclic, so making one is the test.
  const PassOutcome outcome = run_pass(fuse_pointwise, graph_of(R"((%x: f32[4,4], %z: f32[4,4]) {
    %a0: f32[*] = Relu(%x)
    %b0: f32[*] = Relu(%z)
    %ma: f32[*] = MatMul(%a0, %a0)
    %mb: f32[*] = MatMul(%b0, %b0)
    %a1: f32[*] = Add(%a0, %mb)
    %b1: f32[*] = Add(%b0, %ma)
    return %a1, %b1
  })"));
  EXPECT_EQ(outcome.graph.nodes().size(), 5U) << graph::print(outcome.graph);
}

TEST(FusePointwise, OneOperatorIsNoGroupAndOtherShapesStayOut) {
  check_left_alone(fuse_pointwise, "(%x: f32[2]) { %y: f32[*] = Relu(%x) return %y }");
  check_left_alone(fuse_pointwise, R"((%x: f32[3], %z: f32[2,3]) {
    %a: f32[*] = Relu(%x)
    %y: f32[*] = Add(%z, %a)
    return %y
  })");
}

TEST(FusePointwise, LongChainsAreCut) {
  std::string text = "(%v0: f32[8]) {\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("%v{}: f32[*] = Sin(%v{})\n", i + 1, i);
  const PassOutcome outcome = run_pass(fuse_pointwise, graph_of(text + "return %v60 }"));
  EXPECT_EQ(outcome.graph.nodes().size(), 3U);
  ASSERT_FALSE(outcome.missed.empty());
  EXPECT_NE(outcome.missed[0].text.find("25 operators"), std::string::npos) << outcome.missed[0].text;
}

TEST(FusePointwise, OperandsMayBeAbsent) {
  const PassOutcome outcome = run_pass(fuse_pointwise, graph_of(R"((%x: f32[4]) {
    %most: f32[] = constant dense(1.0)
    %a: f32[*] = Neg(%x)
    %b: f32[*] = Clip(%a, none, %most)
    %y: f32[*] = Clip(%b)
    return %y
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].bodies[0]->nodes().size(), 3U);
}

}  // namespace
}  // namespace hone::passes
