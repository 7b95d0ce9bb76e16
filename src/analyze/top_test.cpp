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
  Floor compute =
      operator_floor(op("m", "MatMul", OperatorClass::kMatrix, 2e9, 1e6, 1e6), context, Bytes::kAll);
  EXPECT_DOUBLE_EQ(compute.ms(), 10);
  EXPECT_FALSE(compute.memory_bound());
  Floor memory =
      operator_floor(op("r", "Relu", OperatorClass::kPointwise, 1e6, 30e6, 30e6), context, Bytes::kAll);
  EXPECT_DOUBLE_EQ(memory.ms(), 2);
  EXPECT_EQ(memory.memory_level, "DRAM");
  Floor cached =
      operator_floor(op("r", "Relu", OperatorClass::kPointwise, 1e6, 5e6, 5e6), context, Bytes::kAll);
  EXPECT_DOUBLE_EQ(cached.ms(), 0.1);
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
  Floor floor = operator_floor(gemv, context, Bytes::kAll);
  EXPECT_EQ(floor.memory_level, "DRAM");
  EXPECT_NEAR(floor.memory_ms, 3e6 / 30e9 * 1e3 + 1.001e6 / 200e9 * 1e3, 1e-9);
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
  EXPECT_NE(words.find("50.0 % of this machine's DRAM roof"), std::string::npos) << words;
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
  // Faster than its DRAM floor, because the data came from a cache.
  Analysis analysis = one_operator(op("relu", "Relu", OperatorClass::kPointwise, 7.5e6, 30e6, 30e6), 1);
  EXPECT_DOUBLE_EQ(analysis.top[0].fraction_of_roof, 1);
  EXPECT_DOUBLE_EQ(analysis.top[0].floor_ms, 1);
  EXPECT_EQ(analysis.top[0].rank, 1);
  EXPECT_EQ(analysis.operators.size(), 1u);
  EXPECT_EQ(analysis.roofline.size(), 1u);
  EXPECT_EQ(analysis.timeline.size(), 1u);
}

}  // namespace
}  // namespace hone::analyze
