// Who keeps a work that several rules claim, and what becomes of its time.
#include "analyze/device/busy/claims.h"

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

std::vector<WorkSplit> resolved(std::size_t works, const Claims& claims) {
  return resolve(works, std::vector<Claims>{claims});
}

TEST(Claims, WorksThatNobodyClaimsAreNeeded) {
  const WorkSplit split = resolved(1, {}).at(0);
  EXPECT_EQ(split.cause(), Cause::kFloor);
  EXPECT_EQ(split.of(Cause::kFloor), 1);
}

TEST(Claims, DivideAWorkOnceAndForAll) {
  const WorkSplit split = resolved(1, {{Rule::kTf32Products, {{0, 500, 0.25, 0.15}}}}).at(0);
  EXPECT_EQ(split.cause(), Cause::kPrecision);
  EXPECT_EQ(split.target_ns, 500);
  EXPECT_EQ(split.of(Cause::kFloor), 0.25);
  EXPECT_NEAR(split.of(Cause::kPrecision), 0.6, 1e-12);
  EXPECT_EQ(split.of(Cause::kKernelInefficiency), 0.15);
}

// Whoever asks first: the rows of the rules say who goes before whom.
TEST(Claims, OfTheRuleOfHigherPrecedenceKeepTheWork) {
  const Claim chain{Rule::kUnfusedChain, {removed(0), removed(1)}};
  const Claim attention{Rule::kAttentionByHand, {removed(1)}};
  for (const Claims& claims : {Claims{chain, attention}, Claims{attention, chain}}) {
    const std::vector<WorkSplit> splits = resolved(2, claims);
    EXPECT_EQ(splits[0].rule, Rule::kUnfusedChain);
    EXPECT_EQ(splits[1].rule, Rule::kAttentionByHand);
  }
}

TEST(Claims, OfEqualPrecedenceLeaveTheWorkToTheFirst) {
  const Claims claims = {{Rule::kStridedCopies, {removed(0)}}, {Rule::kWrittenBroadcasts, {removed(0)}}};
  EXPECT_EQ(resolved(1, claims).at(0).rule, Rule::kStridedCopies);
}

// Products are joined, or they are not.
TEST(Claims, ThatNeedAllOfTheirWorksFallWhereOneIsAnothers) {
  const Claim joined{Rule::kProductsInTurn, {{0, 10, 0.5}, {1, kGone, 0.5}}};
  const Claim merged{Rule::kMergedWeights, {removed(1)}};
  EXPECT_EQ(resolved(2, {joined}).at(0).rule, Rule::kProductsInTurn);
  const std::vector<WorkSplit> splits = resolved(2, {joined, merged});
  EXPECT_EQ(splits[0].rule, Rule::kFloor);
  EXPECT_EQ(splits[1].rule, Rule::kMergedWeights);
}

// A product that a fused kernel does too stays above its floor for what it does now.
TEST(Claims, OfWorksThatOnlyGoAlongLeaveTheirTimeWhereItIs) {
  const Claims claims = {{Rule::kSlowKernels, {{0, 600, 0.4}}}, {Rule::kAttentionByHand, {along(0)}}};
  const WorkSplit split = resolved(1, claims).at(0);
  EXPECT_EQ(split.rule, Rule::kAttentionByHand);
  EXPECT_EQ(split.target_ns, kGone);
  EXPECT_EQ(split.of(Cause::kFloor), 0.4);
  EXPECT_EQ(split.of(Cause::kKernelInefficiency), 0.6);
}

// Rows of other causes have no share in busy time, whatever a finder says of it.
TEST(Claims, OfCausesBesideBusyTimeLeaveTheTimeWhereItIs) {
  const Claims claims = {{Rule::kSlowKernels, {{0, 600, 0.4}}}, {Rule::kWideSums, {removed(0)}}};
  const WorkSplit split = resolved(1, claims).at(0);
  EXPECT_EQ(split.cause(), Cause::kComm);
  EXPECT_EQ(split.of(Cause::kFloor), 0.4);
  EXPECT_EQ(split.of(Cause::kKernelInefficiency), 0.6);
}

}  // namespace
}  // namespace hone::analyze::device
