// Steps worked out by hand.
#include <cmath>
#include <limits>

#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

const Tensor kHalf = floats({}, {0.5}, DType::kF64);
Tensor doubles(std::initializer_list<double> values) {
  return floats({static_cast<int64_t>(values.size())}, values, DType::kF64);
}

TEST(RefSgd, StepsAgainstTheScaledGradient) {
  expect_values(run("hone.Sgd", {kHalf, Tensor(), doubles({1, 2}), doubles({4, -2})}), 0, {2}, {-1, 3});
  expect_values(run("hone.Sgd", {kHalf, kHalf, doubles({1, 2}), doubles({4, -2})}), 0, {2}, {0, 2.5});
  // The decay is of the parameter: g = 4 + 0.5 · 1.
  expect_values(run("hone.Sgd", {kHalf, Tensor(), doubles({1}), doubles({4})}, {{"weight_decay", 0.5F}}), 0,
                {1}, {-1.25});
}

TEST(RefSgd, MomentumGathersVelocityAndNesterovLooksAhead) {
  const std::vector<Tensor> inputs = {
      kHalf,        Tensor(),           doubles({1}), floats({1, 1}, {2}), doubles({4}), floats({1, 1}, {8}),
      doubles({6}), floats({1, 1}, {2})};
  const auto plain = run("hone.Sgd", inputs, {{"momentum", 0.5F}}, 4);
  expect_values(plain, 0, {1}, {1 - 0.5 * 7});  // v' = 0.5·6 + 4
  expect_values(plain, 1, {1, 1}, {2 - 0.5 * 9});
  expect_values(plain, 2, {1}, {7});
  expect_values(plain, 3, {1, 1}, {9});
  const auto nesterov = run("hone.Sgd", inputs, {{"momentum", 0.5F}, {"nesterov", int64_t{1}}}, 4);
  expect_values(nesterov, 0, {1}, {1 - 0.5 * (4 + 3.5)});
  expect_values(nesterov, 2, {1}, {7});
}

TEST(RefSquareSum, IsOfAllElements) {
  expect_values(run("hone.SquareSum", {doubles({1, -2}), floats({1, 1}, {3}, DType::kF64)}), 0, {}, {14});
}

TEST(RefAdamW, CorrectsTheBiasOfYoungMomentsAndDecaysTheParameterApart) {
  // From zero the first step is one of the rate against the gradient's sign, whatever its size.
  const Attributes plain = {{"weight_decay", 0.0F}, {"epsilon", 0.0F}, {"beta1", 0.5F}, {"beta2", 0.75F}};
  const auto first = run("hone.AdamW",
                         {kHalf, Tensor::scalar_i64(0), Tensor(), doubles({1, 1}), doubles({1e-3, -7}),
                          doubles({0, 0}), doubles({0, 0})},
                         plain, 3);
  expect_values(first, 0, {2}, {0.5, 1.5}, 1e-12);
  expect_values(first, 1, {2}, {0.5e-3, -3.5}, 1e-12);
  expect_values(first, 2, {2}, {0.25e-6, 12.25}, 1e-12);
  // The second step, with decay and a scale: m' = 0.5·2 + 0.5·4 = 3 over 0.75; v' = 0.75·4 + 0.25·16 = 7 over
  // 1 - 0.75².
  const Attributes decayed = {{"weight_decay", 0.5F}, {"epsilon", 0.25F}, {"beta1", 0.5F}, {"beta2", 0.75F}};
  const auto second =
      run("hone.AdamW",
          {kHalf, Tensor::scalar_i64(1), kHalf, doubles({3}), doubles({8}), doubles({2}), doubles({4})},
          decayed, 3);
  expect_values(second, 0, {1}, {3 * 0.75 - 0.5 * (3 / 0.75) / (std::sqrt(7 / 0.4375) + 0.25)}, 1e-12);
  expect_values(second, 1, {1}, {3});
  expect_values(second, 2, {1}, {7});
}

TEST(RefOptimizer, AScaleOfNanLeavesEverythingAsItWas) {
  const Tensor nan = floats({}, {std::numeric_limits<double>::quiet_NaN()}, DType::kF64);
  const auto sgd = run("hone.Sgd", {kHalf, nan, doubles({1, 2}), doubles({4, 5}), doubles({6, 7})},
                       {{"momentum", 0.5F}, {"weight_decay", 0.5F}}, 2);
  expect_values(sgd, 0, {2}, {1, 2});
  expect_values(sgd, 1, {2}, {6, 7});
  const auto adamw =
      run("hone.AdamW",
          {kHalf, Tensor::scalar_i64(1), nan, doubles({3}), doubles({8}), doubles({2}), doubles({4})}, {}, 3);
  expect_values(adamw, 0, {1}, {3});
  expect_values(adamw, 1, {1}, {2});
  expect_values(adamw, 2, {1}, {4});
}

TEST(RefOptimizer, RefusesTensorsThatDoNotFit) {
  EXPECT_TRUE(fails("hone.Sgd", {kHalf, Tensor(), doubles({1}), doubles({4, 2})}));
  EXPECT_TRUE(fails("hone.Sgd", {kHalf, Tensor(), doubles({1})}));
  EXPECT_TRUE(fails("hone.AdamW",
                    {kHalf, Tensor(), Tensor(), doubles({1}), doubles({1}), doubles({1}), doubles({1})}));
}

}  // namespace
}  // namespace hone::kernels::ref
