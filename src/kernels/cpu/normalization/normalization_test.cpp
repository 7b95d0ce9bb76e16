#include "kernels/cpu/normalization/normalization.h"

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

// Mean and 1/sqrt(variance + epsilon) of n values, in double.
std::pair<double, double> statistics(const float* x, int64_t n, double epsilon, bool rms) {
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n && !rms; ++i) mean += static_cast<double>(x[i]);
  mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += std::pow(static_cast<double>(x[i]) - mean, 2);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + epsilon)};
}

TEST(LayerNorm, NormalisesRowsOfAnyLengthWithAndWithoutResidual) {
  for (bool rms : {false, true}) {
    for (int64_t n : {1, 3, 16, 31, 768, 2049, 5000}) {
      for (bool residual : {false, true}) {
        const int64_t rows = 7;
        // A mean far from zero shows cancellation.
        const std::vector<float> x = normal_values(rows * n, 100, 1, 1), r = normal_values(rows * n, 0, 1, 2);
        const std::vector<float> scale = normal_values(n, 1, 0.5f, 3), bias = normal_values(n, 0, 1, 4);
        std::vector<float> y(x.size(), -7), sum(x.size(), -7), mean(rows, -7), inverse(rows, -7);
        const Result<LayerNorm> kernel = LayerNorm::create({rows, n, 1e-5f, rms});
        ASSERT_TRUE(kernel.ok());
        LayerNormArguments a{.x = x.data(), .scale = scale.data(), .bias = bias.data(), .y = y.data()};
        a.mean = mean.data();
        a.inverse_deviation = inverse.data();
        if (residual) a.residual = r.data(), a.sum = sum.data();
        kernel->execute(a);
        for (int64_t row = 0; row < rows; ++row) {
          std::vector<float> total(x.begin() + row * n, x.begin() + (row + 1) * n);
          for (int64_t i = 0; residual && i < n; ++i) {
            total[static_cast<std::size_t>(i)] += r[static_cast<std::size_t>(row * n + i)];
            ASSERT_EQ(sum[static_cast<std::size_t>(row * n + i)], total[static_cast<std::size_t>(i)]);
          }
          const auto [m, inv] = statistics(total.data(), n, 1e-5, rms);
          EXPECT_NEAR(static_cast<double>(mean[static_cast<std::size_t>(row)]), m, 1e-4);
          EXPECT_NEAR(static_cast<double>(inverse[static_cast<std::size_t>(row)]) / inv, 1, 1e-4);
          for (int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<std::size_t>(i);
            const double exact = (static_cast<double>(total[k]) - m) * inv * static_cast<double>(scale[k]) +
                                 static_cast<double>(bias[k]);
            if (n == 1 && !rms) continue;  // 0 · 1/sqrt(epsilon): rounding of the mean alone
            ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(row * n + i)]), exact, 1e-4) << n;
          }
        }
      }
    }
  }
}

TEST(LayerNorm, MayRunInPlaceAndWithoutScale) {
  std::vector<float> x = normal_values(64, 2, 3, 5), r = normal_values(64, 2, 3, 6), y(64, -7);
  const Result<LayerNorm> kernel = LayerNorm::create({4, 16, 1e-5f, false});
  kernel->execute({.x = x.data(), .residual = r.data(), .y = y.data()});
  kernel->execute({.x = x.data(), .residual = r.data(), .y = x.data(), .sum = r.data()});
  EXPECT_EQ(x, y);
}

TEST(GroupNorm, NormalisesGroupsAndSingleChannels) {
  for (int64_t groups : {1, 2, 6}) {
    for (int64_t spatial : {1, 5, 49, 3000}) {
      const GroupNormDesc desc{3, 6, groups, spatial, 1e-5f};
      const int64_t size = 6 / groups * spatial;
      const std::vector<float> x = normal_values(3 * 6 * spatial, 10, 2, 1);
      const std::vector<float> scale = normal_values(6, 1, 0.5f, 3), bias = normal_values(6, 0, 1, 4);
      std::vector<float> y(x.size(), -7);
      const Result<GroupNorm> kernel = GroupNorm::create(desc);
      ASSERT_TRUE(kernel.ok());
      kernel->execute(x.data(), scale.data(), bias.data(), y.data());
      double mean = 0, inverse = 0;
      for (int64_t i = 0; i < 3 * 6 * spatial; ++i) {
        if (i % size == 0) std::tie(mean, inverse) = statistics(x.data() + i, size, 1e-5, false);
        const auto c = static_cast<std::size_t>(i / spatial % 6);
        const double exact = (static_cast<double>(x[static_cast<std::size_t>(i)]) - mean) * inverse *
                                 static_cast<double>(scale[c]) +
                             static_cast<double>(bias[c]);
        ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i)]), exact, size == 1 ? 1e-3 : 2e-4);
      }
    }
  }
  EXPECT_FALSE(GroupNorm::create({1, 6, 4, 1, 0}).ok());
}

}  // namespace
}  // namespace hone::kernels
