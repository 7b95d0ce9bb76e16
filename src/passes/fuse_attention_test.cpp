#include "passes/fuse_attention.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

constexpr const char* kParts = R"((%x: f32[2,3,8], %k: f32[2,3,4], %mask: f32[3,3]) {
    %widths: i64[2] = constant dense(4, 4)
    %a: f32[*], %b: f32[*] = Split(%x, %widths) {axis = -1}
)";

TEST(FuseAttention, TakesTheSplitThatPartsItsOperands) {
  const PassOutcome outcome = run_pass(fuse_attention, graph_of(std::string(kParts) + R"(
    %y: f32[*] = Attention(%a, %k, %b, %mask) {q_num_heads = 2, kv_num_heads = 2}
    return %y
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  const graph::Node& group = outcome.graph.nodes()[0];
  EXPECT_EQ(group.attributes.text("kind", ""), "attention");
  EXPECT_EQ(group.bodies[0]->nodes()[0].op, "Split");
  EXPECT_EQ(outcome.graph.value(group.inputs[0]).name, "x");
}

// The parts of a training step: of queries, keys and values, and their gradients, which are rows of one matrix again.
TEST(FuseAttention, TakesTheGradientWithItsSplitAndConcat) {
  const PassOutcome outcome = run_pass(fuse_attention, graph_of(R"((%x: bf16[2,3,24], %d: bf16[2,3,8]) {
    %widths: i64[3] = constant dense(8, 8, 8)
    %q: bf16[*], %k: bf16[*], %v: bf16[*] = Split(%x, %widths) {axis = -1}
    %y: bf16[*], %s: f32[*] = hone.AttentionWithSums(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2}
    %dq: bf16[*], %dk: bf16[*], %dv: bf16[*] = hone.AttentionGradient(%q, %k, %v, none, %d, %y, %s) {q_num_heads = 2, kv_num_heads = 2}
    %dx: bf16[*] = Concat(%dq, %dk, %dv) {axis = -1}
    return %y, %dx
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 2U) << graph::print(outcome.graph);
  EXPECT_EQ(outcome.graph.nodes()[0].bodies[0]->nodes().back().op, "hone.AttentionWithSums");
  const graph::Graph& gradient = *outcome.graph.nodes()[1].bodies[0];
  EXPECT_EQ(gradient.nodes().front().op, "Split");
  EXPECT_EQ(gradient.nodes().back().op, "Concat");
}

// A split in memory for one of them would be there for all.
TEST(FuseAttention, LeavesPartsThatAGradientCannotReadInPlace) {
  PassContext context = willing_target();
  context.target.runs = [](const graph::Graph&, const graph::Node& node) {
    return node.bodies.empty() || node.bodies[0]->nodes().back().op == "Attention";
  };
  check_left_alone(fuse_attention, R"((%x: f32[2,3,24], %d: f32[2,3,8]) {
    %widths: i64[3] = constant dense(8, 8, 8)
    %q: f32[*], %k: f32[*], %v: f32[*] = Split(%x, %widths) {axis = -1}
    %y: f32[*] = Attention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2}
    %dq: f32[*], %dk: f32[*], %dv: f32[*] = hone.AttentionGradient(%q, %k, %v, none, %d) {q_num_heads = 2, kv_num_heads = 2}
    return %y, %dq, %dk, %dv
  })",
                   "no kernel for the group", context);
}

TEST(FuseAttention, LeavesPartsThatOthersRead) {
  check_left_alone(fuse_attention, std::string(kParts) + R"(
    %y: f32[*] = Attention(%a, %k, %b) {q_num_heads = 2, kv_num_heads = 2}
    return %y, %b
  })",
                   "other readers");
}

TEST(FuseAttention, LeavesPartsOfSequences) {
  check_left_alone(fuse_attention, R"((%x: f32[2,6,4], %q: f32[2,3,4]) {
    %a: f32[*], %b: f32[*] = Split(%x) {axis = 1, num_outputs = 2}
    %y: f32[*] = Attention(%q, %a, %b) {q_num_heads = 2, kv_num_heads = 2}
    return %y
  })");
}

}  // namespace
}  // namespace hone::passes
