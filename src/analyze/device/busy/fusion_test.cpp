// What fusion would not have: which passes over memory go, which one stays, and what stays out of it.
#include "analyze/device/busy/fusion.h"

#include <cmath>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

WorkWords pass(double us, std::string inputs = "bf16[1024,1024]") {
  return {.inputs = std::move(inputs), .us = us};
}

WorkWords cast(double us, std::string inputs = "bf16[1024,1024] f32[1024,1024]") {
  return {.kind = "aten::copy_", .inputs = std::move(inputs), .us = us};
}

// Work that nothing fuses with.
WorkWords product() {
  return {.kind = "aten::mm",
          .op_class = OperatorClass::kMatrix,
          .inputs = "bf16[1024,1024] bf16[1024,1024]",
          .flops = 7.772e10,
          .us = 150};
}

void expect_gone(const WorkSplit& split, Rule rule) {
  EXPECT_EQ(split.cause(), Cause::kAvoidableTraffic);
  EXPECT_EQ(split.rule, rule);
  EXPECT_EQ(split.target_ns, kGone);
  EXPECT_EQ(split.of(Cause::kAvoidableTraffic), 1);
}

// What it needs is known, or not.
void expect_stays(const WorkSplit& split) {
  EXPECT_TRUE(split.cause() == Cause::kFloor || split.cause() == Cause::kUnjudged)
      << cause_name(split.cause());
}

TEST(Chain, KeepsItsLongestPass) {
  Works made;
  const uint32_t first = made.run(pass(10)), longest = made.run(pass(20)), last = made.run(pass(15));
  made.end_step();
  const BusySplit split = made.split();
  expect_gone(split.works[first], Rule::kUnfusedChain);
  expect_stays(split.works[longest]);
  expect_gone(split.works[last], Rule::kUnfusedChain);
}

TEST(Chain, EndsAtOtherWorkAtOtherSizesAndWithTheStep) {
  Works made;
  made.run(pass(10));
  made.run(product());
  made.run(pass(11));
  made.run(pass(12, "bf16[1024,4096]"));
  made.end_step();
  made.run(pass(13, "bf16[1024,4096]"));
  made.end_step();
  for (const WorkSplit& work : made.split().works) EXPECT_NE(work.rule, Rule::kUnfusedChain);
}

TEST(Chain, GoesOnBehindWhatIsSmallBesideIt) {
  Works made;
  const uint32_t first = made.run(pass(10));
  const uint32_t counters = made.run({.kind = "aten::fill_", .inputs = "i32[132]", .us = 1});
  const uint32_t longest = made.run(pass(20));
  made.end_step();
  const BusySplit split = made.split();
  expect_gone(split.works[first], Rule::kUnfusedChain);
  EXPECT_NE(split.works[counters].rule, Rule::kUnfusedChain);
  expect_stays(split.works[longest]);
}

TEST(Chain, IsNoLoopOverSeveralTensors) {
  Works made;
  const uint32_t first = made.run(pass(10));
  std::vector<uint32_t> loop;
  for (int turn = 0; turn < 6; ++turn)
    loop.push_back(turn == 0 ? made.run({.kind = "aten::gather", .inputs = "bf16[1024,1024]"})
                             : made.also(10, "a_kernel"));
  const uint32_t last = made.run(pass(20));
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t turn : loop) EXPECT_NE(split.works[turn].rule, Rule::kUnfusedChain);
  EXPECT_NE(split.works[first].rule, Rule::kUnfusedChain);
  EXPECT_NE(split.works[last].rule, Rule::kUnfusedChain);
}

TEST(Chain, OfATensorThatIsMadeAndReducedAgainKeepsOnlyItsArithmetic) {
  Works made;
  // 1024 × 1024 differences of 1024 values each: never larger than their inputs but in memory.
  WorkWords minus = pass(50, "f32[1024,1] f32[1,1024]"), square = pass(80, "f32[1024,1024]");
  WorkWords sum = pass(40, "f32[1024,1024]");
  sum.op_class = OperatorClass::kReduction;
  for (WorkWords* words : {&minus, &square, &sum}) words->flops = 51.1e3;  // 1 ns each
  const uint32_t first = made.run(minus), longest = made.run(square), last = made.run(sum);
  made.end_step();
  const BusySplit split = made.split();
  expect_gone(split.works[first], Rule::kUnfusedChain);
  expect_gone(split.works[longest], Rule::kUnfusedChain);
  const WorkSplit& kept = split.works[last];
  EXPECT_EQ(kept.cause(), Cause::kAvoidableTraffic);
  EXPECT_EQ(kept.rule, Rule::kUnfusedChain);
  EXPECT_NEAR(kept.target_ns, 3 / 0.6, 1e-6);
  EXPECT_NEAR(kept.of(Cause::kFloor) * 40'000, kept.target_ns, 1e-6);
}

TEST(Chain, ThatOnlyReducesOrOnlyExpandsKeepsItsLongestPass) {
  Works made;
  WorkWords sum = pass(40, "f32[1024,1024]");
  sum.op_class = OperatorClass::kReduction;
  made.run(pass(50, "f32[1024,1024]"));
  made.run(sum);
  made.run(product());
  made.run(pass(50, "f32[1024,1] f32[1,1024]"));
  made.run(pass(40, "f32[1024,1024]"));
  made.end_step();
  const BusySplit split = made.split();
  expect_stays(split.works[0]);
  expect_gone(split.works[1], Rule::kUnfusedChain);
  expect_stays(split.works[3]);
  expect_gone(split.works[4], Rule::kUnfusedChain);
}

TEST(Chain, WhoseArithmeticIsNotKnownKeepsItsReduction) {
  Works made;
  WorkWords sum = pass(40, "f32[1024,1024]");
  sum.op_class = OperatorClass::kReduction;
  const uint32_t first = made.run(pass(50, "f32[1024,1] f32[1,1024]")), last = made.run(sum);
  made.end_step();
  const BusySplit split = made.split();
  expect_gone(split.works[first], Rule::kUnfusedChain);
  expect_stays(split.works[last]);
}

TEST(Chain, WithAWorkOfNoTimeHasSharesThatAddUp) {
  Works made;
  WorkWords expand = pass(50, "f32[1024,1] f32[1,1024]"), sum = pass(0, "f32[1024,1024]");
  sum.op_class = OperatorClass::kReduction;
  expand.flops = sum.flops = 1e6;
  made.run(expand);
  made.run(sum);
  made.end_step();
  for (const WorkSplit& work : made.split().works) {
    double sum_of_shares = 0;
    for (const double share : work.share) sum_of_shares += share;
    EXPECT_NEAR(sum_of_shares, 1, 1e-9);
  }
}

TEST(Chain, LeavesLayoutWorksToTheirCause) {
  Works made;
  made.run(pass(10));
  const uint32_t copy =
      made.run({.kind = "aten::copy_", .inputs = "bf16[1024,1024] bf16[1024,1024]{1,1024}", .us = 8});
  const uint32_t longest = made.run(pass(20));
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_EQ(split.works[copy].cause(), Cause::kLayout);
  EXPECT_EQ(split.works[copy].rule, Rule::kStridedCopies);
  expect_gone(split.works[0], Rule::kUnfusedChain);
  expect_stays(split.works[longest]);
}

// What changes the layout goes by itself: the pass that the others are joined with is another.
TEST(Chain, DoesNotStayInALayoutWorkThatGoes) {
  Works made;
  made.run({.kind = "aten::copy_", .inputs = "bf16[1024,1024] bf16[1024,1024]{1,1024}", .us = 40});
  const uint32_t shorter = made.run(pass(10)), longest = made.run(pass(20));
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_EQ(split.works[0].cause(), Cause::kLayout);
  expect_gone(split.works[shorter], Rule::kUnfusedChain);
  expect_stays(split.works[longest]);
}

TEST(Chain, IsNoneOfGeneratedKernelsOrOfTheOptimizer) {
  Works made;
  for (int i = 0; i < 3; ++i) {
    WorkWords words = pass(10);
    words.kernel = "triton_poi_fused_mul_" + std::to_string(i);
    made.run(words);
  }
  for (int i = 0; i < 3; ++i) {
    WorkWords words = pass(10);
    words.phase = trace::Phase::kOptimizer;
    made.run(words);
  }
  made.end_step();
  for (const WorkSplit& work : made.split().works) expect_stays(work);
}

TEST(Cast, AloneIsACast) {
  Works made;
  const uint32_t alone = made.run(cast(10));
  made.end_step();
  expect_gone(made.split().works[alone], Rule::kLoneCasts);
}

TEST(Cast, WithinAChainIsPartOfIt) {
  Works made;
  const uint32_t within = made.run(cast(10)), longest = made.run(pass(20));
  made.run(product());
  const uint32_t longest_cast = made.run(cast(20)), shorter = made.run(pass(10));
  made.end_step();
  const BusySplit split = made.split();
  expect_gone(split.works[within], Rule::kUnfusedChain);
  expect_stays(split.works[longest]);
  expect_stays(split.works[longest_cast]);
  expect_gone(split.works[shorter], Rule::kUnfusedChain);
}

// f32 without matrix units among products in 16 bits.
WorkWords leak() {
  WorkWords words = product();
  words.dtype = DType::kF32;
  words.inputs = "f32[1024,1024] f32[1024,64]";
  words.flops = 1e9;
  words.us = 50;
  words.kernel = "cutlass_simt_sgemm";
  return words;
}

TEST(Cast, OfWhatALeakingProductReadsGoesWithTheLeak) {
  Works made;
  made.run(product());
  const uint32_t of_leak = made.run(cast(10));
  const uint32_t leaks = made.run(leak());
  const uint32_t other = made.run(cast(10, "bf16[512,1024] f32[512,1024]"));
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_EQ(split.works[leaks].rule, Rule::kF32Among16Bits);
  EXPECT_EQ(split.works[of_leak].cause(), Cause::kPrecision);
  EXPECT_EQ(split.works[of_leak].rule, Rule::kF32Among16Bits);
  EXPECT_EQ(split.works[of_leak].target_ns, kGone);
  expect_gone(split.works[other], Rule::kLoneCasts);
}

TEST(Cast, WithoutALeakIsNone) {
  Works made;
  made.run(product());
  const uint32_t alone = made.run(cast(10));
  made.run(product());
  made.end_step();
  expect_gone(made.split().works[alone], Rule::kLoneCasts);
}

// A pass over one tensor in rows and one in columns, far below its roof for that reason.
WorkWords mixed_pass() {
  return {.inputs = "f32[4,1024,1024] f32[4,1024,1024]{1048576,1,1024}", .bytes = 42.24e6, .us = 30};
}

TEST(Chain, OfManyPassesTakesThoseOverMixedOrdersWithIt) {
  for (const int passes : {3, 6}) {
    Works made;
    made.run(pass(40, "f32[4,1024,1024]"));
    for (int i = 1; i < passes; ++i) made.run(mixed_pass());
    made.end_step();
    const BusySplit split = made.split();
    expect_stays(split.works[0]);
    for (int i = 1; i < passes; ++i)
      EXPECT_EQ(split.works[static_cast<std::size_t>(i)].rule,
                passes == 3 ? Rule::kMixedOrders : Rule::kUnfusedChain);
  }
}

}  // namespace
}  // namespace hone::analyze::device
