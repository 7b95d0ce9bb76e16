#include "passes/keep_attention_sums.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

// A target that has every kernel, or none for what keeps sums.
PassContext target_with(bool sums) {
  PassContext context = willing_target();
  context.target.runs = [sums](const graph::Graph&, const graph::Node& node) {
    return sums || node.op != "hone.AttentionWithSums";
  };
  return context;
}

constexpr const char* kStep = R"((%q: bf16[2,3,8,16], %k: bf16[2,3,8,16], %d: bf16[2,3,8,16]) {
    %y: bf16[*] = Attention(%q, %k, %k) {is_causal = 1}
    %dq: bf16[*], %dk: bf16[*], %dv: bf16[*] = hone.AttentionGradient(%q, %k, %k, none, %d) {is_causal = 1}
    return %y, %dq, %dk, %dv
  })";

TEST(KeepAttentionSums, GivesTheGradientTheResultAndItsSums) {
  check_rewrite(keep_attention_sums, kStep, R"((%q: bf16[2,3,8,16], %k: bf16[2,3,8,16], %d: bf16[2,3,8,16]) {
    %y: bf16[*], %s: f32[*] = hone.AttentionWithSums(%q, %k, %k) {is_causal = 1}
    %dq: bf16[*], %dk: bf16[*], %dv: bf16[*] = hone.AttentionGradient(%q, %k, %k, none, %d, %y, %s) {is_causal = 1}
    return %y, %dq, %dk, %dv
  })",
                target_with(true));
}

TEST(KeepAttentionSums, LeavesAStepAloneWhoseTargetHasNoSuchKernel) {
  check_left_alone(keep_attention_sums, kStep, "", target_with(false));
}

TEST(KeepAttentionSums, TellsOfAGradientOfAnotherAttention) {
  check_left_alone(keep_attention_sums, R"((%q: bf16[2,3,8,16], %k: bf16[2,3,8,16], %d: bf16[2,3,8,16]) {
    %y: bf16[*] = Attention(%q, %k, %k) {is_causal = 1}
    %dq: bf16[*], %dk: bf16[*], %dv: bf16[*] = hone.AttentionGradient(%q, %k, %k, none, %d)
    return %y, %dq, %dk, %dv
  })",
                   "computed again", target_with(true));
}

}  // namespace
}  // namespace hone::passes
