#include "passes/fold_batch_norm.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

constexpr const char* kParameters = R"(
    %w: f32[2,1,1,1] = constant dense(1.0, 2.0)
    %s: f32[2] = constant dense(4.0, 6.0)
    %b: f32[2] = constant dense(1.0, -1.0)
    %m: f32[2] = constant dense(0.5, 0.0)
    %v: f32[2] = constant dense(4.0, 9.0)
)";

TEST(FoldBatchNorm, ScalesTheWeightsAndMakesABias) {
  check_rewrite(fold_batch_norm, std::string("(%x: f32[1,1,3,3]) {") + kParameters + R"(
    %c: f32[*] = Conv(%x, %w)
    %y: f32[*] = BatchNormalization(%c, %s, %b, %m, %v) {epsilon = 0.0}
    return %y
  })",
                R"((%x: f32[1,1,3,3]) {
    %w: f32[2,1,1,1] = constant dense(2.0, 4.0)
    %b: f32[2] = constant dense(0.0, -1.0)
    %y: f32[*] = Conv(%x, %w, %b)
    return %y
  })");
}

// ConvTranspose's weights are [C, M/groups, k…]: the output channel is the second axis, within each group.
TEST(FoldBatchNorm, ScalesTheOutputChannelsOfATransposedConvolution) {
  check_rewrite(fold_batch_norm, R"((%x: f32[1,1,3,3]) {
    %w: f32[1,2,1,1] = constant dense(1.0, 2.0)
    %s: f32[2] = constant dense(4.0, 6.0)
    %b: f32[2] = constant dense(1.0, -1.0)
    %m: f32[2] = constant dense(0.5, 0.0)
    %v: f32[2] = constant dense(4.0, 9.0)
    %c: f32[*] = ConvTranspose(%x, %w)
    %y: f32[*] = BatchNormalization(%c, %s, %b, %m, %v) {epsilon = 0.0}
    return %y
  })",
                R"((%x: f32[1,1,3,3]) {
    %w: f32[1,2,1,1] = constant dense(2.0, 4.0)
    %b: f32[2] = constant dense(0.0, -1.0)
    %y: f32[*] = ConvTranspose(%x, %w, %b)
    return %y
  })");
}

TEST(FoldBatchNorm, ScalesEachGroupOfATransposedConvolutionByItsOwnChannels) {
  check_rewrite(fold_batch_norm, R"((%x: f32[1,2,3,3]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 1.0, 1.0, 1.0)
    %s: f32[4,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %c: f32[*] = ConvTranspose(%x, %w) {group = 2}
    %y: f32[*] = Mul(%c, %s)
    return %y
  })",
                R"((%x: f32[1,2,3,3]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %b: f32[4] = constant dense(0.0, 0.0, 0.0, 0.0)
    %y: f32[*] = ConvTranspose(%x, %w, %b) {group = 2}
    return %y
  })");
}

TEST(FoldBatchNorm, LeavesAResultWithOtherReadersAndSaysSo) {
  const graph::Graph before = graph_of(std::string("(%x: f32[1,1,3,3]) {") + kParameters + R"(
    %c: f32[*] = Conv(%x, %w)
    %y: f32[*] = BatchNormalization(%c, %s, %b, %m, %v) {epsilon = 0.0}
    %z: f32[*] = Add(%c, %y)
    return %z
  })");
  const PassOutcome outcome = run_pass(fold_batch_norm, before);
  ASSERT_EQ(outcome.missed.size(), 1U);
  EXPECT_NE(outcome.missed[0].text.find("2 readers"), std::string::npos) << outcome.missed[0].text;
}

}  // namespace
}  // namespace hone::passes
