#include "passes/align_classes.h"

#include <gtest/gtest.h>

#include "graph/product_math.h"
#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

PassContext matrix_units() {
  PassContext context = willing_target();
  context.target.takes.products = {DType::kF32, DType::kF16, DType::kBF16};
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  return context;
}

// A tied embedding of 257 classes: scores, loss, and the gradient of rows and of weights.
std::string head(const std::string& classes, const std::string& more = "") {
  std::string text = R"((%x: bf16[1,6,4], %w: bf16[CLASSES,4], %t: i64[6], %s: i64[6,1], %f: f32[6,1]) {
    %rows: i64[2] = constant dense(6, CLASSES)
    %back: i64[3] = constant dense(1, 6, CLASSES)
    %u: bf16[*] = Transpose(%w) {perm = [1,0]}
    %logits: bf16[*] = MatMul(%x, %u)
    %y: bf16[*] = Reshape(%logits, %rows)
    %l: f32[*] = hone.SoftmaxCrossEntropyLoss(%y, %t) {reduction = "sum"}
    %g: bf16[*] = hone.CrossEntropyGradient(%y, %s, %f)
    %g3: bf16[*] = Reshape(%g, %back)
    %dx: bf16[*] = MatMul(%g3, %w)
    %two: i64[2] = constant dense(6, 4)
    %x2: bf16[*] = Reshape(%x, %two)
    %xt: bf16[*] = Transpose(%x2) {perm = [1,0]}
    %dw: bf16[*] = MatMul(%xt, %g)
    MORE
  })";
  for (std::size_t at = text.find("CLASSES"); at != std::string::npos; at = text.find("CLASSES"))
    text.replace(at, 7, classes);
  text.replace(text.find("MORE"), 4, more.empty() ? "return %l, %dx, %dw" : more);
  return text;
}

TEST(AlignClasses, ScoresAndTheirGradientGetWholeVectors) {
  const graph::Graph before = graph_of(head("257"));
  const PassOutcome outcome = run_pass(align_classes, before, matrix_units());
  ASSERT_EQ(outcome.done.size(), 1U);
  EXPECT_EQ(outcome.done[0].text, "257 classes padded to 320");
  int pads = 0, slices = 0;
  for (const graph::Node& node : outcome.graph.nodes()) {
    pads += node.op == "Pad";
    slices += node.op == "Slice";
    for (const graph::ValueId output : node.outputs) {
      const graph::TensorType& type = outcome.graph.type(output);
      if (node.op == "Slice" || type.rank() == 0) continue;
      EXPECT_NE(type.shape().back(), 257) << node.op;
    }
  }
  EXPECT_EQ(pads, 1);  // of the weights, for both products that read them
  EXPECT_EQ(slices, 1);
  for (std::size_t i = 0; i < before.outputs().size(); ++i)
    EXPECT_EQ(outcome.graph.type(outcome.graph.outputs()[i]).text(), before.type(before.outputs()[i]).text());
  EXPECT_TRUE(run_pass(align_classes, outcome.graph, matrix_units()).done.empty());
}

// A permission to multiply in tf32 is the product's, whatever it is rebuilt as.
TEST(AlignClasses, TheProductKeepsItsMath) {
  std::string text = head("257");
  const std::string product = "MatMul(%x, %u)";
  text.replace(text.find(product), product.size(), product + " {math = \"tf32\"}");
  const PassOutcome outcome = run_pass(align_classes, graph_of(text), matrix_units());
  int marked = 0;
  for (const graph::Node& node : outcome.graph.nodes()) marked += graph::may_use_tf32(node);
  EXPECT_EQ(marked, 1);
  EXPECT_EQ(outcome.done.size(), 1U);
}

TEST(AlignClasses, ClassesThatVectorsDivideStay) {
  check_left_alone(align_classes, head("264"), "", matrix_units());
  check_left_alone(align_classes, head("33"), "", matrix_units());  // few
}

TEST(AlignClasses, ScoresThatOthersReadStay) {
  check_left_alone(align_classes, head("257", "return %l, %dx, %dw, %y"), "", matrix_units());
  check_left_alone(align_classes, head("257", "%e: bf16[*] = Exp(%g)\n    return %l, %dx, %dw, %e"),
                   "something else reads their gradient", matrix_units());
}

TEST(AlignClasses, ATargetWithoutMatrixUnitsKeepsThem) {
  check_left_alone(align_classes, head("257"), "", willing_target());
}

}  // namespace
}  // namespace hone::passes
