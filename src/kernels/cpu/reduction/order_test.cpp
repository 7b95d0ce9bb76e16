#include "kernels/cpu/reduction/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hone::kernels {
namespace {

std::vector<float> small_numbers(int64_t n) {  // with many equals
  std::mt19937 random(5);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = static_cast<float>(random() % 9) - 4;
  return values;
}

TEST(ArgExtremum, FindsFirstAndLastOfEquals) {
  for (int64_t inner : {1, 3}) {
    const int64_t outer = 4, length = 37;
    const std::vector<float> x = small_numbers(outer * length * inner);
    for (bool min : {false, true}) {
      for (bool last : {false, true}) {
        std::vector<int64_t> out(static_cast<std::size_t>(outer * inner), -1);
        ArgExtremum::create({outer, length, inner, min, last, DType::kF32})->execute(x.data(), out.data());
        for (int64_t row = 0; row < outer * inner; ++row) {
          const auto at = [&](int64_t i) {
            return x[static_cast<std::size_t>(row / inner * length * inner + i * inner + row % inner)];
          };
          const int64_t got = out[static_cast<std::size_t>(row)];
          for (int64_t i = 0; i < length; ++i) {
            EXPECT_TRUE(min ? at(got) <= at(i) : at(got) >= at(i));
            EXPECT_TRUE(at(i) != at(got) || (last ? i <= got : i >= got));
          }
        }
      }
    }
  }
  const std::vector<float> nan = {1, NAN, 7, NAN};
  int64_t index = -1;
  ArgExtremum::create({1, 4, 1, false, false, DType::kF32})->execute(nan.data(), &index);
  EXPECT_EQ(index, 1);
  EXPECT_FALSE(ArgExtremum::create({1, 0, 1, false, false, DType::kF32}).ok());
}

TEST(CumulativeSum, RunsBothWaysInclusiveAndExclusive) {
  const std::vector<int64_t> x = {1, 2, 3, 4};
  const auto run = [&](bool exclusive, bool reverse) {
    std::vector<int64_t> y(4, -1);
    CumulativeSum::create({1, 4, 1, exclusive, reverse, DType::kI64})->execute(x.data(), y.data());
    return y;
  };
  EXPECT_EQ(run(false, false), (std::vector<int64_t>{1, 3, 6, 10}));
  EXPECT_EQ(run(true, false), (std::vector<int64_t>{0, 1, 3, 6}));
  EXPECT_EQ(run(false, true), (std::vector<int64_t>{10, 9, 7, 4}));
  EXPECT_EQ(run(true, true), (std::vector<int64_t>{9, 7, 4, 0}));
  std::vector<float> columns = {1, 10, 2, 20, 3, 30};
  CumulativeSum::create({1, 3, 2, false, false, DType::kF32})->execute(columns.data(), columns.data());
  EXPECT_EQ(columns, (std::vector<float>{1, 10, 3, 30, 6, 60}));
}

TEST(TopK, OrdersByValueThenIndex) {
  for (bool largest : {true, false}) {
    const int64_t outer = 3, length = 50, inner = 2, k = 7;
    const std::vector<float> x = small_numbers(outer * length * inner);
    const Result<TopK> kernel = TopK::create({outer, length, inner, k, largest, true, DType::kF32});
    ASSERT_TRUE(kernel.ok());
    std::vector<int64_t> scratch(kernel->scratch_bytes() / 8 + 1);
    std::vector<float> values(static_cast<std::size_t>(outer * k * inner), NAN);
    std::vector<int64_t> indices(values.size(), -1);
    kernel->execute(x.data(), values.data(), indices.data(), scratch.data());
    for (int64_t row = 0; row < outer * inner; ++row) {
      const auto at = [&](int64_t i) {
        return x[static_cast<std::size_t>(row / inner * length * inner + i * inner + row % inner)];
      };
      std::vector<int64_t> order(length);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return largest ? at(a) > at(b) : at(a) < at(b); });
      for (int64_t i = 0; i < k; ++i) {
        const auto to = static_cast<std::size_t>(row / inner * k * inner + i * inner + row % inner);
        EXPECT_EQ(indices[to], order[static_cast<std::size_t>(i)]);
        EXPECT_EQ(values[to], at(order[static_cast<std::size_t>(i)]));
      }
    }
  }
  EXPECT_FALSE(TopK::create({1, 3, 1, 4, true, true, DType::kF32}).ok());
  EXPECT_FALSE(TopK::create({1, 3, 1, 1, true, true, DType::kF16}).ok());
}

}  // namespace
}  // namespace hone::kernels
