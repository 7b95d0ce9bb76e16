#include "passes/fuse_epilogues.h"

#include "graph/group_kind.h"
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

// In training a bias is known only when the step runs.
TEST(FuseEpilogues, TakesARowThatIsKnownWhenItRunsWhereTheTargetDoes) {
  const graph::Graph before = graph_of(R"((%x: f32[4,2], %w: f32[2,2], %b: f32[2]) {
    %m: f32[*] = MatMul(%x, %w)
    %y: f32[*] = Add(%m, %b)
    return %y
  })");
  EXPECT_TRUE(run_pass(fuse_epilogues, before).done.empty());
  PassContext context = willing_target();
  for (graph::EpilogueCapability& row : context.target.takes.epilogue) row.any_row = row.binary;
  const PassOutcome outcome = run_pass(fuse_epilogues, before, context);
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  EXPECT_TRUE(graph::is_group(outcome.graph.nodes()[0], graph::GroupKind::kMatmul));
}

TEST(FuseEpilogues, TakesAnActivationBehindAConvolution) {
  const PassOutcome outcome = run_pass(fuse_epilogues, graph_of(R"((%x: f32[1,2,3,3]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %c: f32[*] = Conv(%x, %w)
    %y: f32[*] = Relu(%c)
    return %y
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  EXPECT_TRUE(graph::is_group(outcome.graph.nodes()[0], graph::GroupKind::kConvolution));
}

// A narrow product sums in f32: the conversion of its result is a step, and one back to its type the last.
TEST(FuseEpilogues, TakesTheConversionsOfANarrowProduct) {
  PassContext context = willing_target();
  context.target.takes.converted_products = {DType::kBF16};
  const graph::Graph before = graph_of(R"((%x: bf16[2,2], %r: f32[2,2]) {
    %w: bf16[2,2] = constant hex"803f0040803f0040"
    %m: bf16[*] = MatMul(%x, %w)
    %f: f32[*] = Cast(%m) {to = 1}
    %a: f32[*] = Add(%f, %r)
    %c: bf16[*] = Cast(%a) {to = 16}
    %n: bf16[*] = MatMul(%c, %w)
    %y: f32[*] = Cast(%n) {to = 1}
    return %y
  })");
  const PassOutcome outcome = run_pass(fuse_epilogues, before, context);
  ASSERT_EQ(outcome.graph.nodes().size(), 2U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].bodies[0]->nodes().size(), 4U);
  EXPECT_EQ(outcome.graph.type(outcome.graph.nodes()[0].outputs[0]).dtype, DType::kBF16);
  EXPECT_EQ(outcome.graph.nodes()[1].bodies[0]->nodes().size(), 2U);
  // A target that computes in the type has no such products.
  EXPECT_TRUE(run_pass(fuse_epilogues, before).done.empty());
}

// Where two convolutions meet in an Add the later one takes it: the earlier result is there by then.
TEST(FuseEpilogues, TheLaterOfTwoConvolutionsTakesTheirSum) {
  const PassOutcome outcome = run_pass(fuse_epilogues, graph_of(R"((%x: f32[1,2,3,3]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %a: f32[*] = Conv(%x, %w)
    %b: f32[*] = Conv(%a, %w)
    %y: f32[*] = Add(%b, %a)
    return %y
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 2U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].op, "Conv");
  EXPECT_EQ(outcome.graph.nodes()[1].bodies[0]->nodes().size(), 2U);
}

constexpr const char* kFakeQuantised = R"((%x: f32[4,2]) {
    %w: f32[2,2] = constant dense(1.0, 2.0, 3.0, 4.0)
    %s: f32[] = constant dense(0.5)
    %z: u8[] = constant dense(3)
    %m: f32[*] = MatMul(%x, %w)
    %q: u8[*] = QuantizeLinear(%m, %s, %z)
    %y: f32[*] = DequantizeLinear(%q, %s, %z)
    return %y
  })";

TEST(FuseEpilogues, TakesQuantisationAndBackAsOneStep) {
  PassContext context = willing_target();
  for (graph::EpilogueCapability& row : context.target.takes.epilogue) row.pair = row.op == "QuantizeLinear";
  const PassOutcome outcome = run_pass(fuse_epilogues, graph_of(kFakeQuantised), context);
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].bodies[0]->nodes().size(), 3U);
}

TEST(FuseEpilogues, SaysWhatTheTargetHasNoKernelFor) {
  PassContext context = willing_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return false; };
  check_left_alone(fuse_epilogues, R"((%x: f32[1,2,3,3]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %c: f32[*] = Conv(%x, %w)
    %y: f32[*] = Relu(%c)
    return %y
  })",
                   "the target has no kernel for the group", context);
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

// On a GPU a product of bf16 adds its sums, which are f32, to a residual stream of f32.
TEST(FuseEpilogues, WidensASumWhereTheTargetDoesAndAnAddFollows) {
  constexpr const char* kResidual = R"((%x: bf16[4,2], %w: bf16[2,3], %b: f32[3], %r: f32[4,3]) {
    %m: bf16[*] = MatMul(%x, %w)
    %c: f32[*] = Cast(%m) {to = 1}
    %a: f32[*] = Add(%c, %b)
    %y: f32[*] = Add(%r, %a)
    return %y
  })";
  PassContext context = willing_target();
  context.target.takes.products = {DType::kF32, DType::kBF16};
  for (graph::EpilogueCapability& row : context.target.takes.epilogue) row.any_row = row.binary;
  EXPECT_TRUE(run_pass(fuse_epilogues, graph_of(kResidual), context).done.empty());
  context.target.takes.widened_sums = {DType::kBF16};
  const PassOutcome outcome = run_pass(fuse_epilogues, graph_of(kResidual), context);
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].bodies[0]->nodes().size(), 4U);
  // Without a sum it would only write twice the bytes.
  check_left_alone(fuse_epilogues, R"((%x: bf16[4,2], %w: bf16[2,3]) {
    %m: bf16[*] = MatMul(%x, %w)
    %c: f32[*] = Cast(%m) {to = 1}
    %y: f32[*] = Exp(%c)
    return %y
  })",
                   "", context);
}

}  // namespace
}  // namespace hone::passes
