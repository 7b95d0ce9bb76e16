#include "analyze/top.h"

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/fabricate.h"

namespace hone::analyze {
namespace {

using fabricate::op;
using trace::OperatorClass;

TEST(Floor, IsTheLargerOfComputeAndMemoryTime) {
  Roofs roofs = fabricate::round_roofs();
  CostContext context{roofs, 2, false};
  Bound compute =
      operator_floor(op("m", "MatMul", OperatorClass::kMatrix, 2e9, 1e6, 1e6), context, Bytes::kAll);
  EXPECT_DOUBLE_EQ(compute.ms(), 10);
  EXPECT_FALSE(compute.memory_bound());
  Bound memory =
      operator_floor(op("r", "Relu", OperatorClass::kPointwise, 1e6, 30e6, 30e6), context, Bytes::kAll);
  // 2 of 60 MB may be in L2 and 30 in L3.
  EXPECT_DOUBLE_EQ(memory.ms(), (2e6 / 200e9 + 30e6 / 100e9 + 28e6 / 30e9) * 1e3);
  EXPECT_EQ(memory.memory_level, "DRAM");
  Bound cached =
      operator_floor(op("r", "Relu", OperatorClass::kPointwise, 1e6, 5e6, 5e6), context, Bytes::kAll);
  EXPECT_DOUBLE_EQ(cached.ms(), (2e6 / 200e9 + 8e6 / 100e9) * 1e3);
  EXPECT_EQ(cached.memory_level, "L3");
}

TEST(Floor, ReadsWeightsFromMemoryWhenTheModelIsLargerThanTheCache) {
  Roofs roofs = fabricate::round_roofs();
  trace::Trace trace;
  trace::Operator gemv = op("fc", "Gemm", OperatorClass::kMatrix, 2e6, 4e6, 1e3);
  gemv.constant_bytes = 3e6;
  for (int i = 0; i < 20; ++i) trace.add_operator(gemv);
  CostContext context = cost_context(trace, roofs, 2);
  EXPECT_TRUE(context.weights_stream);
  Bound floor = operator_floor(gemv, context, Bytes::kAll);
  EXPECT_EQ(floor.memory_level, "DRAM");
  EXPECT_NEAR(floor.memory_ms, 3e6 / 30e9 * 1e3 + 1.001e6 / 200e9 * 1e3, 1e-9);
}

// A convolution of 2 GFLOP that Winograd's algorithm does with 0.6; `kernel` runs it with 0.64.
trace::Operator convolution(bool winograd) {
  trace::Operator conv = op("conv", "Conv", OperatorClass::kConvolution, 2e9, 1e6, 1e6);
  conv.least_flops = 6e8;
  if (winograd) {
    conv.executed_flops = 6.4e8;
    conv.algorithm = "Winograd F(4x4,3x3)";
  }
  return conv;
}

TEST(Floor, IsThatOfTheCheapestAlgorithmWhateverKernelRuns) {
  Roofs roofs = fabricate::round_roofs();
  CostContext context{roofs, 2, false};
  for (bool winograd : {false, true}) {
    trace::Operator conv = convolution(winograd);
    EXPECT_DOUBLE_EQ(operator_floor(conv, context, Bytes::kAll).ms(), 3);
    EXPECT_DOUBLE_EQ(kernel_roof(conv, context, Bytes::kAll).ms(), winograd ? 3.2 : 10);
  }
}

TEST(Floor, LeavesOutWhatFusionWouldNotMove) {
  Roofs roofs = fabricate::round_roofs();
  CostContext context{roofs, 2, false};
  trace::Operator add = op("add", "Add", OperatorClass::kPointwise, 1, 4e5, 2e5);
  add.avoidable_bytes = 4e5;  // one of its operands, which its producer writes and it reads; the other stays
  EXPECT_DOUBLE_EQ(operator_floor(add, context, Bytes::kUnavoidable).ms(), 2e5 / 200e9 * 1e3);
  EXPECT_DOUBLE_EQ(operator_floor(add, context, Bytes::kAll).ms(), 6e5 / 200e9 * 1e3);
}

Analysis one_operator(const trace::Operator& only, double ms) {
  fabricate::Timeline timeline({only});
  for (int step = 0; step < 10; ++step) {
    timeline.begin_step();
    timeline.run(0, ms);
    timeline.end_step();
  }
  Roofs roofs = fabricate::round_roofs();
  return *analyze_trace(timeline.trace(), roofs, {});
}

std::string why_of(const trace::Operator& only, double ms) { return one_operator(only, ms).top.at(0).why; }

TEST(Why, SpeaksOfBytesWhereMemoryIsTheRoof) {
  std::string words = why_of(op("relu", "Relu", OperatorClass::kPointwise, 7.5e6, 30e6, 30e6), 4);
  EXPECT_NE(words.find("memory-bound at 0.12 FLOP/byte"), std::string::npos) << words;
  EXPECT_NE(words.find("57.2 MiB"), std::string::npos) << words;
  EXPECT_NE(words.find("15.0 GB/s"), std::string::npos) << words;
  EXPECT_NE(words.find("31.1 % of this machine's DRAM roof"), std::string::npos) << words;
}

// What an operator is said to lose in starting threads is never more than it takes.
TEST(Why, SaysThatAnOperatorIsShorterThanStartingThreadsWouldBe) {
  const trace::Operator tiny = op("sum", "Add", OperatorClass::kPointwise, 64, 260, 4);
  const Roofs roofs = fabricate::round_roofs();
  const double region_ms = (roofs.thread_start.median + roofs.barrier.median) * 1e3;
  ASSERT_GT(region_ms, 0);
  const std::string shorter = why_of(tiny, region_ms / 4);
  EXPECT_NE(shorter.find("less than starting and joining them would"), std::string::npos) << shorter;
  const std::string longer = why_of(tiny, region_ms * 1.5);
  EXPECT_NE(longer.find("of which starting and joining them is about"), std::string::npos) << longer;
}

TEST(Why, SpeaksOfArithmeticWhereComputeIsTheRoof) {
  trace::Operator conv = op("conv", "Conv", OperatorClass::kConvolution, 2e9, 1e6, 1e6);
  conv.geometry = "3×3 convolution, 64 → 64 channels";
  conv.implementation = "onednn:jit";
  std::string words = why_of(conv, 20);
  EXPECT_EQ(words.find("3×3 convolution, 64 → 64 channels: compute-bound"), 0u) << words;
  EXPECT_NE(words.find("50.0 % of the f32 roof"), std::string::npos) << words;
  EXPECT_NE(words.find("onednn:jit"), std::string::npos) << words;
}

TEST(Why, SaysWhichAlgorithmRanOrWouldNeedLess) {
  std::string direct = why_of(convolution(false), 10.5);
  EXPECT_NE(direct.find("95.2 % of the f32 roof"), std::string::npos) << direct;
  EXPECT_NE(direct.find("Winograd's algorithm needs 3.3 times fewer"), std::string::npos) << direct;
  std::string winograd = why_of(convolution(true), 6.4);
  EXPECT_NE(winograd.find("50.0 % of the f32 roof (100 GFLOP/s"), std::string::npos) << winograd;
  EXPECT_NE(winograd.find("by Winograd F(4x4,3x3): a direct kernel would need 313 GFLOP/s"),
            std::string::npos)
      << winograd;
}

TEST(Why, NamesThePartnerOfAFusion) {
  trace::Operator relu = op("relu", "Relu", OperatorClass::kPointwise, 7.5e6, 30e6, 30e6);
  relu.avoidable_bytes = relu.bytes();
  relu.fuses_with = "conv_7";
  EXPECT_NE(why_of(relu, 4).find("fuse with conv_7"), std::string::npos);
}

TEST(Why, SaysThatAnOperatorIsTooSmallOrOfUnknownCost) {
  EXPECT_NE(why_of(op("a", "Add", OperatorClass::kPointwise, 100, 400, 400), 0.004).find("too small"),
            std::string::npos);
  EXPECT_NE(why_of(op("a", "Custom", OperatorClass::kOther, 0, 0, 0), 4).find("not known"),
            std::string::npos);
}

TEST(Top, RanksByTimeAndNeverExceedsTheRoof) {
  // Faster than the roofs allow.
  Analysis analysis = one_operator(op("relu", "Relu", OperatorClass::kPointwise, 7.5e6, 30e6, 30e6), 1);
  EXPECT_DOUBLE_EQ(analysis.top[0].fraction_of_roof, 1);
  EXPECT_NEAR(analysis.top[0].floor_ms, 1.243, 1e-3);
  EXPECT_EQ(analysis.top[0].rank, 1);
  EXPECT_EQ(analysis.operators.size(), 1u);
  EXPECT_EQ(analysis.roofline.size(), 1u);
  EXPECT_EQ(analysis.timeline.size(), 1u);
}

}  // namespace
}  // namespace hone::analyze
