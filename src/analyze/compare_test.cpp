#include "analyze/compare.h"

#include <random>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/fabricate.h"

namespace hone::analyze {
namespace {

using fabricate::op;
using trace::OperatorClass;

Analysis run(std::vector<trace::Operator> operators, const std::vector<double>& ms, uint32_t seed) {
  fabricate::Timeline timeline(std::move(operators));
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.03);
  for (int step = 0; step < 30; ++step) {
    timeline.begin_step();
    for (uint32_t i = 0; i < ms.size(); ++i) timeline.run(i, ms[i] * noise(random));
    timeline.end_step();
  }
  Roofs roofs = fabricate::round_roofs();
  return *analyze_trace(timeline.trace(), roofs, {});
}

std::vector<trace::Operator> conv_relu_pool() {
  return {op("conv", "Conv", OperatorClass::kConvolution, 1e9, 1e6, 1e6),
          op("relu", "Relu", OperatorClass::kPointwise, 1e6, 1e6, 1e6),
          op("pool", "MaxPool", OperatorClass::kPooling, 1e6, 1e6, 1e6)};
}

TEST(Compare, MatchesAFusedOperatorWithThoseItReplaced) {
  trace::Operator fused = op("fused_0", "hone.Fused", OperatorClass::kConvolution, 1e9, 1e6, 1e6);
  fused.provenance = {"conv", "relu"};
  Analysis a = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis b = run({fused, conv_relu_pool()[2]}, {5.1, 1}, 2);
  Comparison result = compare(a, b);
  EXPECT_TRUE(result.sure);
  EXPECT_NEAR(result.ratio, 8 / 6.1, 0.05);
  ASSERT_EQ(result.operators.size(), 2u);
  EXPECT_EQ(result.operators[0].a, (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(result.operators[0].b, (std::vector<std::string>{"fused_0"}));
  EXPECT_NEAR(result.operators[0].change_ms.median, -1.9, 0.15);
  EXPECT_TRUE(result.operators[0].sure);
  EXPECT_NE(result.sentence.find("faster"), std::string::npos);
}

TEST(Compare, ClaimsNothingBetweenTwoRunsOfTheSame) {
  int claims = 0;
  for (uint32_t seed = 0; seed < 60; ++seed)
    claims +=
        compare(run(conv_relu_pool(), {5, 2, 1}, seed), run(conv_relu_pool(), {5, 2, 1}, seed + 1000)).sure;
  EXPECT_LE(claims, 7);  // 5 % of 60 is 3
}

TEST(Compare, ShowsOperatorsThatOnlyOneRunHas) {
  std::vector<trace::Operator> without = {conv_relu_pool()[0], conv_relu_pool()[2]};
  Comparison result = compare(run(conv_relu_pool(), {5, 2, 1}, 1), run(without, {5, 1}, 2));
  EXPECT_EQ(result.operators[0].a, std::vector<std::string>{"relu"});
  EXPECT_TRUE(result.operators[0].b.empty());
  EXPECT_NEAR(result.operators[0].change_ms.median, -2, 0.1);
}

}  // namespace
}  // namespace hone::analyze
