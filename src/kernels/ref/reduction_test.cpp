#include <cmath>
#include <limits>

#include "core/philox.h"
#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

TEST(Reduce, TakesAxesAsInput) {
  EXPECT_EQ(values("ReduceSum", {kMatrix, ints({1}, {-1})}), (Doubles{6, 15}));
  EXPECT_EQ(values("ReduceMean", {kMatrix, ints({1}, {0})}), (Doubles{2.5, 3.5, 4.5}));
  EXPECT_EQ(values("ReduceMax", {kMatrix}), Doubles{6});
  EXPECT_TRUE(fails("ReduceSum", {kMatrix, ints({1}, {2})}));
}

TEST(Reduce, WithNoAxesStillAppliesTheFunction) {
  const Attributes noop{{"noop_with_empty_axes", int64_t{1}}};
  EXPECT_EQ(values("ReduceSumSquare", {floats({2}, {2, -3})}, noop), (Doubles{4, 9}));
  EXPECT_EQ(values("ReduceSum", {floats({2}, {2, -3})}, noop), (Doubles{2, -3}));
}

TEST(Reduce, OfNothingGivesTheNeutralElement) {
  const Tensor empty = floats({0, 2}, {});
  const Tensor axis = ints({1}, {0});
  EXPECT_EQ(values("ReduceSum", {empty, axis}), (Doubles{0, 0}));
  EXPECT_EQ(values("ReduceProd", {empty, axis}), (Doubles{1, 1}));
  EXPECT_EQ(values("ReduceMax", {empty, axis}), (Doubles{-kInfinity, -kInfinity}));
  EXPECT_EQ(values("ReduceLogSumExp", {empty, axis}), (Doubles{-kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(values("ReduceMean", {empty, axis})[0]));
  EXPECT_EQ(values("ReduceMin", {ints({0}, {}, DType::kI8)}), Doubles{127});
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
  EXPECT_NEAR(values("ReduceLogSumExp", {floats({2}, {1000, 1000})})[0], 1000.693147, 1e-4);
}

TEST(Reduce, SumsNarrowFloatsWideAndRoundsOnce) {
  // 2048 + 1 + 1 in f16 arithmetic would stay at 2048.
  EXPECT_EQ(values("ReduceSum", {floats({3}, {2048, 1, 1}, DType::kF16)}), Doubles{2050});
}

TEST(ArgMax, TakesTheFirstOrTheLastOfEquals) {
  const Tensor x = floats({1, 3}, {2, 5, 5});
  EXPECT_EQ(values("ArgMax", {x}, {{"axis", int64_t{1}}}), Doubles{1});
  EXPECT_EQ(values("ArgMax", {x}, {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}}), Doubles{2});
  EXPECT_TRUE(fails("ArgMax", {floats({0}, {})}));
}

TEST(CumSum, RunsExclusiveAndReverse) {
  const Tensor x = ints({3}, {1, 2, 3});
  const Tensor axis = ints({}, {0});
  EXPECT_EQ(values("CumSum", {x, axis}), (Doubles{1, 3, 6}));
  EXPECT_EQ(values("CumSum", {x, axis}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}),
            (Doubles{5, 3, 0}));
  EXPECT_EQ(values("CumProd", {x, axis}, {{"exclusive", int64_t{1}}}), (Doubles{1, 1, 2}));
}

TEST(TopK, BreaksTiesByIndex) {
  auto outputs = run("TopK", {floats({4}, {1, 3, 3, 2}), ints({1}, {3})}, {}, 2);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].to_doubles(), (Doubles{3, 3, 2}));
  EXPECT_EQ((*outputs)[1].to_ints(), (Ints{1, 2, 3}));
  EXPECT_TRUE(fails("TopK", {floats({2}, {1, 2}), ints({1}, {3})}));
}

TEST(Softmax, SumsToOneForLargeScores) {
  EXPECT_EQ(values("Softmax", {floats({2}, {10000, 10000})}), (Doubles{0.5, 0.5}));
  EXPECT_EQ(values("Hardmax", {floats({3}, {1, 2, 2})}), (Doubles{0, 1, 0}));
}

TEST(Loss, WeighsAndIgnoresTargets) {
  const Tensor scores = floats({2, 2}, {-1, -2, -3, -4});
  const Tensor weights = floats({2}, {2, 1});
  EXPECT_EQ(values("NegativeLogLikelihoodLoss", {scores, ints({2}, {0, 1}), weights}), Doubles{2});
  EXPECT_EQ(
      values("NegativeLogLikelihoodLoss", {scores, ints({2}, {0, -100})}, {{"ignore_index", int64_t{-100}}}),
      Doubles{1});
  EXPECT_TRUE(fails("NegativeLogLikelihoodLoss", {scores, ints({2}, {0, 2})}));
}

// Known answer of Random123's kat_vectors for philox4x32-10.
TEST(Philox, GivesThePublishedNumbers) {
  const std::array<uint32_t, 4> zeros = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(Philox(0).block(0), zeros);
}

TEST(Random, RepeatsForASeedAndHasTheRightMoments) {
  const Attributes attributes{{"shape", Ints{20000}}, {"seed", 7.0F}, {"mean", 1.0F}, {"scale", 2.0F}};
  const auto numbers = values("RandomNormal", {}, attributes);
  EXPECT_EQ(numbers, values("RandomNormal", {}, attributes));
  double mean = 0;
  double square = 0;
  for (double x : numbers) mean += x / 20000;
  for (double x : numbers) square += (x - mean) * (x - mean) / 20000;
  EXPECT_NEAR(mean, 1, 0.06);
  EXPECT_NEAR(square, 4, 0.2);
  EXPECT_TRUE(fails("RandomUniform", {}, {{"shape", Ints{-1}}}));
}

TEST(Dropout, IsItsInputOutsideTraining) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(values("Dropout", {x}), (Doubles{1, 2, 3}));
  auto trained =
      run("Dropout", {x, floats({}, {0.5}), ints({}, {1}, DType::kBool)}, {{"seed", int64_t{3}}}, 2);
  ASSERT_TRUE(trained.ok());
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*trained)[0].at(i), (*trained)[1].at(i) != 0 ? 2 * x.at(i) : 0.0);
  }
}

}  // namespace
}  // namespace hone::kernels::ref
