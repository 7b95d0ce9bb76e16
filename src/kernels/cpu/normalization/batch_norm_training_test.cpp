#include "kernels/cpu/normalization/batch_norm_training.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/movement/reorder.h"
#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

constexpr int64_t kBatch = 3;
constexpr double kEpsilon = 1e-3;

// Places of channel `c` in a plain tensor.
std::vector<std::size_t> places(int64_t channels, int64_t spatial, int64_t c) {
  std::vector<std::size_t> all;
  for (int64_t n = 0; n < kBatch; ++n)
    for (int64_t i = 0; i < spatial; ++i)
      all.push_back(static_cast<std::size_t>((n * channels + c) * spatial + i));
  return all;
}

std::vector<float> reordered(const std::vector<float>& from, int64_t channels, int64_t spatial, Layout in,
                             Layout out) {
  const std::vector<int64_t> shape{kBatch, channels, spatial};
  std::vector<float> to(static_cast<std::size_t>(storage_elements(shape, out)), NAN);
  const auto kernel = Reorder::create({kBatch, channels, spatial, in, out});
  if (!kernel.ok()) throw std::runtime_error(kernel.error().message);
  kernel->execute(from.data(), to.data());
  return to;
}

template <typename Kernel>
std::vector<CacheLine> scratch_of(const Kernel& kernel) {
  CacheLine poison;
  std::fill(std::begin(poison.bytes), std::end(poison.bytes), std::byte{0xff});  // NaN
  return std::vector<CacheLine>(kernel.scratch_bytes() / sizeof(CacheLine) + 1, poison);
}

struct NormCase {
  Layout layout;
  int64_t channels, spatial;
  std::string text() const {
    return std::string(layout_name(layout)) + " " + std::to_string(channels) + " x " +
           std::to_string(spatial);
  }
};

std::vector<NormCase> norm_cases() {
  std::vector<NormCase> all;
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16})
    for (const int64_t channels : {1, 5, 16, 37})
      for (const int64_t spatial : {1, 7, 300, 5000}) all.push_back({layout, channels, spatial});
  return all;
}

double at(const std::vector<float>& values, std::size_t i) { return static_cast<double>(values[i]); }

struct Statistics {
  double mean = 0, variance = 0;
};

Statistics statistics_of(const std::vector<float>& x, const std::vector<std::size_t>& of) {
  Statistics s;
  for (const std::size_t i : of) s.mean += at(x, i) / static_cast<double>(of.size());
  for (const std::size_t i : of)
    s.variance += std::pow(at(x, i) - s.mean, 2) / static_cast<double>(of.size());
  return s;
}

void expect_zero_padding(const std::vector<float>& laid, const NormCase& c) {
  const int64_t block = channel_block(c.layout);
  if (block == 1 || c.channels % block == 0) return;
  const int64_t blocks = (c.channels + block - 1) / block;
  for (int64_t n = 0; n < kBatch; ++n)
    for (int64_t p = 0; p < c.spatial; ++p)
      for (int64_t k = c.channels % block; k < block; ++k)
        ASSERT_EQ(laid[static_cast<std::size_t>((((n + 1) * blocks - 1) * c.spatial + p) * block + k)], 0)
            << c.text();
}

TEST(TrainingBatchNorm, NormalisesByTheBatchAndMovesTheRunningStatisticsInEveryLayout) {
  for (const NormCase& c : norm_cases()) {
    // A mean far from zero shows cancellation.
    const std::vector<float> x = normal_values(kBatch * c.channels * c.spatial, 50, 2, 1);
    const std::vector<float> scale = normal_values(c.channels, 1, 0.5f, 2),
                             bias = normal_values(c.channels, 0, 1, 3);
    const std::vector<float> mean = normal_values(c.channels, 4, 1, 4),
                             variance = normal_values(c.channels, 9, 1, 5);
    std::vector<float> new_mean(mean.size(), NAN), new_variance(mean.size(), NAN);
    const auto kernel = TrainingBatchNorm::create({kBatch, c.channels, c.spatial, kEpsilon, 0.8f, c.layout});
    ASSERT_TRUE(kernel.ok());
    const std::vector<float> laid = reordered(x, c.channels, c.spatial, Layout::kPlain, c.layout);
    std::vector<float> result(laid.size(), NAN);
    kernel->execute({laid.data(), scale.data(), bias.data(), mean.data(), variance.data(), result.data(),
                     new_mean.data(), new_variance.data()},
                    scratch_of(*kernel).data());
    expect_zero_padding(result, c);
    const std::vector<float> y = reordered(result, c.channels, c.spatial, c.layout, Layout::kPlain);
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      const auto k = static_cast<std::size_t>(channel);
      const auto of = places(c.channels, c.spatial, channel);
      const Statistics s = statistics_of(x, of);
      EXPECT_NEAR(at(new_mean, k), 0.8 * at(mean, k) + 0.2 * s.mean, 1e-4) << c.text();
      EXPECT_NEAR(at(new_variance, k), 0.8 * at(variance, k) + 0.2 * s.variance, 1e-4) << c.text();
      for (const std::size_t i : of)
        ASSERT_NEAR(at(y, i),
                    (at(x, i) - s.mean) / std::sqrt(s.variance + kEpsilon) * at(scale, k) + at(bias, k), 1e-4)
            << c.text();
    }
  }
}

// Of what the sums of a channel say in double, with a Relu behind and without.
TEST(BatchNormGradient, IsThatOfTheDefinitionInEveryLayout) {
  for (const NormCase& c : norm_cases()) {
    for (const bool relu : {false, true}) {
      const int64_t size = kBatch * c.channels * c.spatial;
      const std::vector<float> x = normal_values(size, 20, 2, 1), g = normal_values(size, 0.5f, 1, 2);
      const std::vector<float> y = normal_values(size, 0, 1, 3),
                               scale = normal_values(c.channels, 1, 0.5f, 4);
      const auto laid = [&](const std::vector<float>& v) {
        return reordered(v, c.channels, c.spatial, Layout::kPlain, c.layout);
      };
      const std::vector<float> laid_x = laid(x), laid_g = laid(g), laid_y = laid(y);
      std::vector<float> result(laid_x.size(), NAN), dscale(scale.size(), NAN), dbias(scale.size(), NAN);
      const auto kernel =
          BatchNormGradient::create({kBatch, c.channels, c.spatial, kEpsilon, 0.9f, c.layout});
      ASSERT_TRUE(kernel.ok());
      kernel->execute({laid_g.data(), laid_x.data(), scale.data(), relu ? laid_y.data() : nullptr,
                       result.data(), dscale.data(), dbias.data()},
                      scratch_of(*kernel).data());
      expect_zero_padding(result, c);
      const std::vector<float> dx = reordered(result, c.channels, c.spatial, c.layout, Layout::kPlain);
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        const auto k = static_cast<std::size_t>(channel);
        const auto of = places(c.channels, c.spatial, channel);
        const Statistics s = statistics_of(x, of);
        const double inverse = 1 / std::sqrt(s.variance + kEpsilon), n = static_cast<double>(of.size());
        double sum = 0, along = 0;
        const auto flow = [&](std::size_t i) { return relu && at(y, i) <= 0 ? 0 : at(g, i); };
        for (const std::size_t i : of) sum += flow(i), along += flow(i) * (at(x, i) - s.mean) * inverse;
        EXPECT_NEAR(at(dbias, k), sum, 1e-5 * n + 1e-5) << c.text();
        EXPECT_NEAR(at(dscale, k), along, 1e-5 * n + 1e-4) << c.text();
        for (const std::size_t i : of)
          ASSERT_NEAR(
              at(dx, i),
              at(scale, k) * inverse * (flow(i) - sum / n - (at(x, i) - s.mean) * inverse * along / n), 2e-4)
              << c.text();
      }
    }
  }
}

TEST(BatchNormGradient, TakesNoEmptyBatch) {
  EXPECT_FALSE(BatchNormGradient::create({0, 4, 4, 1e-5f, 0.9f, Layout::kPlain}).ok());
  EXPECT_FALSE(TrainingBatchNorm::create({2, 4, 0, 1e-5f, 0.9f, Layout::kPlain}).ok());
}

}  // namespace
}  // namespace hone::kernels
