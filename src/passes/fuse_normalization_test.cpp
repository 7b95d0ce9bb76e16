#include "passes/fuse_normalization.h"

#include <fmt/format.h>

#include "graph/group_kind.h"
#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

PassContext storing_target(bool stores = true) {
  PassContext context = willing_target();
  context.target.takes.narrow_normalizations = stores;
  return context;
}

// The operators of the graph; of a group those that it holds.
std::string operators_of(const graph::Graph& graph) {
  std::string text;
  for (const graph::Node& node : graph.nodes()) {
    text += text.empty() ? "" : ", ";
    if (!graph::is_group(node)) {
      text += node.op;
      continue;
    }
    text += std::string(graph::group_kind_name(*graph::group_kind(node))) + "(";
    for (const graph::Node& inner : node.bodies[0]->nodes())
      text += (text.back() == '(' ? "" : " ") + inner.op;
    text += ")";
  }
  return text;
}

std::string fused_operators(const std::string& body, bool stores = true) {
  const graph::Graph graph =
      graph_of("(%x: f32[4,8], %g: bf16[4,8], %r: f32[4,8], %s: f32[8]) {\n" + body + "\n}");
  return operators_of(run_pass(fuse_normalization, graph, storing_target(stores)).graph);
}

TEST(FuseNormalization, TakesTheConversionOfItsResult) {
  const char* const alone = R"(%n: f32[*] = LayerNormalization(%x, %s)
    %y: bf16[*] = Cast(%n) {to = 16}
    return %y)";
  EXPECT_EQ(fused_operators(alone), "normalization(LayerNormalization Cast)");
  EXPECT_EQ(fused_operators(alone, false), "LayerNormalization, Cast");
  // In a network that normalises behind its sums the stream reads the f32 result.
  EXPECT_EQ(fused_operators(R"(%n: f32[*] = RMSNormalization(%x, %s)
    %y: bf16[*] = Cast(%n) {to = 16}
    %a: f32[*] = Exp(%n)
    return %y, %a)"),
            "normalization(RMSNormalization Cast), Exp");
}

TEST(FuseNormalization, TakesTheSumOfItsGradientAndTheConversionOfThat) {
  EXPECT_EQ(
      fused_operators(R"(%d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%g, %x, %s)
    %a: f32[*] = Add(%r, %d)
    %y: bf16[*] = Cast(%a) {to = 16}
    return %y, %a, %ds, %db)"),
      "normalization(hone.LayerNormalizationGradient Add Cast)");
  // Two read the gradient: the conversion alone.
  EXPECT_EQ(
      fused_operators(R"(%d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%g, %x, %s)
    %y: bf16[*] = Cast(%d) {to = 16}
    %a: f32[*] = Add(%r, %d)
    return %y, %a, %ds, %db)"),
      "normalization(hone.LayerNormalizationGradient Cast), Add");
}

// What is added must be there when the gradient is computed.
TEST(FuseNormalization, DoesNotWaitForWhatItGives) {
  EXPECT_EQ(
      fused_operators(R"(%d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%g, %x, %s)
    %late: f32[*] = Mul(%r, %ds)
    %a: f32[*] = Add(%late, %d)
    return %a, %ds, %db)"),
      "hone.LayerNormalizationGradient, Mul, Add");
}

TEST(FuseNormalization, LeavesOtherConversionsAndSays) {
  const std::string text = "(%x: f32[4,8], %s: f32[8]) {\n%n: f32[*] = LayerNormalization(%x, %s)\n%y: ";
  check_left_alone(fuse_normalization, text + "i32[*] = Cast(%n) {to = 6}\nreturn %y\n}", "",
                   storing_target());
  PassContext context = storing_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return false; };
  check_left_alone(fuse_normalization, text + "bf16[*] = Cast(%n) {to = 16}\nreturn %y\n}",
                   "LayerNormalization not fused with Cast: the target has no kernel for the group", context);
}

}  // namespace
}  // namespace hone::passes
