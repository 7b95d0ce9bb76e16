#include "passes/recognise_attention.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

// Q, K and V [2,4,6] as two heads of 3; the end brings [2,2,4,3] back to [2,4,6].
constexpr const char* kHeads = R"((%q: f32[2,4,6], %k: f32[2,4,6], %v: f32[2,4,6], %mask: f32[2,1,1,4]) {
    %heads: i64[4] = constant dense(2, 4, 2, 3)
    %rows: i64[3] = constant dense(2, 4, 6)
    %root: f32[] = constant dense(2.0)
    %qr: f32[*] = Reshape(%q, %heads)
    %kr: f32[*] = Reshape(%k, %heads)
    %vr: f32[*] = Reshape(%v, %heads)
    %qh: f32[*] = Transpose(%qr) {perm = [0,2,1,3]}
    %kt: f32[*] = Transpose(%kr) {perm = [0,2,3,1]}
    %vh: f32[*] = Transpose(%vr) {perm = [0,2,1,3]}
)";
constexpr const char* kEnd = R"(
    %ctx: f32[*] = MatMul(%p, %vh)
    %t: f32[*] = Transpose(%ctx) {perm = [0,2,1,3]}
    %y: f32[*] = Reshape(%t, %rows)
    return %y
  })";
constexpr const char* kSignature = "(%q: f32[2,4,6], %k: f32[2,4,6], %v: f32[2,4,6], %mask: f32[2,1,1,4]) {";

TEST(RecogniseAttention, BertWithoutAnyTransposeLeft) {
  check_rewrite(recognise_attention, std::string(kHeads) + R"(
    %s: f32[*] = MatMul(%qh, %kt)
    %d: f32[*] = Div(%s, %root)
    %m: f32[*] = Add(%d, %mask)
    %p: f32[*] = Softmax(%m) {axis = -1}
  )" + kEnd,
                std::string(kSignature) + R"(
    %y: f32[*] = Attention(%q, %k, %v, %mask) {kv_num_heads = 2, q_num_heads = 2, scale = 0.5}
    return %y
  })");
}

TEST(RecogniseAttention, TorchScalesBothOperandsByTheRoot) {
  check_rewrite(recognise_attention, std::string(kHeads) + R"(
    %half: f32[] = constant dense(0.5)
    %qs: f32[*] = Mul(%qh, %half)
    %ks: f32[*] = Mul(%kt, %half)
    %s: f32[*] = MatMul(%qs, %ks)
    %p: f32[*] = Softmax(%s) {axis = -1}
    %nan: bool[*] = IsNaN(%p)
    %zero: f32[] = constant dense(0.0)
    %w: f32[*] = Where(%nan, %zero, %p)
    %ctx: f32[*] = MatMul(%w, %vh)
    %t: f32[*] = Transpose(%ctx) {perm = [0,2,1,3]}
    %y: f32[*] = Reshape(%t, %rows)
    return %y
  })",
                std::string(kSignature) + R"(
    %y: f32[*] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 2, scale = 0.25}
    return %y
  })");
}

TEST(RecogniseAttention, AConstantTriangleIsCausal) {
  for (const char* mask : {"%low: f32[] = constant dense(-3.4e+38)\n %see: bool[1,1,4,4] = constant dense(1, "
                           "0, 0, 0, 1, 1, 0, 0, 1, 1, 1, "
                           "0, 1, 1, 1, 1)\n %m: f32[*] = Where(%see, %s, %low)",
                           "%add: f32[4,4] = constant dense(0.0, -inf, -inf, -inf, 0.0, 0.0, -inf, -inf, "
                           "0.0, 0.0, 0.0, -inf, 0.0, 0.0, 0.0, "
                           "0.0)\n %m: f32[*] = Add(%s, %add)"}) {
    check_rewrite(recognise_attention,
                  std::string(kHeads) + "%s: f32[*] = MatMul(%qh, %kt)\n" + mask +
                      "\n%p: f32[*] = Softmax(%m) {axis = -1}" + kEnd,
                  std::string(kSignature) + R"(
      %y: f32[*] = Attention(%q, %k, %v) {is_causal = 1, kv_num_heads = 2, q_num_heads = 2, scale = 1.0}
      return %y
    })");
  }
}

// Kernels take some masks and not others: the target is asked about the one that there is.
TEST(RecogniseAttention, TheTargetIsAskedAboutTheMaskThatThereIs) {
  PassContext context = willing_target();
  context.target.runs = [](const graph::Graph& graph, const graph::Node& node) {
    return node.has_input(3) && graph.type(node.inputs[3]).shape() == Shape{4, 4};
  };
  const auto with_mask = [](const std::string& mask) {
    return std::string(kHeads) + "%add: " + mask + R"(
      %s: f32[*] = MatMul(%qh, %kt)
      %m: f32[*] = Add(%s, %add)
      %p: f32[*] = Softmax(%m) {axis = -1})" +
           kEnd;
  };
  check_left_alone(recognise_attention, with_mask("f32[1,4] = constant dense(0.0, 0.0, -1.0, 0.0)"),
                   "the target has no kernel for it", context);
  const PassOutcome outcome =
      run_pass(recognise_attention,
               graph_of(with_mask(
                   "f32[4,4] = constant dense(0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0, "
                   "0.0, 0.0, -1.0, 0.0)")),
               context);
  EXPECT_FALSE(outcome.done.empty());
}

TEST(RecogniseAttention, WeightsThatAreGivenOutStayAndItSaysSo) {
  check_left_alone(recognise_attention, std::string(kHeads) + R"(
    %s: f32[*] = MatMul(%qh, %kt)
    %p: f32[*] = Softmax(%s) {axis = -1}
    %ctx: f32[*] = MatMul(%p, %vh)
    return %ctx, %p
  })",
                   "'p', its weights, has other readers");
}

TEST(RecogniseAttention, OneProductOfQueriesKeysAndValuesIsSplitByRows) {
  // As timm writes it: [B,T,3,H,D] → [3,B,H,T,D], then one of each.
  check_rewrite(recognise_attention, R"((%x: f32[2,4,18]) {
    %five: i64[5] = constant dense(2, 4, 3, 2, 3)
    %rows: i64[3] = constant dense(2, 4, 6)
    %i0: i64[] = constant dense(0)
    %i1: i64[] = constant dense(1)
    %i2: i64[] = constant dense(2)
    %r: f32[*] = Reshape(%x, %five)
    %all: f32[*] = Transpose(%r) {perm = [2,0,3,1,4]}
    %qh: f32[*] = Gather(%all, %i0) {axis = 0}
    %kh: f32[*] = Gather(%all, %i1) {axis = 0}
    %vh: f32[*] = Gather(%all, %i2) {axis = 0}
    %kt: f32[*] = Transpose(%kh) {perm = [0,1,3,2]}
    %s: f32[*] = MatMul(%qh, %kt)
    %p: f32[*] = Softmax(%s) {axis = -1}
  )" + std::string(kEnd),
                R"((%x: f32[2,4,18]) {
    %parts: i64[3] = constant dense(6, 6, 6)
    %q: f32[*], %k: f32[*], %v: f32[*] = Split(%x, %parts) {axis = 2}
    %y: f32[*] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 2, scale = 1.0}
    return %y
  })");
}

TEST(RecogniseAttention, HeadsFoldedIntoTheBatch) {
  check_rewrite(recognise_attention,
                R"((%q: f32[2,4,6], %k: f32[2,4,6], %v: f32[2,4,6], %mask: f32[2,1,4,4]) {
    %heads: i64[4] = constant dense(2, 4, 2, 3)
    %folded: i64[3] = constant dense(4, 4, 3)
    %apart: i64[4] = constant dense(2, 2, 4, 4)
    %joined: i64[3] = constant dense(4, 4, 4)
    %back: i64[4] = constant dense(2, 2, 4, 3)
    %rows: i64[3] = constant dense(2, 4, 6)
    %qr: f32[*] = Reshape(%q, %heads)
    %kr: f32[*] = Reshape(%k, %heads)
    %vr: f32[*] = Reshape(%v, %heads)
    %qh: f32[*] = Transpose(%qr) {perm = [0,2,1,3]}
    %kh: f32[*] = Transpose(%kr) {perm = [0,2,1,3]}
    %vh: f32[*] = Transpose(%vr) {perm = [0,2,1,3]}
    %qf: f32[*] = Reshape(%qh, %folded)
    %kf: f32[*] = Reshape(%kh, %folded)
    %vf: f32[*] = Reshape(%vh, %folded)
    %kt: f32[*] = Transpose(%kf) {perm = [0,2,1]}
    %s: f32[*] = MatMul(%qf, %kt)
    %s4: f32[*] = Reshape(%s, %apart)
    %m: f32[*] = Add(%s4, %mask)
    %m3: f32[*] = Reshape(%m, %joined)
    %p: f32[*] = Softmax(%m3) {axis = -1}
    %c: f32[*] = MatMul(%p, %vf)
    %c4: f32[*] = Reshape(%c, %back)
    %t: f32[*] = Transpose(%c4) {perm = [0,2,1,3]}
    %y: f32[*] = Reshape(%t, %rows)
    return %y
  })",
                R"((%q: f32[2,4,6], %k: f32[2,4,6], %v: f32[2,4,6], %mask: f32[2,1,4,4]) {
    %y: f32[*] = Attention(%q, %k, %v, %mask) {kv_num_heads = 2, q_num_heads = 2, scale = 1.0}
    return %y
  })");
}

TEST(RecogniseAttention, OperandsThatAreNoRowsStayAsTheyAre) {
  check_rewrite(recognise_attention, R"((%q: f32[2,3,4,5], %k: f32[2,3,6,5], %v: f32[2,3,6,7]) {
    %kt: f32[*] = Transpose(%k) {perm = [0,1,3,2]}
    %s: f32[*] = MatMul(%q, %kt)
    %p: f32[*] = Softmax(%s)
    %y: f32[*] = MatMul(%p, %v)
    return %y
  })",
                R"((%q: f32[2,3,4,5], %k: f32[2,3,6,5], %v: f32[2,3,6,7]) {
    %y: f32[*] = Attention(%q, %k, %v) {scale = 1.0}
    return %y
  })");
}

TEST(RecogniseAttention, KeysRepeatedForGroupedQueriesAreReadOnce) {
  check_rewrite(recognise_attention, R"((%q: f32[1,4,12], %k: f32[1,4,6], %v: f32[1,4,6]) {
    %qs: i64[4] = constant dense(1, 4, 4, 3)
    %ks: i64[4] = constant dense(1, 4, 2, 3)
    %five: i64[5] = constant dense(1, 2, 2, 4, 3)
    %four: i64[4] = constant dense(1, 4, 4, 3)
    %axis: i64[1] = constant dense(2)
    %rows: i64[3] = constant dense(1, 4, 12)
    %qr: f32[*] = Reshape(%q, %qs)
    %kr: f32[*] = Reshape(%k, %ks)
    %vr: f32[*] = Reshape(%v, %ks)
    %qh: f32[*] = Transpose(%qr) {perm = [0,2,1,3]}
    %kh: f32[*] = Transpose(%kr) {perm = [0,2,1,3]}
    %vh0: f32[*] = Transpose(%vr) {perm = [0,2,1,3]}
    %ku: f32[*] = Unsqueeze(%kh, %axis)
    %vu: f32[*] = Unsqueeze(%vh0, %axis)
    %ke: f32[*] = Expand(%ku, %five)
    %ve: f32[*] = Expand(%vu, %five)
    %kf: f32[*] = Reshape(%ke, %four)
    %vh: f32[*] = Reshape(%ve, %four)
    %kt: f32[*] = Transpose(%kf) {perm = [0,1,3,2]}
    %s: f32[*] = MatMul(%qh, %kt)
    %p: f32[*] = Softmax(%s)
  )" + std::string(kEnd),
                R"((%q: f32[1,4,12], %k: f32[1,4,6], %v: f32[1,4,6]) {
    %y: f32[*] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 4, scale = 1.0}
    return %y
  })");
}

}  // namespace
}  // namespace hone::passes
