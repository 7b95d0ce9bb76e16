#include "passes/allow_tf32.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "graph/product_math.h"
#include "passes/check_rewrite.h"
#include "passes/fuse_epilogues.h"
#include "passes/lower_precision.h"
#include "passes/merge_common.h"

namespace hone::passes {
namespace {

PassContext tf32_target() {
  PassContext context = willing_target();
  context.target.takes.tf32_products = true;
  return context;
}

TEST(AllowTf32, TellsProductsAndConvolutionsOfF32ThatTheyMayRound) {
  check_rewrite(allow_tf32, R"((%x: f32[2,4], %w: f32[4,4], %i: f32[1,2,6,6], %k: f32[2,2,3,3]) {
    %m: f32[*] = MatMul(%x, %w)
    %g: f32[*] = Gemm(%m, %w) {alpha = 0.5}
    %y: f32[*] = Relu(%g)
    %c: f32[*] = Conv(%i, %k)
    %t: f32[*] = ConvTranspose(%c, %k)
    return %y, %t
  })",
                R"((%x: f32[2,4], %w: f32[4,4], %i: f32[1,2,6,6], %k: f32[2,2,3,3]) {
    %m: f32[*] = MatMul(%x, %w) {math = "tf32"}
    %g: f32[*] = Gemm(%m, %w) {alpha = 0.5, math = "tf32"}
    %y: f32[*] = Relu(%g)
    %c: f32[*] = Conv(%i, %k) {math = "tf32"}
    %t: f32[*] = ConvTranspose(%c, %k) {math = "tf32"}
    return %y, %t
  })",
                tf32_target());
}

TEST(AllowTf32, LeavesOtherTypesAlone) {
  check_left_alone(allow_tf32,
                   "(%x: f16[2,2], %d: f64[2,2]) { %y: f16[*] = MatMul(%x, %x) %z: f64[*] = MatMul(%d, %d) "
                   "return %y, %z }",
                   "", tf32_target());
}

TEST(AllowTf32, LeavesATargetWithoutItAndSaysSoOnce) {
  const PassOutcome outcome = run_pass(
      allow_tf32,
      graph_of("(%x: f32[2,2]) { %y: f32[*] = MatMul(%x, %x) %z: f32[*] = MatMul(%y, %y) return %z }"));
  EXPECT_FALSE(outcome.changed());
  ASSERT_EQ(outcome.missed.size(), 1U);
  EXPECT_EQ(outcome.missed[0].text,
            "MatMul stays f32: the target has no products in tf32: nothing would be faster");
}

TEST(AllowTf32, SaysWhichOperatorsStayInF32) {
  PassContext context = tf32_target();
  context.target.runs = [](const graph::Graph&, const graph::Node& node) { return node.op != "Conv"; };
  const graph::Graph graph = graph_of(R"((%x: f32[1,2,6,6], %k: f32[2,2,3,3], %q: f32[1,4,8]) {
    %c: f32[*] = Conv(%x, %k)
    %t: f32[*] = ConvTranspose(%c, %k)
    %a: f32[*] = Attention(%q, %q, %q) {q_num_heads = 2, kv_num_heads = 2}
    return %t, %a
  })");
  std::map<std::string, std::string> why;
  for (const TypeChoice& choice : run_pass(allow_tf32, graph, context).types) why[choice.op] = choice.why;
  EXPECT_EQ(why["Conv"], "the target has no kernel for it");
  EXPECT_EQ(why["Attention"], "no kernel of it has tf32");
  EXPECT_EQ(why["ConvTranspose"], "");

  context = tf32_target();
  for (const graph::Node& node : graph.nodes())
    if (node.op == "ConvTranspose") context.keep_f32[node.name] = "it was measured";
  for (const TypeChoice& choice : run_pass(allow_tf32, graph, context).types) {
    EXPECT_EQ(choice.narrowed, choice.op == "Conv") << choice.op;
    EXPECT_EQ(choice.tf32, choice.narrowed);
    EXPECT_EQ(choice.why == "it was measured", choice.op == "ConvTranspose") << choice.why;
  }
}

// What multiplies otherwise is another expression; what follows a product keeps its permission in the group.
TEST(AllowTf32, IsKeptByThePassesBehindIt) {
  EXPECT_FALSE(run_pass(merge_common, graph_of(R"((%x: f32[2,2]) {
    %a: f32[*] = MatMul(%x, %x) {math = "tf32"}
    %b: f32[*] = MatMul(%x, %x)
    return %a, %b
  })"))
                   .changed());
  const PassOutcome outcome = run_pass(fuse_epilogues, graph_of(R"((%x: f32[2,2]) {
    %a: f32[*] = MatMul(%x, %x) {math = "tf32"}
    %y: f32[*] = Relu(%a)
    return %y
  })"));
  ASSERT_EQ(outcome.graph.nodes().size(), 1U);
  EXPECT_TRUE(graph::may_use_tf32(outcome.graph.nodes()[0]));
}

// A model that came with the permission may still be narrowed, in which it means nothing.
TEST(AllowTf32, DoesNotHinderNarrowTypes) {
  PassContext context = tf32_target();
  context.target.takes.products = {DType::kF32, DType::kF16};
  const PassOutcome outcome = run_pass(lower_to_f16, graph_of(R"((%x: f32[2,2]) {
    %y: f32[*] = MatMul(%x, %x) {math = "tf32"}
    return %y
  })"),
                                       context);
  EXPECT_TRUE(outcome.changed());
}

TEST(AllowTf32, AnotherWordIsRefused) {
  const auto graph =
      graph::parse(R"(graph "g" (%x: f32[2,2]) { %y: f32[*] = MatMul(%x, %x) {math = "int4"} return %y })");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message, ::testing::HasSubstr("attribute math is 'int4', must be 'tf32'"));
}

TEST(RoundedToTf32, KeepsTenBitsOfMantissa) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kMax = std::numeric_limits<float>::max();
  const std::vector<std::pair<float, float>> cases = {
      {1.0F, 1.0F},
      {1.0F + 0x1p-10F, 1.0F + 0x1p-10F},
      {1.0F + 0x1p-11F, 1.0F + 0x1p-10F},  // half a step, away from zero
      {-1.0F - 0x1p-11F, -1.0F - 0x1p-10F},
      {1.0F + 0x1p-12F, 1.0F},
      {0x1.fffp3F, 16.0F},
      {1e-40F, 1e-40F},  // subnormal: ten bits and the exponent's
      {kInfinity, kInfinity},
      {kMax, kMax},
      {0.0F, 0.0F}};
  Tensor numbers(DType::kF32, {static_cast<int64_t>(cases.size())});
  for (std::size_t i = 0; i < cases.size(); ++i) numbers.as<float>()[i] = cases[i].first;
  const Tensor rounded = rounded_to_tf32(numbers);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (std::fpclassify(cases[i].first) == FP_SUBNORMAL) {
      EXPECT_NEAR(rounded.at(static_cast<int64_t>(i)), cases[i].second, 0x1p-137);
      continue;
    }
    EXPECT_EQ(rounded.as<float>()[i], cases[i].second) << cases[i].first;
  }
}

}  // namespace
}  // namespace hone::passes
