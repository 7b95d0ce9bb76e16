#include "kernels/cpu/normalization/layer_norm_gradient.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

TEST(LayerNormGradient, IsThatOfTheDefinition) {
  for (const int64_t rows : {1, 7, 1000}) {
    for (const int64_t n : {1, 3, 16, 31, 768}) {
      const std::vector<float> g = normal_values(rows * n, 0.5f, 1, 1), x = normal_values(rows * n, 5, 2, 2);
      const std::vector<float> scale = normal_values(n, 1, 0.5f, 3);
      std::vector<float> dx(x.size(), NAN), dscale(scale.size(), NAN), dbias(scale.size(), NAN);
      const auto kernel = LayerNormGradient::create({.rows = rows, .length = n, .epsilon = 1e-3f});
      ASSERT_TRUE(kernel.ok());
      std::vector<float> scratch(kernel->scratch_bytes() / sizeof(float), NAN);
      kernel->execute({g.data(), x.data(), scale.data(), dx.data(), dscale.data(), dbias.data()},
                      scratch.data());
      std::vector<double> exact_scale(scale.size()), exact_bias(scale.size());
      const auto count = static_cast<double>(n);
      for (int64_t row = 0; row < rows; ++row) {
        const auto value = [&](const std::vector<float>& of, int64_t i) {
          return static_cast<double>(of[static_cast<std::size_t>(row * n + i)]);
        };
        double mean = 0, variance = 0, mean_h = 0, mean_hx = 0;
        for (int64_t i = 0; i < n; ++i) mean += value(x, i) / count;
        for (int64_t i = 0; i < n; ++i) variance += std::pow(value(x, i) - mean, 2) / count;
        const double inverse = 1 / std::sqrt(variance + 1e-3);
        const auto normal = [&](int64_t i) { return (value(x, i) - mean) * inverse; };
        const auto h = [&](int64_t i) {
          return value(g, i) * static_cast<double>(scale[static_cast<std::size_t>(i)]);
        };
        for (int64_t i = 0; i < n; ++i) {
          mean_h += h(i) / count, mean_hx += h(i) * normal(i) / count;
          exact_scale[static_cast<std::size_t>(i)] += value(g, i) * normal(i);
          exact_bias[static_cast<std::size_t>(i)] += value(g, i);
        }
        for (int64_t i = 0; i < n; ++i)
          ASSERT_NEAR(value(dx, i), inverse * (h(i) - mean_h - normal(i) * mean_hx), n == 1 ? 1e-2 : 5e-4)
              << n;
      }
      for (std::size_t i = 0; i < scale.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(dscale[i]), exact_scale[i], 2e-3) << rows << " x " << n;
        ASSERT_NEAR(static_cast<double>(dbias[i]), exact_bias[i], 2e-3) << rows << " x " << n;
      }
    }
  }
}

TEST(LayerNormGradient, TakesNoRootMeanSquareAndNothingEmpty) {
  EXPECT_FALSE(LayerNormGradient::create({.rows = 4, .length = 4, .rms = true}).ok());
  EXPECT_FALSE(LayerNormGradient::create({.rows = 0, .length = 4}).ok());
}

}  // namespace
}  // namespace hone::kernels
