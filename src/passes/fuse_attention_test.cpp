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
