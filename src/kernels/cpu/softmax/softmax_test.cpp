#include "kernels/cpu/softmax/softmax.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone::kernels {
namespace {

std::vector<float> random_values(int64_t n, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = normal(random);
  return values;
}

void check(const SoftmaxDesc& desc, bool in_place) {
  const int64_t rows = element_count(desc.outer), n = desc.length, inner = desc.inner;
  const std::vector<float> x = random_values(rows * n * inner, 8, 1);
  std::vector<float> mask = random_values(rows * n + 1, 5, 2);
  mask[0] = -INFINITY;
  std::vector<float> y(x.size(), -7);
  if (in_place) y = x;
  const Result<Softmax> kernel = Softmax::create(desc);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  kernel->execute(in_place ? y.data() : x.data(), desc.masked ? mask.data() : nullptr, y.data());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0, rest = row;
    for (std::size_t axis = desc.outer.size(); axis-- > 0; rest /= desc.outer[axis]) {
      if (desc.masked) offset += rest % desc.outer[axis] * desc.mask_strides[axis];
    }
    for (int64_t column = 0; column < inner; ++column) {
      const auto score = [&](int64_t i) {
        const double v = static_cast<double>(x[static_cast<std::size_t>((row * n + i) * inner + column)]);
        return v * static_cast<double>(desc.scale) +
               (desc.masked ? static_cast<double>(mask[static_cast<std::size_t>(offset + i)]) : 0);
      };
      double max = -INFINITY, sum = 0;
      for (int64_t i = 0; i < n; ++i) max = std::max(max, score(i));
      for (int64_t i = 0; i < n; ++i) sum += std::exp(score(i) - max);
      for (int64_t i = 0; i < n; ++i) {
        const double exact = desc.log ? score(i) - max - std::log(sum) : std::exp(score(i) - max) / sum;
        if (desc.log && std::isinf(exact)) continue;
        const double got = static_cast<double>(y[static_cast<std::size_t>((row * n + i) * inner + column)]);
        ASSERT_NEAR(got, exact, desc.log ? 2e-5 : 1e-6 * exact + 1e-7) << n << " x " << inner << " at " << i;
      }
    }
  }
}

TEST(Softmax, MatchesTheFormulaForAnyShape) {
  for (bool log : {false, true}) {
    for (int64_t n : {1, 2, 7, 16, 31, 33, 64, 1000, 4097}) {
      check({.outer = {3, 5}, .length = n, .log = log, .scale = 0.25f}, false);
      check({.outer = {2}, .length = n, .inner = 3, .log = log}, false);
      check({.outer = {2}, .length = n, .inner = 37, .log = log}, true);
      check({.outer = {4}, .length = n, .log = log}, true);
    }
  }
}

TEST(Softmax, AddsABroadcastMaskThatMayHideScores) {
  check({.outer = {2, 3, 4}, .length = 19, .scale = 0.5f, .masked = true, .mask_strides = {19, 0, 0}}, false);
  check({.outer = {2, 3, 4}, .length = 33, .masked = true, .mask_strides = {0, 0, 33}}, true);
}

TEST(Softmax, KeepsNaNAndSurvivesExtremeScores) {
  std::vector<float> x = {1e30f, -1e30f, 0, NAN, 1, 2};
  std::vector<float> y(6, -7);
  const Result<Softmax> kernel = Softmax::create({.outer = {2}, .length = 3});
  ASSERT_TRUE(kernel.ok());
  kernel->execute(x.data(), nullptr, y.data());
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

}  // namespace
}  // namespace hone::kernels
