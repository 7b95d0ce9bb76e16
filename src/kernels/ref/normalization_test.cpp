#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

const Attributes kExact{{"epsilon", 0.0F}};

TEST(RefNormalization, BatchUsesRunningOrBatchStatistics) {
  const Tensor x = floats({2, 1, 2}, {1, 3, 5, 7});  // mean 4, variance 5
  const Tensor scale = floats({1}, {2}), bias = floats({1}, {1}), mean = floats({1}, {1}),
               variance = floats({1}, {4});
  expect_values(run("BatchNormalization", {x, scale, bias, mean, variance}, kExact), 0, {2, 1, 2},
                {1, 3, 5, 7});
  const Attributes training{{"epsilon", 0.0F}, {"training_mode", int64_t{1}}, {"momentum", 0.75F}};
  const auto y = run("BatchNormalization", {x, scale, bias, mean, variance}, training, 3);
  const double s = 2 / std::sqrt(5.0);
  expect_values(y, 0, {2, 1, 2}, {1 - 3 * s, 1 - s, 1 + s, 1 + 3 * s});
  expect_values(y, 1, {1}, {1.75});
  expect_values(y, 2, {1}, {4.25});
  EXPECT_FALSE(run("BatchNormalization", {x, floats({2}, {1, 1}), bias, mean, variance}).ok());
}

TEST(RefNormalization, InstancesAreGroupsOfOneChannel) {
  const Tensor x = floats({1, 2, 2}, {1, 3, 10, 30}), scale = floats({2}, {1, 2}), bias = floats({2}, {0, 5});
  const auto instance = run("InstanceNormalization", {x, scale, bias}, kExact);
  expect_values(instance, 0, {1, 2, 2}, {-1, 1, 3, 7});
  Attributes groups = kExact;
  groups.set("num_groups", int64_t{2});
  expect_values(run("GroupNormalization", {x, scale, bias}, groups), 0, {1, 2, 2}, {-1, 1, 3, 7});
  groups.set("num_groups", int64_t{3});
  EXPECT_FALSE(run("GroupNormalization", {x, scale, bias}, groups).ok());
}

TEST(RefNormalization, LayerGivesItsStatistics) {
  const auto y = run("LayerNormalization", {floats({2, 2}, {1, 3, 4, 8}), floats({2}, {1, 10})}, kExact, 3);
  expect_values(y, 0, {2, 2}, {-1, 10, -1, 10});
  expect_values(y, 1, {2, 1}, {2, 6});
  expect_values(y, 2, {2, 1}, {1, 0.5});
}

TEST(RefNormalization, RmsDividesByTheRootMeanSquare) {
  const double rms = std::sqrt(12.5);
  expect_values(run("RMSNormalization", {floats({1, 2}, {3, -4}), floats({2}, {1, 2})}, kExact), 0, {1, 2},
                {3 / rms, -8 / rms});
}

TEST(RefNormalization, NormsOfZeroGiveZero) {
  const Tensor x = floats({2, 2}, {3, 4, 0, 0});
  expect_values(run("LpNormalization", {x}), 0, {2, 2}, {0.6, 0.8, 0, 0});
  expect_values(run("LpNormalization", {x}, {{"p", int64_t{1}}, {"axis", int64_t{0}}}), 0, {2, 2},
                {1, 1, 0, 0});
  EXPECT_FALSE(run("LpNormalization", {x}, {{"p", int64_t{3}}}).ok());
}

TEST(RefNormalization, MeanVarianceReducesTheNamedAxes) {
  const auto y = run("MeanVarianceNormalization", {floats({2, 2}, {1, 10, 3, 30})}, {{"axes", Ints{0}}});
  expect_values(y, 0, {2, 2}, {-1, -1, 1, 1});
  EXPECT_FALSE(run("MeanVarianceNormalization", {floats({2}, {1, 2})}).ok());
}

TEST(RefNormalization, ResponseCountsNeighbouringChannels) {
  const Attributes size{{"size", int64_t{3}}, {"alpha", 3.0F}, {"beta", 1.0F}};
  expect_values(run("LRN", {floats({1, 3, 1}, {1, 2, 3})}, size), 0, {1, 3, 1},
                {1.0 / 6, 2.0 / 15, 3.0 / 14});
}

}  // namespace
}  // namespace hone::kernels::ref
