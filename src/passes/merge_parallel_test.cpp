#include "passes/merge_parallel.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(MergeParallel, PutsTheProjectionsOfOneAttentionSideBySide) {
  check_rewrite(merge_parallel, R"((%x: f32[1,3,2]) {
    %wq: f32[2,2] = constant dense(1.0, 2.0, 3.0, 4.0)
    %wk: f32[2,2] = constant dense(5.0, 6.0, 7.0, 8.0)
    %wv: f32[2,2] = constant dense(9.0, 10.0, 11.0, 12.0)
    %bq: f32[2] = constant dense(1.0, 2.0)
    %bk: f32[2] = constant dense(3.0, 4.0)
    %bv: f32[2] = constant dense(5.0, 6.0)
    %qm: f32[*] = MatMul(%x, %wq)
    %q: f32[*] = Add(%qm, %bq)
    %km: f32[*] = MatMul(%x, %wk)
    %k: f32[*] = Add(%km, %bk)
    %vm: f32[*] = MatMul(%x, %wv)
    %v: f32[*] = Add(%vm, %bv)
    %y: f32[*] = Attention(%q, %k, %v) {q_num_heads = 1, kv_num_heads = 1}
    return %y
  })",
                R"((%x: f32[1,3,2]) {
    %w: f32[2,6] = constant dense(1.0, 2.0, 5.0, 6.0, 9.0, 10.0, 3.0, 4.0, 7.0, 8.0, 11.0, 12.0)
    %b: f32[6] = constant dense(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    %widths: i64[3] = constant dense(2, 2, 2)
    %m: f32[*] = MatMul(%x, %w)
    %a: f32[*] = Add(%m, %b)
    %q: f32[*], %k: f32[*], %v: f32[*] = Split(%a, %widths) {axis = 2}
    %y: f32[*] = Attention(%q, %k, %v) {q_num_heads = 1, kv_num_heads = 1}
    return %y
  })");
}

TEST(MergeParallel, MergesProductsOfHalfTypes) {
  check_rewrite(merge_parallel, R"((%x: f16[1,2]) {
    %wa: f16[2,1] = constant hex"003c0040"
    %wb: f16[2,1] = constant hex"00420044"
    %a: f16[*] = MatMul(%x, %wa)
    %b: f16[*] = MatMul(%x, %wb)
    return %a, %b
  })",
                R"((%x: f16[1,2]) {
    %w: f16[2,2] = constant hex"003c004200400044"
    %widths: i64[2] = constant dense(1, 1)
    %m: f16[*] = MatMul(%x, %w)
    %a: f16[*], %b: f16[*] = Split(%m, %widths) {axis = 1}
    return %a, %b
  })");
}

TEST(MergeParallel, MergesNarrowProductsWithTheConversionsBehindThem) {
  check_rewrite(merge_parallel, R"((%x: bf16[1,2]) {
    %wa: bf16[2,1] = constant hex"803f0040"
    %wb: bf16[2,1] = constant hex"40408040"
    %a: bf16[*] = MatMul(%x, %wa)
    %c: f32[*] = Cast(%a) {to = 1}
    %b: bf16[*] = MatMul(%x, %wb)
    %d: f32[*] = Cast(%b) {to = 1}
    return %c, %d
  })",
                R"((%x: bf16[1,2]) {
    %w: bf16[2,2] = constant hex"803f404000408040"
    %widths: i64[2] = constant dense(1, 1)
    %m: bf16[*] = MatMul(%x, %w)
    %f: f32[*] = Cast(%m) {to = 1}
    %c: f32[*], %d: f32[*] = Split(%f, %widths) {axis = 1}
    return %c, %d
  })");
}

TEST(MergeParallel, MergesRowsOfWeightsOfGemm) {
  check_rewrite(merge_parallel, R"((%x: f32[1,2]) {
    %wa: f32[1,2] = constant dense(1.0, 2.0)
    %wb: f32[2,2] = constant dense(3.0, 4.0, 5.0, 6.0)
    %ba: f32[1] = constant dense(1.0)
    %bb: f32[2] = constant dense(2.0, 3.0)
    %a: f32[*] = Gemm(%x, %wa, %ba) {transB = 1}
    %b: f32[*] = Gemm(%x, %wb, %bb) {transB = 1}
    return %a, %b
  })",
                R"((%x: f32[1,2]) {
    %w: f32[3,2] = constant dense(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    %c: f32[3] = constant dense(1.0, 2.0, 3.0)
    %widths: i64[2] = constant dense(1, 2)
    %g: f32[*] = Gemm(%x, %w, %c) {transB = 1}
    %a: f32[*], %b: f32[*] = Split(%g, %widths) {axis = 1}
    return %a, %b
  })");
}

constexpr const char* kBranches = R"(
    %wa: f32[2,1,1,1] = constant dense(1.0, 2.0)
    %wb: f32[1,1,1,1] = constant dense(3.0)
    %s: f32[2,1,1] = constant dense(0.5, 0.25)
    %t: f32[1,1,1] = constant dense(0.125)
    %a: f32[*] = Conv(%x, %wa)
    %b: f32[*] = Conv(%x, %wb)
)";

TEST(MergeParallel, TakesWhatFollowsAlongWhereItIsTheSame) {
  check_rewrite(merge_parallel, "(%x: f32[1,1,2,2]) {" + std::string(kBranches) + R"(
    %ra: f32[*] = Relu(%a)
    %rb: f32[*] = Relu(%b)
    return %ra, %rb
  })",
                R"((%x: f32[1,1,2,2]) {
    %w: f32[3,1,1,1] = constant dense(1.0, 2.0, 3.0)
    %widths: i64[2] = constant dense(2, 1)
    %c: f32[*] = Conv(%x, %w)
    %r: f32[*] = Relu(%c)
    %ra: f32[*], %rb: f32[*] = Split(%r, %widths) {axis = 1}
    return %ra, %rb
  })");
}

TEST(MergeParallel, SaysWhyBranchesStayApart) {
  const auto left_alone = [](const char* batch, const char* end, const char* why, Layout layout) {
    PassContext context = willing_target();
    context.target.takes.convolution_layout = layout;
    check_left_alone(merge_parallel, "(%x: f32[" + std::string(batch) + ",1,2,2]) {" + kBranches + end, why,
                     context);
  };
  left_alone("2", "return %a, %b }", "would have to be copied", Layout::kPlain);
  left_alone("1", "return %a, %b }", "would have to be copied", Layout::kBlocked16);
  left_alone("1", "%ra: f32[*] = Relu(%a) return %ra, %b }", "what follows them differs", Layout::kPlain);
  left_alone("1", "%rb: f32[*] = Mul(%b, %x) return %a, %rb }", "better computed behind its own product",
             Layout::kPlain);
  left_alone("1", "%j: f32[*] = Concat(%a, %x) {axis = 1} return %j, %b }", "would have to be copied",
             Layout::kPlain);
}

TEST(MergeParallel, LeavesOtherConvolutionsAlone) {
  check_left_alone(merge_parallel, R"((%x: f32[1,2,4,4]) {
    %wa: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %wb: f32[2,1,1,1] = constant dense(1.0, 2.0)
    %a: f32[*] = Conv(%x, %wa)
    %b: f32[*] = Conv(%x, %wb) {group = 2}
    %c: f32[*] = Conv(%x, %wa) {strides = [2,2]}
    return %a, %b, %c
  })");
}

}  // namespace
}  // namespace hone::passes
