#include "analyze/beaten.h"

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/fabricate.h"

namespace hone::analyze {
namespace {

using trace::OperatorClass;

// Three operators of 2 GFLOP, 10 ms each at the roof of 200 GFLOP/s, and what they took.
Analysis products(std::vector<double> ms) {
  std::vector<trace::Operator> operators;
  for (std::size_t i = 0; i < ms.size(); ++i)
    operators.push_back(
        fabricate::op("product" + std::to_string(i), "MatMul", OperatorClass::kMatrix, 2e9, 1e6, 1e6));
  fabricate::Timeline timeline(operators);
  for (int step = 0; step < 10; ++step) {
    timeline.begin_step();
    for (uint32_t i = 0; i < ms.size(); ++i) timeline.run(i, ms[i]);
    timeline.end_step();
  }
  return *analyze_trace(timeline.trace(), fabricate::round_roofs(), {});
}

TEST(BeatenRoofs, NamesWhoWasFasterAndByHowMuch) {
  const Analysis analysis = products({9, 12, 8});
  ASSERT_EQ(analysis.beaten_roofs.size(), 2U);
  EXPECT_EQ(analysis.beaten_roofs[0].name, "product2") << "the furthest beyond first";
  EXPECT_NEAR(analysis.beaten_roofs[0].factor(), 1.25, 1e-6);
  EXPECT_EQ(analysis.beaten_roofs[0].roof, "f32 compute");
  EXPECT_EQ(analysis.beaten_roofs[0].dtype, DType::kF32);
  EXPECT_TRUE(analysis.beaten_roofs[0].memory_level.empty());
  ASSERT_EQ(analysis.warnings.size(), 1U);
  EXPECT_TRUE(analysis.warnings[0].starts_with(
      "product2 took 8.00 ms, 20 % less than its f32 compute roof allows; product0 took 9.00 ms, 10 % less"))
      << analysis.warnings[0];
}

TEST(BeatenRoofs, NoiseIsNoReason) {
  EXPECT_TRUE(products({9.7, 12, 10}).beaten_roofs.empty());
  EXPECT_TRUE(products({9.7, 12, 10}).warnings.empty());
}

TEST(BeatenRoofs, KnowsTheMemoryLevel) {
  fabricate::Timeline timeline({fabricate::op("relu", "Relu", OperatorClass::kPointwise, 1e6, 150e6, 150e6)});
  for (int step = 0; step < 10; ++step) {
    timeline.begin_step();
    timeline.run(0, 7);
    timeline.end_step();
  }
  const Analysis analysis = *analyze_trace(timeline.trace(), fabricate::round_roofs(), {});
  ASSERT_EQ(analysis.beaten_roofs.size(), 1U);
  EXPECT_EQ(analysis.beaten_roofs[0].memory_level, "DRAM");
}

}  // namespace
}  // namespace hone::analyze
