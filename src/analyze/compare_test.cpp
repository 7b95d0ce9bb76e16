#include "analyze/compare.h"

#include <random>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/estimate.h"
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

Analysis of_steps(std::vector<double> samples_ms, const std::string& inputs) {
  Analysis analysis;
  analysis.step = {median_estimate(samples_ms), static_cast<int>(samples_ms.size()), samples_ms, "", {}};
  analysis.coverage = Coverage{};
  for (const char* name : {"mm", "add"}) {
    OperatorTime op;
    op.kind = std::string("aten::") + name;
    op.name = name + (" " + inputs);
    op.provenance = {"block"};  // as every operator of the block has it
    op.samples_ms = samples_ms;
    op.ms = median_estimate(samples_ms);
    analysis.operators.push_back(op);
  }
  return analysis;
}

TEST(Compare, SaysWhatFewStepsCanSay) {
  const Comparison apart = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "8x8"));
  EXPECT_FALSE(apart.sure);
  EXPECT_TRUE(apart.apart);
  EXPECT_NEAR(apart.chance, 0.1, 1e-12);
  EXPECT_NE(apart.sentence.find("probably 1.50× faster"), std::string::npos) << apart.sentence;
  EXPECT_NE(apart.sentence.find("10.0 %"), std::string::npos) << apart.sentence;
  const Comparison slight = compare(of_steps({30, 30.1, 30}, "8x8"), of_steps({29.9, 29.8, 29.9}, "8x8"));
  EXPECT_NE(slight.sentence.find("No difference"), std::string::npos) << slight.sentence;
  const Comparison mixed = compare(of_steps({30, 20, 30}, "8x8"), of_steps({29, 21, 20}, "8x8"));
  EXPECT_FALSE(mixed.apart);
}

TEST(Compare, MatchesForeignOperatorsByInputsElseByKind) {
  const Comparison same = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "8x8"));
  ASSERT_EQ(same.operators.size(), 2u);
  EXPECT_EQ(same.operators[0].a, same.operators[0].b);
  const Comparison other = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "16x8"));
  ASSERT_EQ(other.operators.size(), 2u);
  for (const OperatorChange& row : other.operators) {
    ASSERT_EQ(row.a.size(), 1u);
    ASSERT_EQ(row.b.size(), 1u);
    EXPECT_EQ(row.a[0].substr(0, 2), row.b[0].substr(0, 2));
  }
}

}  // namespace
}  // namespace hone::analyze
