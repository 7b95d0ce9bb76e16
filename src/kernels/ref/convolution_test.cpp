#include <cmath>
#include <limits>
#include <random>

#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

Tensor iota(Shape shape) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return t;
}

Tensor noise(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor t(DType::kF32, std::move(shape));
  for (float& value : t.as<float>()) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return t;
}

const Tensor kOnes = floats({1, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});

TEST(RefConv, SumsThePaddedWindow) {
  const auto y = run("Conv", {iota({1, 1, 3, 3}), kOnes}, {{"pads", Ints{1, 1, 1, 1}}});
  expect_values(y, 0, {1, 1, 3, 3}, {8, 15, 12, 21, 36, 27, 20, 33, 24});
}

// The definition, written once more without any of the kernel's index tricks.
double direct_conv(const Tensor& x, const Tensor& w, int64_t n, int64_t oc, int64_t oy, int64_t ox,
                   int64_t groups, const Ints& strides, const Ints& dilations, const Ints& pads) {
  const int64_t in_group = w.shape()[1], out_group = w.shape()[0] / groups;
  double sum = 0;
  for (int64_t ic = 0; ic < in_group; ++ic) {
    for (int64_t ky = 0; ky < w.shape()[2]; ++ky) {
      for (int64_t kx = 0; kx < w.shape()[3]; ++kx) {
        const int64_t iy = oy * strides[0] + ky * dilations[0] - pads[0];
        const int64_t ix = ox * strides[1] + kx * dilations[1] - pads[1];
        if (iy < 0 || ix < 0 || iy >= x.shape()[2] || ix >= x.shape()[3]) continue;
        const int64_t channel = oc / out_group * in_group + ic;
        sum += x.at(((n * x.shape()[1] + channel) * x.shape()[2] + iy) * x.shape()[3] + ix) *
               w.at(((oc * in_group + ic) * w.shape()[2] + ky) * w.shape()[3] + kx);
      }
    }
  }
  return sum;
}

TEST(RefConv, GroupsStridesAndDilationsFollowTheDefinition) {
  const Tensor x = noise({2, 4, 9, 11}, 1), w = noise({6, 2, 3, 2}, 2);
  const Ints strides{2, 3}, dilations{2, 1}, pads{2, 1, 0, 3};
  const auto y = run("Conv", {x, w},
                     {{"group", int64_t{2}}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}});
  ASSERT_TRUE(y.ok()) << y.error().message;
  const Shape& shape = (*y)[0].shape();
  ASSERT_EQ(shape, (Shape{2, 6, 4, 5}));
  std::vector<double> expected;
  for (int64_t i = 0; i < (*y)[0].size(); ++i) {
    expected.push_back(direct_conv(x, w, i / 120, i / 20 % 6, i / 5 % 4, i % 5, 2, strides, dilations, pads));
  }
  expect_values(y, 0, shape, expected, 1e-5);
}

TEST(RefConv, TransposedIsTheAdjoint) {
  // <conv(x), y> = <x, transposed(y)> for any x and y.
  const Tensor x = noise({1, 4, 7, 6}, 3), w = noise({6, 2, 3, 2}, 4);
  const Attributes attributes{{"group", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}};
  const auto forward = run("Conv", {x, w}, attributes);
  ASSERT_TRUE(forward.ok());
  const Tensor y = noise((*forward)[0].shape(), 5);
  const auto backward = run("ConvTranspose", {y, w}, attributes);
  ASSERT_TRUE(backward.ok()) << backward.error().message;
  ASSERT_EQ((*backward)[0].shape(), x.shape());
  double left = 0, right = 0;
  for (int64_t i = 0; i < y.size(); ++i) left += (*forward)[0].at(i) * y.at(i);
  for (int64_t i = 0; i < x.size(); ++i) right += x.at(i) * (*backward)[0].at(i);
  EXPECT_NEAR(left, right, 1e-4);
}

TEST(RefConv, QuantizedConvolutionScalesEachChannel) {
  const Tensor x = Tensor::of<uint8_t>(DType::kU8, {1, 1, 2}, std::vector<uint8_t>{12, 14});
  const Tensor w = Tensor::of<int8_t>(DType::kI8, {2, 1, 1}, std::vector<int8_t>{3, -3});
  const Tensor zero = Tensor::of<uint8_t>(DType::kU8, {}, std::vector<uint8_t>{10});
  const Tensor w_zero = Tensor::of<int8_t>(DType::kI8, {}, std::vector<int8_t>{0});
  const auto y =
      run("QLinearConv", {x, floats({}, {1}), zero, w, floats({2}, {1, 10}), w_zero, floats({}, {2}), zero});
  expect_values(y, 0, {1, 2, 2}, {13, 16, 0, 0});
}

TEST(RefConv, MisfitsAreErrors) {
  EXPECT_FALSE(run("Conv", {iota({1, 2, 3, 3}), kOnes}).ok());
  EXPECT_FALSE(run("Conv", {iota({1, 1, 2, 2}), kOnes}).ok());
  EXPECT_FALSE(run("Conv", {iota({1, 1, 3, 3}), kOnes}, {{"group", int64_t{0}}}).ok());
  EXPECT_FALSE(run("Conv", {iota({1, 1, 3, 3}), kOnes, floats({2}, {1, 2})}).ok());
  EXPECT_FALSE(run("Conv", {iota({3, 3}), kOnes}).ok());
}

TEST(RefDeformConv, WithoutOffsetsIsAConvolution) {
  const Tensor x = noise({1, 4, 5, 6}, 6), w = noise({2, 2, 2, 3}, 7);
  const Attributes attributes{{"group", int64_t{2}}, {"pads", Ints{1, 0, 0, 1}}};
  const auto plain = run("Conv", {x, w}, attributes);
  ASSERT_TRUE(plain.ok());
  const Shape& shape = (*plain)[0].shape();
  const auto y =
      run("DeformConv", {x, w, Tensor::zeros(DType::kF32, {1, 12, shape[2], shape[3]})}, attributes);
  expect_values(y, 0, shape, (*plain)[0].to_doubles(), 1e-5);
}

TEST(RefDeformConv, EachPlaceHasAnOffsetOfItsOwn) {
  const Tensor line = floats({1, 1, 3}, {1, 2, 4}), one = floats({1, 1, 1}, {1});
  expect_values(run("DeformConv", {line, one, floats({1, 1, 3}, {1, 0.5, -2})}), 0, {1, 1, 3}, {2, 3, 1});
}

// [weight rows] times the columns of samples is the convolution.
TEST(RefDeformConv, MultipliesItsColumns) {
  const Tensor x = noise({2, 3, 4, 5}, 6), w = noise({2, 3, 2, 2}, 7), offset = noise({2, 8, 3, 4}, 8),
               mask = noise({2, 4, 3, 4}, 9);
  const auto wanted = run("DeformConv", {x, w, offset, {}, mask});
  ASSERT_TRUE(wanted.ok());
  const Attributes window{{"kernel_shape", Ints{2, 2}}};
  const auto columns = run("hone.DeformColumns", {x, offset, mask}, window);
  ASSERT_TRUE(columns.ok()) << columns.error().message;
  const auto y = run("MatMul", {w.reshaped({2, 12}), (*columns)[0]});
  expect_values(y, 0, {2, 2, 12}, (*wanted)[0].to_doubles(), 1e-5);
  EXPECT_TRUE(fails("hone.DeformColumns", {x, noise({2, 8, 3, 3}, 8)}, window));
  EXPECT_TRUE(fails("hone.DeformColumns", {x, offset, noise({2, 8, 3, 4}, 9)}, window));
  EXPECT_TRUE(fails("hone.DeformColumnsGradient", {noise({2, 12, 11}, 3), x, offset, mask}, window));
  EXPECT_FALSE(run("hone.DeformColumnsGradient", {noise({2, 12, 12}, 3), x, offset}, window, 3).ok());
}

TEST(RefCol2Im, OverlappingWindowsAddUp) {
  const auto y = run("Col2Im", {floats({1, 2, 2}, {1, 2, 3, 4}), Tensor::i64({1}, std::vector<int64_t>{3}),
                                Tensor::i64({1}, std::vector<int64_t>{2})});
  expect_values(y, 0, {1, 1, 3}, {1, 5, 4});
}

TEST(RefCausalConv, CarriesTheLastInputs) {
  const Tensor w = floats({1, 1, 2}, {1, 10});
  const auto y =
      run("CausalConvWithState", {floats({1, 1, 2}, {1, 2}), w, {}, floats({1, 1, 1}, {5})}, {}, 2);
  expect_values(y, 0, {1, 1, 2}, {15, 21});
  expect_values(y, 1, {1, 1, 1}, {2});
}

TEST(RefPool, MaximumReportsWhereInEitherOrder) {
  const Tensor x = floats({1, 1, 2, 3}, {1, 5, 2, 4, 3, 6});
  const Attributes window{{"kernel_shape", Ints{2, 2}}};
  const auto y = run("MaxPool", {x}, window, 2);
  expect_values(y, 0, {1, 1, 1, 2}, {5, 6});
  expect_values(y, 1, {1, 1, 1, 2}, {1, 5});
  Attributes columns = window;
  columns.set("storage_order", int64_t{1});
  expect_values(run("MaxPool", {x}, columns, 2), 1, {1, 1, 1, 2}, {2, 5});
}

TEST(RefPool, AMaximumIsNanWhereverItsWindowHoldsOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Attributes window{{"kernel_shape", Ints{2}}};
  const Tensor x = floats({1, 1, 5}, {1, nan, 3, 2, 7});
  const auto y = run("MaxPool", {x}, window, 2);
  ASSERT_TRUE(y.ok()) << y.error().message;
  const auto values = (*y)[0].as<float>();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], 3);
  EXPECT_EQ(values[3], 7);
  EXPECT_EQ((*y)[1].as<int64_t>()[0], 1);
  EXPECT_EQ((*y)[1].as<int64_t>()[1], 1);
  EXPECT_TRUE(std::isnan((*run("GlobalMaxPool", {x}))[0].as<float>()[0]));
  expect_values(run("hone.MaxPoolGradient", {floats({1, 1, 4}, {1, 10, 100, 1000}), x}, window), 0, {1, 1, 5},
                {0, 11, 100, 0, 1000});
}

TEST(RefPool, AveragesCountPaddingOnlyWhenTold) {
  const Tensor x = floats({1, 1, 3}, {2, 4, 6});
  Attributes window{
      {"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  expect_values(run("AveragePool", {x}, window), 0, {1, 1, 2}, {2, 5});
  window.set("count_include_pad", int64_t{1});
  expect_values(run("AveragePool", {x}, window), 0, {1, 1, 2}, {1, 5});
}

TEST(RefPool, NormsAndGlobalPools) {
  const Tensor x = floats({1, 1, 2}, {-3, 4});
  expect_values(run("LpPool", {x}, {{"kernel_shape", Ints{2}}}), 0, {1, 1, 1}, {5});
  expect_values(run("GlobalLpPool", {x}, {{"p", int64_t{1}}}), 0, {1, 1, 1}, {7});
  expect_values(run("GlobalAveragePool", {x}), 0, {1, 1, 1}, {0.5});
  expect_values(run("GlobalMaxPool", {x}), 0, {1, 1, 1}, {4});
}

TEST(RefPool, UnpoolPutsElementsBackAndChecksIndices) {
  const Attributes window{{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
  const Tensor x = floats({1, 1, 2}, {7, 8});
  expect_values(run("MaxUnpool", {x, Tensor::i64({1, 1, 2}, std::vector<int64_t>{1, 2})}, window), 0,
                {1, 1, 4}, {0, 7, 8, 0});
  EXPECT_FALSE(run("MaxUnpool", {x, Tensor::i64({1, 1, 2}, std::vector<int64_t>{1, 4})}, window).ok());
}

TEST(RefPool, RegionsOutsideTheBatchAreErrors) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attributes pooled{{"pooled_shape", Ints{1, 1}}};
  expect_values(run("MaxRoiPool", {x, floats({1, 5}, {0, 0, 0, 1, 0})}, pooled), 0, {1, 1, 1, 1}, {2});
  EXPECT_FALSE(run("MaxRoiPool", {x, floats({1, 5}, {1, 0, 0, 1, 1})}, pooled).ok());
}

}  // namespace
}  // namespace hone::kernels::ref
