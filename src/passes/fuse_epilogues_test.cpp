#include "passes/fuse_epilogues.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(FuseEpilogues, TakesBiasResidualAndActivationInOneGroup) {
  const graph::Graph before = graph_of(R"((%x: f32[4,2], %r: f32[4,2]) {
    %w: f32[2,2] = constant dense(1.0, 2.0, 3.0, 4.0)
    %b: f32[2] = constant dense(1.0, 2.0)
    %m: f32[*] = MatMul(%x, %w)
    %a: f32[*] = Add(%m, %b)
    %s: f32[*] = Add(%r, %a)
    %y: f32[*] = Relu(%s)
    return %y
  })");
  const PassOutcome outcome = run_pass(fuse_epilogues, before);
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  const graph::Node& group = outcome.graph.nodes()[0];
  EXPECT_EQ(group.op, "hone.Fused");
  EXPECT_EQ(group.attributes.text("kind", ""), "matmul");
  EXPECT_EQ(group.bodies[0]->nodes().size(), 4U);
}

TEST(FuseEpilogues, SaysWhyASharedResultIsNotFused) {
  check_left_alone(fuse_epilogues, R"((%x: f32[4,2]) {
    %w: f32[2,2] = constant dense(1.0, 2.0, 3.0, 4.0)
    %m: f32[*] = MatMul(%x, %w)
    %a: f32[*] = Relu(%m)
    %b: f32[*] = Tanh(%m)
    return %a, %b
  })",
                   "its result has 2 readers");
}

}  // namespace
}  // namespace hone::passes
