#include "lab/gate/numeric.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "graph/text.h"

namespace hone::lab {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(std::vector<float> values) {
  return Tensor::f32({static_cast<int64_t>(values.size())}, values);
}

NumericReport compare(const Tensor& output, const Tensor& reference, Numerics numerics,
                      bool infinities = false) {
  const ComparedOutput compared{"y", output, reference};
  return compare_outputs({&compared, 1}, numerics, infinities);
}

std::vector<float> random_floats(std::size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(Numeric, EqualTensorsPassInEveryClass) {
  const Tensor t = floats({1, -2, 0.5});
  for (Numerics numerics : {Numerics::kExact, Numerics::kReassociating, Numerics::kLossy}) {
    const NumericReport report = compare(t, t.clone(), numerics);
    EXPECT_TRUE(report.passed);
    EXPECT_EQ(report.max_rel_err, 0);
    EXPECT_EQ(report.detail, "bitwise equal");
  }
}

TEST(Numeric, OneRoundingErrorFailsExactAndPassesReassociating) {
  const Tensor reference = floats({1, 2, 3});
  const Tensor output = floats({std::nextafterf(1, 2), 2, 3});
  const NumericReport exact = compare(output, reference, Numerics::kExact);
  EXPECT_FALSE(exact.passed);
  EXPECT_EQ(exact.outputs[0].different, 1);
  const NumericReport reassociating = compare(output, reference, Numerics::kReassociating);
  EXPECT_TRUE(reassociating.passed);
  EXPECT_NEAR(reassociating.rel_l2, 1.19e-7 / std::sqrt(14.0), 1e-9);
}

TEST(Numeric, SumsInAnotherOrderStayWellInsideTheLimit) {
  const std::vector<float> terms = random_floats(1 << 16, 3);
  std::vector<float> forward, backward;
  for (std::size_t row = 0; row < 64; ++row) {
    float a = 0, b = 0;
    for (std::size_t i = 0; i < 1024; ++i) a += terms[row * 1024 + i];
    for (std::size_t i = 1024; i-- > 0;) b += terms[row * 1024 + i];
    forward.push_back(a);
    backward.push_back(b);
  }
  const NumericReport report = compare(floats(backward), floats(forward), Numerics::kReassociating);
  EXPECT_TRUE(report.passed) << report.detail;
  EXPECT_LT(report.rel_l2, report.outputs[0].limits.rel_l2 / 10);
}

TEST(Numeric, ABrokenElementAmongManyFails) {
  std::vector<float> values = random_floats(1 << 20, 4);
  const Tensor reference = floats(values);
  values[12345] += 0.01f;  // 1e-5 in L2 norm: far below that limit
  const NumericReport report = compare(floats(values), reference, Numerics::kReassociating);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.outputs[0].worst_element, 12345);
  EXPECT_NE(report.detail.find("at element 12345"), std::string::npos) << report.detail;
}

TEST(Numeric, SmallElementsAreJudgedByTheScaleOfTheTensor) {
  EXPECT_TRUE(compare(floats({1000, 1e-6f}), floats({1000, 2e-6f}), Numerics::kReassociating).passed);
}

TEST(Numeric, NanNeverPasses) {
  for (Numerics numerics : {Numerics::kExact, Numerics::kReassociating, Numerics::kLossy}) {
    EXPECT_FALSE(compare(floats({1, kNan}), floats({1, 2}), numerics, true).passed);
    EXPECT_FALSE(compare(floats({1, 2}), floats({1, kNan}), numerics, true).passed);
    EXPECT_FALSE(compare(floats({1, kNan}), floats({1, kNan}), numerics, true).passed);
  }
}

TEST(Numeric, InfinitiesPassOnlyWhereAskedForAndTheSame) {
  EXPECT_FALSE(compare(floats({1, -kInf}), floats({1, -kInf}), Numerics::kReassociating).passed);
  EXPECT_TRUE(compare(floats({1, -kInf}), floats({1, -kInf}), Numerics::kReassociating, true).passed);
  EXPECT_FALSE(compare(floats({1, kInf}), floats({1, -kInf}), Numerics::kLossy, true).passed);
  EXPECT_FALSE(compare(floats({1, kInf}), floats({1, 3}), Numerics::kLossy, true).passed);
}

TEST(Numeric, AReferenceOfZerosForgivesNothing) {
  EXPECT_FALSE(compare(floats({0, 1e-30f}), floats({0, 0}), Numerics::kLossy).passed);
  EXPECT_TRUE(compare(floats({0, 0}), floats({0, 0}), Numerics::kExact).passed);
}

TEST(Numeric, IntegersAreExactInEveryClass) {
  const std::vector<int64_t> large = {int64_t{1} << 60, 5}, off = {(int64_t{1} << 60) + 1, 5};
  for (Numerics numerics : {Numerics::kExact, Numerics::kReassociating, Numerics::kLossy}) {
    EXPECT_TRUE(compare(Tensor::i64({2}, large), Tensor::i64({2}, large), numerics).passed);
    const NumericReport report = compare(Tensor::i64({2}, off), Tensor::i64({2}, large), numerics);
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(report.outputs[0].different, 1);
  }
}

TEST(Numeric, LimitsFollowTheDtype) {
  EXPECT_LT(default_limits(Numerics::kReassociating, DType::kF64).rel_l2, 1e-12);
  EXPECT_LT(default_limits(Numerics::kReassociating, DType::kF32).rel_l2, 2e-4);
  EXPECT_LT(default_limits(Numerics::kReassociating, DType::kF16).rel_l2, 1e-2);
  EXPECT_TRUE(default_limits(Numerics::kLossy, DType::kI32).bitwise);
}

// As a quantised layer gives them: rounded to steps of 1/127 of the range, with a scale and a zero point that may
// be wrong.
Tensor quantised(const std::vector<float>& values, float scale, float offset) {
  constexpr float kStep = 4.0F / 127;
  std::vector<float> rounded;
  for (float value : values) rounded.push_back(std::round((value * scale + offset * kStep) / kStep) * kStep);
  return floats(rounded);
}

TEST(Numeric, AWrongRewriteOfAQuantisedModelIsRefusedByWhatTheModelItselfRounds) {
  const std::vector<float> exact = random_floats(1000, 6);
  NumericRules rules;
  rules.computed_in = DType::kI8;
  const auto judged = [&](float scale, float offset) {
    const ComparedOutput compared{"y", quantised(exact, scale, offset), floats(exact)};
    return compare_outputs({&compared, 1}, rules);
  };
  rules.own = own_errors(judged(1, 0));
  ASSERT_EQ(rules.own.size(), 1U);
  EXPECT_GT(rules.own[0].rel_l2, 1e-3);
  EXPECT_TRUE(judged(1, 0).passed);
  EXPECT_TRUE(judged(1, 0.5F).passed) << "rounded the other way everywhere";
  EXPECT_FALSE(judged(1.05F, 0).passed) << "a scale 5 % off";
  EXPECT_FALSE(judged(1, 2).passed) << "a zero point two steps off";
  EXPECT_FALSE(judged(0.5F, 0).passed);
  rules.own.clear();
  EXPECT_FALSE(judged(1.1F, 0).passed) << "nor does the type's own limit forgive 10 %";
}

TEST(Numeric, OwnErrorsTightenLimitsOfNarrowTypesAndOfNoOthers) {
  const auto limits = [](DType type, double own) {
    return limits_for({.computed_in = type, .own = {{own, own}}}, DType::kF32);
  };
  EXPECT_DOUBLE_EQ(limits(DType::kI8, 1e-2).rel_l2, 4e-2);
  EXPECT_DOUBLE_EQ(limits(DType::kF16, 5.8e-4).rel_l2, 4 * 5.8e-4);
  EXPECT_LT(limits(DType::kF16, 5.8e-4).max_rel, 5e-3);
  EXPECT_EQ(limits(DType::kI8, 0).rel_l2, std::ldexp(1.0, -7)) << "one step is always forgiven";
  EXPECT_EQ(limits(DType::kI8, kInf).rel_l2, std::ldexp(1.0, -4)) << "a broken baseline forgives no more";
  EXPECT_EQ(limits(DType::kF32, 1).rel_l2, default_limits(Numerics::kReassociating, DType::kF32).rel_l2);
}

TEST(Numeric, RoundingInABodyCounts) {
  const auto coarsest = [](const std::string& text) {
    const auto graph = graph::parse("graph \"g\" " + text);
    if (!graph.ok()) throw std::logic_error(graph.error().message);
    return coarsest_arithmetic(*graph);
  };
  const std::string loop =
      "(%n: i64[], %go: bool[], %x: f32[2]) { %y: f32[2] = Loop(%n, %go, %x) \"loop\" graph \"body\" (%i: "
      "i64[], %c: bool[], %v: f32[2]) { ";
  const std::string end = " return %c, %w } return %y }";
  EXPECT_EQ(coarsest(loop + "%w: f32[2] = Neg(%v)" + end), DType::kF32);
  EXPECT_EQ(coarsest(loop + "%h: f16[2] = Cast(%v) {to = 10} %w: f32[2] = Cast(%h) {to = 1}" + end),
            DType::kF16);
  EXPECT_EQ(coarsest("(%n: i64[2]) { %y: i64[2] = Neg(%n) return %y }"), DType::kF32);
}

TEST(Numeric, NarrowOutputsCompareWithAWiderReference) {
  std::vector<uint16_t> half;
  std::vector<float> values = random_floats(1000, 5);
  for (float value : values) half.push_back(f32_to_bf16(value));
  const Tensor output = Tensor::of<uint16_t>(DType::kBF16, {1000}, half);
  const NumericReport report = compare(output, floats(values), Numerics::kReassociating);
  EXPECT_TRUE(report.passed) << report.detail;
  EXPECT_GT(report.rel_l2, 1e-4);
  EXPECT_GT(report.outputs[0].different, 900);
}

TEST(Numeric, WrongShapesAndDtypesFailWithWords) {
  EXPECT_EQ(compare(floats({1, 2}), floats({1}), Numerics::kLossy).detail,
            "output 'y': shape [2] differs from the reference's [1]");
  EXPECT_EQ(compare(Tensor::scalar_i64(1), Tensor::scalar_f32(1), Numerics::kLossy).detail,
            "output 'y': dtype i64 differs from the reference's f32");
  EXPECT_FALSE(compare(Tensor(), floats({1}), Numerics::kLossy).passed);
  EXPECT_FALSE(compare_outputs({}, Numerics::kLossy).passed);
}

TEST(Numeric, EmptyTensorsAndManyOutputsAreReported) {
  const std::vector<ComparedOutput> outputs = {{"empty", floats({}), floats({})},
                                               {"good", floats({1}), floats({1})},
                                               {"bad", floats({1}), floats({2})}};
  const NumericReport report = compare_outputs(outputs, Numerics::kReassociating);
  EXPECT_FALSE(report.passed);
  EXPECT_TRUE(report.outputs[0].passed);
  EXPECT_TRUE(report.outputs[1].passed);
  EXPECT_EQ(report.detail.substr(0, 13), "output 'bad':");
}

}  // namespace
}  // namespace hone::lab
