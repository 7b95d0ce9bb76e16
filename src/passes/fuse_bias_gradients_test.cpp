#include "passes/fuse_bias_gradients.h"

#include "graph/group_kind.h"
#include "passes/check_rewrite.h"
#include "passes/fuse_epilogues.h"

namespace hone::passes {
namespace {

PassContext target_that_sums() {
  PassContext context = willing_target();
  context.target.takes.bias_gradients = {DType::kF32, DType::kBF16};
  return context;
}

void check_joined(std::string_view before, std::string_view after) {
  const PassOutcome outcome = run_pass(fuse_bias_gradients, graph_of(before), target_that_sums());
  for (const graph::Value& value : outcome.graph.values()) EXPECT_TRUE(value.type.is_static()) << value.name;
  check_rewrite(fuse_bias_gradients, before, after, target_that_sums());
}

void check_not_joined(std::string_view text, std::string_view why = "",
                      const PassContext& context = target_that_sums()) {
  check_left_alone(fuse_bias_gradients, text, why, context);
}

// dW = Xᵀ·dY of a layer with weights [inputs, outputs].
TEST(FuseBiasGradients, JoinsTheSumOfTheRowsOfTheRightOperand) {
  check_joined(R"((%x: f32[6,4], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(0)
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    %dw: f32[*] = Gemm(%x, %g) {transA = 1}
    return %dw, %db
  })",
               R"((%x: f32[6,4], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(0)
    %dw: f32[4,3], %db: f32[3] = hone.Fused(%x, %g, %axes) {kind = "bias_gradient"}
      graph "dw" (%x: f32[6,4], %g: f32[6,3], %axes: i64[1]) {
        %dw: f32[*] = Gemm(%x, %g) {transA = 1}
        %db: f32[3] = ReduceSum(%g, %axes) {keepdims = 0}
        return %dw, %db
      }
    return %dw, %db
  })");
}

// dW = dYᵀ·X, of weights [outputs, inputs]; and X as it lies transposed already.
TEST(FuseBiasGradients, JoinsTheSumOfTheRowsOfATransposedLeftOperand) {
  check_joined(R"((%x: f32[4,6], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(-2)
    %dw: f32[*] = Gemm(%g, %x) {transA = 1, transB = 1}
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    return %dw, %db
  })",
               R"((%x: f32[4,6], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(-2)
    %dw: f32[3,4], %db: f32[3] = hone.Fused(%g, %x, %axes) {kind = "bias_gradient"}
      graph "dw" (%g: f32[6,3], %x: f32[4,6], %axes: i64[1]) {
        %dw: f32[*] = Gemm(%g, %x) {transA = 1, transB = 1}
        %db: f32[3] = ReduceSum(%g, %axes) {keepdims = 0}
        return %dw, %db
      }
    return %dw, %db
  })");
}

// What the gradients of a layer on a batch of sequences are: dY is summed in its own shape, with extents of 1 kept, in f32,
// and multiplied as one matrix. Its other readers read it as before.
TEST(FuseBiasGradients, JoinsTheSumOfABatchOfSequences) {
  check_joined(R"((%x: bf16[2,5,4], %g: bf16[2,5,3]) {
    %axes: i64[2] = constant dense(0, 1)
    %extents: i64[1] = constant dense(3)
    %xs: bf16[*] = Flatten(%x) {axis = -1}
    %gs: bf16[*] = Flatten(%g) {axis = -1}
    %dw: bf16[*] = Gemm(%xs, %gs) {transA = 1}
    %sum: f32[*] = hone.ReduceSum(%g, %axes)
    %db: f32[*] = Reshape(%sum, %extents)
    %other: bf16[*] = Exp(%g)
    %again: bf16[*] = Neg(%gs)
    return %dw, %db, %other, %again
  })",
               R"((%x: bf16[2,5,4], %g: bf16[2,5,3]) {
    %rows: i64[1] = constant dense(0)
    %ones: i64[3] = constant dense(1, 1, 3)
    %extents: i64[1] = constant dense(3)
    %xs: bf16[*] = Flatten(%x) {axis = -1}
    %gs: bf16[*] = Flatten(%g) {axis = -1}
    %dw: bf16[4,3], %columns: f32[3] = hone.Fused(%xs, %gs, %rows) {kind = "bias_gradient"}
      graph "dw" (%xs: bf16[10,4], %gs: bf16[10,3], %rows: i64[1]) {
        %dw: bf16[*] = Gemm(%xs, %gs) {transA = 1}
        %columns: f32[3] = hone.ReduceSum(%gs, %rows) {keepdims = 0}
        return %dw, %columns
      }
    %sum: f32[*] = Reshape(%columns, %ones)
    %db: f32[*] = Reshape(%sum, %extents)
    %other: bf16[*] = Exp(%g)
    %again: bf16[*] = Neg(%gs)
    return %dw, %db, %other, %again
  })");
}

// A gradient that is added to that of the micro-batch before.
TEST(FuseBiasGradients, JoinsTheSumToAProductThatHasAnEpilogue) {
  const graph::Graph before = graph_of(R"((%x: f32[6,4], %g: f32[6,3], %sofar: f32[4,3]) {
    %axes: i64[1] = constant dense(0)
    %dw: f32[*] = Gemm(%x, %g) {transA = 1}
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    %sum: f32[*] = Add(%sofar, %dw)
    return %sum, %db
  })");
  const graph::Graph fused = run_pass(fuse_epilogues, before).graph;
  const PassOutcome outcome = run_pass(fuse_bias_gradients, fused, target_that_sums());
  ASSERT_EQ(outcome.graph.nodes().size(), 1U) << graph::print(outcome.graph);
  const graph::Node& group = outcome.graph.nodes()[0];
  EXPECT_TRUE(graph::is_group(group, graph::GroupKind::kBiasGradient));
  ASSERT_EQ(group.bodies[0]->nodes().size(), 3U);
  EXPECT_EQ(group.bodies[0]->nodes()[1].op, "Add");
  EXPECT_EQ(outcome.graph.value(group.outputs[0]).name, "sum");
  EXPECT_EQ(outcome.graph.value(group.outputs[1]).name, "db");
}

// Each of two products that read one dY takes a sum of it; a third sum stays.
TEST(FuseBiasGradients, GivesEachProductOneSum) {
  const PassOutcome outcome =
      run_pass(fuse_bias_gradients, graph_of(R"((%x: f32[6,4], %z: f32[6,2], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(0)
    %dw: f32[*] = Gemm(%x, %g) {transA = 1}
    %dv: f32[*] = Gemm(%z, %g) {transA = 1}
    %a: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    %b: f32[*] = ReduceSum(%g, %axes) {keepdims = 1}
    %c: f32[*] = hone.ReduceSum(%g, %axes) {keepdims = 0}
    return %dw, %dv, %a, %b, %c
  })"),
               target_that_sums());
  EXPECT_EQ(outcome.done.size(), 2U);
  int groups = 0, sums = 0;
  for (const graph::Node& node : outcome.graph.nodes()) {
    groups += graph::is_group(node, graph::GroupKind::kBiasGradient) ? 1 : 0;
    sums += node.op == "ReduceSum" || node.op == "hone.ReduceSum" ? 1 : 0;
  }
  EXPECT_EQ(groups, 2);
  EXPECT_EQ(sums, 1);
}

// `sum` of %g beside `product` of %x and %g.
std::string product_and_sum(const std::string& product, const std::string& sum,
                            const std::string& axes = "0") {
  return "(%x: f32[4,4], %g: f32[4,4]) {\n    %axes: i64[" +
         std::string(axes.find(',') == axes.npos ? "1" : "2") + "] = constant dense(" + axes +
         ")\n    %dw: f32[*] = " + product + "\n    %db: f32[*] = " + sum + "\n    return %dw, %db\n  }";
}

TEST(FuseBiasGradients, LeavesSumsOfWhatTheProductDoesNotSumOver) {
  const std::string sum = "ReduceSum(%g, %axes) {keepdims = 0}";
  check_not_joined(product_and_sum("MatMul(%g, %x)", sum));                     // sums over columns of %g
  check_not_joined(product_and_sum("Gemm(%x, %g) {transB = 1}", sum));          // the same, on the right
  check_not_joined(product_and_sum("Gemm(%g, %x) {transA = 1}", sum, "1"));     // of columns
  check_not_joined(product_and_sum("Gemm(%g, %x) {transA = 1}", sum, "0, 1"));  // of everything
  check_not_joined(product_and_sum("Gemm(%x, %x) {transA = 1}", sum));          // of another tensor
  check_not_joined(product_and_sum("Gemm(%g, %x) {transA = 1}", "ReduceMax(%g, %axes) {keepdims = 0}"));
  check_not_joined(product_and_sum("Gemm(%g, %x) {transA = 1}", "ReduceSum(%g) {keepdims = 0}"));
}

// The same bytes, other rows: of [2, 5, 3] the product sums over 10, the sum over 2.
TEST(FuseBiasGradients, LeavesSumsOfOtherRowsOfTheSameTensor) {
  check_not_joined(R"((%x: f32[10,4], %g: f32[2,5,3]) {
    %axes: i64[1] = constant dense(0)
    %gs: f32[*] = Flatten(%g) {axis = -1}
    %dw: f32[*] = Gemm(%x, %gs) {transA = 1}
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    return %dw, %db
  })");
  check_not_joined(R"((%x: f32[4,10], %g: f32[2,3,5]) {
    %axes: i64[2] = constant dense(0, 2)
    %perm: f32[*] = Transpose(%g) {perm = [0,2,1]}
    %gs: f32[*] = Flatten(%perm) {axis = -1}
    %dw: f32[*] = MatMul(%x, %gs)
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    return %dw, %db
  })");
}

// A fence between them would be lost.
TEST(FuseBiasGradients, DoesNotLookThroughAFence) {
  check_not_joined(R"((%x: f32[6,4], %g: f32[6,3], %late: f32[1]) {
    %axes: i64[1] = constant dense(0)
    %again: f32[*] = hone.Recompute(%g, %late)
    %dw: f32[*] = Gemm(%x, %again) {transA = 1}
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    return %dw, %db
  })");
}

TEST(FuseBiasGradients, LeavesAProductThatWaitsForTheSum) {
  check_not_joined(R"((%x: f32[6,3], %g: f32[6,3]) {
    %axes: i64[1] = constant dense(0)
    %db: f32[*] = ReduceSum(%g, %axes) {keepdims = 0}
    %y: f32[*] = Mul(%x, %db)
    %dw: f32[*] = Gemm(%y, %g) {transA = 1}
    return %dw, %db
  })",
                   "waits for the sum");
}

TEST(FuseBiasGradients, AsksTheTarget) {
  const std::string text =
      product_and_sum("Gemm(%x, %g) {transA = 1}", "ReduceSum(%g, %axes) {keepdims = 0}");
  check_not_joined(text, "", willing_target());  // its table says nothing of such groups
  PassContext context = target_that_sums();
  context.target.takes.bias_gradients = {DType::kBF16};
  check_not_joined(text, "", context);
  context = target_that_sums();
  context.target.runs = [](const graph::Graph&, const graph::Node& node) { return !graph::is_group(node); };
  check_not_joined(text, "no kernel for the group", context);
}

}  // namespace
}  // namespace hone::passes
