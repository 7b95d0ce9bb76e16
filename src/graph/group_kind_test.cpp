#include "graph/group_kind.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verify.h"

namespace hone::graph {
namespace {

// A group of this kind whose body is `operators` on %x.
std::string group_text(const std::string& kind, const std::string& operators) {
  return "graph \"g\" (%x: f32[2,2]) {\n %y: f32[2,2] = hone.Fused(%x) {kind = \"" + kind +
         "\"}\n graph \"body\" (%x: f32[2,2]) {\n" + operators + "\n return %y\n }\n return %y\n}";
}

Status verified(const std::string& kind, const std::string& operators) {
  auto graph = parse(group_text(kind, operators));
  return graph.ok() ? verify(*graph) : Status(graph.error());
}

TEST(GroupKind, NamesRoundTrip) {
  for (const GroupKind kind : {GroupKind::kPointwise, GroupKind::kConvolution, GroupKind::kMatmul,
                               GroupKind::kAttention, GroupKind::kBiasGradient, GroupKind::kNormalization})
    EXPECT_EQ(group_kind_from_name(group_kind_name(kind)), kind);
  EXPECT_FALSE(group_kind_from_name("pointwize"));
}

TEST(GroupKind, TheVerifierTakesWhatAKindHolds) {
  EXPECT_TRUE(verified("pointwise", "%a: f32[*] = Relu(%x)\n %y: f32[*] = Exp(%a)").ok());
  EXPECT_TRUE(verified("matmul", "%a: f32[*] = MatMul(%x, %x)\n %y: f32[*] = Relu(%a)").ok());
  EXPECT_TRUE(verified("normalization",
                       "%s: f32[2] = constant dense(1.0, 2.0)\n %a: f32[*] = LayerNormalization(%x, %s)\n "
                       "%y: f32[*] = Add(%a, %x)")
                  .ok());
}

TEST(GroupKind, TheVerifierRefusesAKindThatIsNone) {
  const Status status = verified("pointwize", "%y: f32[*] = Relu(%x)");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("'pointwize' is not known"), std::string::npos)
      << status.error().message;
}

TEST(GroupKind, TheVerifierRefusesWhatAKindDoesNotHold) {
  for (const auto& [kind, operators] :
       {std::pair("pointwise", "%a: f32[*] = Relu(%x)\n %y: f32[*] = MatMul(%a, %x)"),
        std::pair("matmul", "%a: f32[*] = Relu(%x)\n %y: f32[*] = Exp(%a)"),
        std::pair("convolution", "%a: f32[*] = MatMul(%x, %x)\n %y: f32[*] = Exp(%a)"),
        std::pair("attention", "%y: f32[*] = Relu(%x)"),
        std::pair("bias_gradient", "%a: f32[*] = MatMul(%x, %x)\n %y: f32[*] = MatMul(%a, %x)"),
        std::pair("bias_gradient",
                  "%a: f32[*] = MatMul(%x, %x)\n %b: f32[*] = ReduceSum(%x)\n %y: f32[*] = Add(%a, %b)"),
        std::pair("normalization", "%y: f32[*] = Add(%x, %x)"),
        std::pair("normalization",
                  "%s: f32[2] = constant dense(1.0, 2.0)\n %a: f32[*] = LayerNormalization(%x, %s)\n "
                  "%y: f32[*] = Relu(%a)")}) {
    const Status status = verified(kind, operators);
    ASSERT_FALSE(status.ok()) << kind;
    EXPECT_NE(status.error().message.find("cannot hold"), std::string::npos) << status.error().message;
  }
}

// A sum of what the product does not sum over is no bias gradient.
TEST(GroupKind, TheVerifierRefusesASumOfOtherRows) {
  const auto verified_sum = [](const std::string& product, const std::string& summed) {
    const auto graph = parse(R"(graph "g" (%a: f32[4,4], %b: f32[4,4]) {
      %axes: i64[1] = constant dense(0)
      %w: f32[4,4], %s: f32[4] = hone.Fused(%a, %b, %axes) {kind = "bias_gradient"}
        graph "body" (%a: f32[4,4], %b: f32[4,4], %axes: i64[1]) {
          %w: f32[4,4] = )" + product +
                             R"(
          %s: f32[4] = ReduceSum()" +
                             summed + R"(, %axes) {keepdims = 0}
          return %w, %s
        }
      return %w, %s
    })");
    return graph.ok() ? verify(*graph) : Status(graph.error());
  };
  EXPECT_TRUE(verified_sum("MatMul(%a, %b)", "%b").ok());
  EXPECT_TRUE(verified_sum("Gemm(%a, %b) {transA = 1}", "%a").ok());
  EXPECT_TRUE(verified_sum("Gemm(%a, %b) {transA = 1}", "%b").ok());
  for (const auto& [product, summed] :
       {std::pair("MatMul(%a, %b)", "%a"), std::pair("Gemm(%a, %b)", "%a"),
        std::pair("Gemm(%a, %b) {transB = 1}", "%b"), std::pair("MatMul(%a, %b)", "%w")}) {
    const Status status = verified_sum(product, summed);
    ASSERT_FALSE(status.ok()) << product << ", " << summed;
    EXPECT_NE(status.error().message.find("reads no operand"), std::string::npos) << status.error().message;
  }
  for (const char* const without :
       {"%y: f32[*] = MatMul(%x, %x)", "%a: f32[*] = MatMul(%x, %x)\n %y: f32[*] = Relu(%a)"}) {
    const Status status = verified("bias_gradient", without);
    ASSERT_FALSE(status.ok()) << without;
    EXPECT_NE(status.error().message.find("ends with a sum"), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace hone::graph
