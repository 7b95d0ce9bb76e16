#include "kernels/cpu/reduction/reduce.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/reduction/testing/definition.h"

namespace hone::kernels {
namespace {

constexpr Reduction kAll[] = {
    Reduction::kSum, Reduction::kMean, Reduction::kMax,       Reduction::kMin,    Reduction::kProd,
    Reduction::kL1,  Reduction::kL2,   Reduction::kSumSquare, Reduction::kLogSum, Reduction::kLogSumExp};

TEST(Reduce, MatchesPlainLoopsOverEverySetOfAxes) {
  std::mt19937 random(1);
  for (const Shape& shape :
       std::vector<Shape>{{7}, {1}, {5, 33}, {3, 4, 5}, {2, 70, 3, 17}, {3, 1, 200, 16}, {2, 3, 2, 3, 2}}) {
    const int64_t total = element_count(shape);
    std::vector<float> x(static_cast<std::size_t>(total));
    for (float& v : x)
      v = 0.5f + static_cast<float>(random() % 1000) / 1000;  // products and logarithms stay finite
    for (unsigned set = 0; set < 1u << shape.size(); ++set) {
      Shape kept;
      std::vector<int64_t> axes;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        if ((set >> a & 1u) != 0) {
          axes.push_back(static_cast<int64_t>(a));
        } else {
          kept.push_back(shape[a]);
        }
      }
      std::vector<std::vector<double>> groups(static_cast<std::size_t>(element_count(kept)));
      for (int64_t flat = 0; flat < total; ++flat) {
        int64_t rest = flat, at = 0, scale = 1;
        for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) {
          if ((set >> a & 1u) == 0) at += rest % shape[a] * scale, scale *= shape[a];
        }
        groups[static_cast<std::size_t>(at)].push_back(
            static_cast<double>(x[static_cast<std::size_t>(flat)]));
      }
      for (Reduction op : kAll) {
        const Result<Reduce> kernel = Reduce::create({shape, axes, op});
        ASSERT_TRUE(kernel.ok());
        std::vector<float> out(groups.size(), NAN);
        kernel->execute(x.data(), out.data());
        for (std::size_t i = 0; i < groups.size(); ++i) {
          const double exact = reduced_by_definition(op, groups[i]);
          if (std::abs(exact) < 1e-37 || std::abs(exact) > 1e37) continue;  // beyond f32
          ASSERT_NEAR(static_cast<double>(out[i]) / exact, 1, 3e-5)
              << static_cast<int>(op) << " over set " << set << " of " << shape_text(shape);
        }
      }
    }
  }
}

TEST(Reduce, SumsLongRowsAndColumnsAccurately) {
  std::vector<float> x(1'000'000, 0.1f);
  float row = 0, column[2] = {};
  Reduce::create({{1'000'000}, {0}, Reduction::kSum})->execute(x.data(), &row);
  Reduce::create({{500'000, 2}, {0}, Reduction::kSum})->execute(x.data(), column);
  EXPECT_NEAR(row / 1e5, 1, 4e-7);
  EXPECT_NEAR(column[1] / 5e4, 1, 2e-6);  // chains of 64, 64 and 123 additions of one value
}

TEST(Reduce, KeepsNaNAndHandlesNothing) {
  const std::vector<float> x = {1, NAN, 3, -INFINITY, -INFINITY, -INFINITY};
  std::vector<float> out(2);
  for (Reduction op : {Reduction::kMax, Reduction::kMin, Reduction::kSum, Reduction::kLogSumExp}) {
    Reduce::create({{2, 3}, {1}, op})->execute(x.data(), out.data());
    EXPECT_TRUE(std::isnan(out[0]));
  }
  EXPECT_EQ(out[1], -INFINITY);
  Reduce::create({{2, 0}, {1}, Reduction::kSum})->execute(nullptr, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
  EXPECT_FALSE(Reduce::create({{2, 3}, {2}, Reduction::kSum}).ok());
  EXPECT_FALSE(Reduce::create({{2, 3}, {0, 0}, Reduction::kSum}).ok());
}

}  // namespace
}  // namespace hone::kernels
