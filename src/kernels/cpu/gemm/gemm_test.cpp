// The own product and convolutions give what the definition gives: every row count of the register tile,
// tails of columns and depth, strides, epilogues, threads.
#include "kernels/cpu/dnnl/test_support.h"
#include "kernels/cpu/gemm/gathered_convolution.h"
#include "kernels/cpu/gemm/packed_matmul.h"
#include "kernels/cpu/gemm/pointwise_convolution.h"
#include "kernels/cpu/gemm/transposed_convolution.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;
using Kind = PostOp::Kind;

void expect_product_right(const MatMulDesc& desc) {
  SCOPED_TRACE(shape_text(desc.a_shape) + " x " + shape_text(desc.b_shape) + " [" +
               post_ops_text(desc.post_ops) + "]");
  const int64_t rows = desc.a_shape[0], depth = desc.a_shape[1], columns = desc.b_shape[1];
  const Shape a_strides = desc.a_strides.empty() ? Shape{depth, 1} : desc.a_strides;
  const Shape b_strides = desc.b_strides.empty() ? Shape{columns, 1} : desc.b_strides;
  const Tensor a = random_tensor({rows * a_strides[0]}, 1);
  const Tensor b = random_tensor(desc.b_shape, 2);
  const Tensor bias = random_tensor({columns}, 3);
  const Tensor residual = random_tensor({rows, columns}, 4);
  const auto made = PackedMatMul::create(desc, b.data(), bias.data());
  ASSERT_TRUE(made.ok()) << made.error().message;
  Tensor dst = poisoned(rows * columns + 1);
  (*made)->execute(a.as<float>().data(), residual.as<float>().data(), dst.as<float>().data());
  EXPECT_TRUE(std::isnan(dst.as<float>()[static_cast<std::size_t>(rows * columns)]));
  Values want;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = desc.has_bias ? bias.as<float>()[static_cast<std::size_t>(n)] : 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(a.as<float>()[static_cast<std::size_t>(m * a_strides[0] + k)]) *
               b.as<float>()[static_cast<std::size_t>(k * b_strides[0] + n * b_strides[1])];
      }
      want.push_back(sum);
    }
  }
  apply_epilogue(desc.post_ops, {rows, columns}, {residual}, {}, want);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(dst.as<float>()[i] - want[i]);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  EXPECT_LE(worst, 2e-6 * std::sqrt(static_cast<double>(depth)));
}

MatMulDesc product(int64_t rows, int64_t depth, int64_t columns) {
  MatMulDesc desc;
  desc.a_shape = {rows, depth};
  desc.b_shape = {depth, columns};
  desc.constant_b = true;
  desc.has_bias = true;
  return desc;
}

TEST(PackedMatMul, EveryRowCountIsRight) {
  for (int64_t rows = 1; rows <= 31; ++rows) expect_product_right(product(rows, 37, 83));
}

TEST(PackedMatMul, TailsOfColumnsAndDepthAreRight) {
  for (const int64_t rows : {1, 2, 4, 17}) {
    for (const int64_t columns : {1, 15, 16, 17, 31, 32, 33, 48, 127, 128, 130, 260})
      expect_product_right(product(rows, 19, columns));
    for (const int64_t depth : {1, 2, 15, 16, 17, 64, 101}) expect_product_right(product(rows, depth, 50));
  }
}

TEST(PackedMatMul, StridedFactorsAreRight) {
  for (const int64_t rows : {1, 3, 20}) {
    MatMulDesc desc = product(rows, 21, 45);
    desc.a_strides = {30, 1};
    desc.b_strides = {1, 21};
    desc.has_bias = false;
    expect_product_right(desc);
  }
}

TEST(PackedMatMul, LargeProductsAreRightOnEveryTeam) {
  const int team = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    expect_product_right(product(61, 300, 200));
    expect_product_right(product(300, 1100, 40));
    expect_product_right(product(1, 500, 1234));
  }
  set_thread_count(team);
}

TEST(PackedMatMul, EpiloguesAreRight) {
  const PostOp add = PostOp::binary(Kind::kBinaryAdd, {5, 45});
  const std::vector<std::vector<PostOp>> epilogues = {
      {PostOp::relu()},
      {PostOp::clip(-0.5F, 0.75F)},
      {add},
      {add, PostOp::relu()},
      {PostOp::of(Kind::kGeluErf)},
      {PostOp::of(Kind::kGeluTanh)},
      {add, PostOp::relu(), PostOp::of(Kind::kTanh)},
      {PostOp::of(Kind::kSigmoid), PostOp::relu(), PostOp::clip(0.2F, 0.6F)},
      {PostOp::of(Kind::kSwish, 1), PostOp::of(Kind::kLeakyRelu, 0.1F)},
      {PostOp::of(Kind::kHardSigmoid, 0.2F, 0.5F)},
      {PostOp::of(Kind::kHardSwish)}};
  for (const auto& epilogue : epilogues) {
    MatMulDesc desc = product(5, 33, 45);
    desc.post_ops = epilogue;
    expect_product_right(desc);
  }
}

TEST(PackedMatMul, RefusesWhatItDoesNotCompute) {
  MatMulDesc desc = product(5, 33, 45);
  desc.post_ops = {PostOp::binary(Kind::kBinaryAdd, {1, 45})};
  EXPECT_FALSE(PackedMatMul::supports(desc).ok());
  desc.post_ops = {PostOp::relu(), PostOp::binary(Kind::kBinaryAdd, {5, 45})};
  EXPECT_FALSE(PackedMatMul::supports(desc).ok());
  desc.post_ops = {PostOp::sum()};
  EXPECT_FALSE(PackedMatMul::supports(desc).ok());
  desc = product(5, 33, 45);
  desc.constant_b = false;
  EXPECT_FALSE(PackedMatMul::supports(desc).ok());
  desc = product(5, 33, 45);
  desc.a_strides = {1, 5};
  EXPECT_FALSE(PackedMatMul::supports(desc).ok());
}

TEST(PackedMatMul, KeepsNaNThroughTheClamp) {
  MatMulDesc desc = product(2, 3, 20);
  desc.post_ops = {PostOp::relu()};
  const Tensor b = random_tensor(desc.b_shape, 2);
  const Tensor bias = random_tensor({20}, 3);
  Tensor a = random_tensor(desc.a_shape, 1);
  a.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const auto made = PackedMatMul::create(desc, b.data(), bias.data());
  ASSERT_TRUE(made.ok());
  Tensor dst = Tensor::zeros(DType::kF32, {2, 20});
  (*made)->execute(a.as<float>().data(), nullptr, dst.as<float>().data());
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(dst.as<float>()[i]), i < 20) << i;
}

void expect_convolution_right(const ConvolutionDesc& desc) {
  expect_own_right<PointwiseConvolution>(desc, 3e-6);
}

ConvolutionDesc pointwise(int64_t in, int64_t out, Shape input, Shape strides) {
  ConvolutionDesc desc;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.kernel = Shape(input.size(), 1);
  desc.input = std::move(input);
  desc.strides = std::move(strides);
  desc.has_bias = true;
  desc.src_layout = desc.dst_layout = Layout::kBlocked16;
  return desc;
}

TEST(PointwiseConvolution, OddChannelsPixelsAndStridesAreRight) {
  const int team = thread_count();
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    for (const int64_t channels : {1, 16, 19, 40, 64}) {
      for (const int64_t stride : {1, 2, 3}) {
        expect_convolution_right(pointwise(channels, 48, {7, 9}, {stride, stride}));
        expect_convolution_right(pointwise(24, channels, {13, 5}, {stride, 1}));
        expect_convolution_right(pointwise(33, channels, {37}, {stride}));
      }
    }
    expect_convolution_right(pointwise(300, 100, {31, 29}, {1, 1}));
    expect_convolution_right(pointwise(300, 100, {31, 29}, {2, 2}));
  }
  set_thread_count(team);
}

TEST(PointwiseConvolution, BatchesAndEpiloguesAreRight) {
  ConvolutionDesc desc = pointwise(35, 52, {6, 7}, {});
  desc.batch = 3;
  const PostOp add = PostOp::binary(Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16);
  for (const std::vector<PostOp>& epilogue :
       {std::vector<PostOp>{PostOp::relu()}, {PostOp::clip(0, 6)}, {add}, {add, PostOp::relu()}}) {
    desc.post_ops = epilogue;
    expect_convolution_right(desc);
  }
  desc = pointwise(35, 64, {6, 7}, {2, 2});
  desc.batch = 2;
  desc.post_ops = {PostOp::of(Kind::kSigmoid)};
  expect_convolution_right(desc);
}

TEST(PointwiseConvolution, RefusesWhatItDoesNotCompute) {
  ConvolutionDesc desc = pointwise(32, 40, {6, 7}, {});
  desc.post_ops = {PostOp::of(Kind::kSigmoid)};  // would fill the padding with a half
  EXPECT_FALSE(PointwiseConvolution::supports(desc).ok());
  desc.post_ops = {PostOp::clip(0.5F, 1)};
  EXPECT_FALSE(PointwiseConvolution::supports(desc).ok());
  desc = pointwise(32, 32, {6, 7}, {});
  desc.groups = 2;
  EXPECT_FALSE(PointwiseConvolution::supports(desc).ok());
  desc = pointwise(32, 32, {6, 7}, {});
  desc.pads_begin = desc.pads_end = {1, 1};
  EXPECT_FALSE(PointwiseConvolution::supports(desc).ok());
  desc = pointwise(32, 32, {6, 7}, {});
  desc.src_layout = Layout::kChannelsLast;
  EXPECT_FALSE(PointwiseConvolution::supports(desc).ok());
}

ConvolutionDesc padded_window(int64_t in, int64_t out, Shape input, Shape kernel, Shape strides) {
  ConvolutionDesc desc = pointwise(in, out, std::move(input), std::move(strides));
  desc.pads_begin = {kernel[0] / 2, kernel[1] / 2};
  desc.pads_end = {(kernel[0] - 1) / 2, (kernel[1] - 1) / 2};
  desc.kernel = std::move(kernel);
  return desc;
}

void expect_gathered_right(const ConvolutionDesc& desc) { expect_own_right<GatheredConvolution>(desc, 3e-6); }

TEST(GatheredConvolution, EveryWindowIsRight) {
  for (const Shape& kernel : {Shape{1, 1}, Shape{3, 3}, Shape{2, 4}, Shape{7, 7}, Shape{1, 5}, Shape{4, 1}}) {
    for (const Shape& strides : {Shape{1, 1}, Shape{2, 2}, Shape{1, 3}}) {
      ConvolutionDesc desc = padded_window(18, 40, {13, 11}, kernel, strides);
      expect_gathered_right(desc);
      desc.dilations = {1, 2};
      desc.pads_begin = {kernel[0] - 1, 2 * kernel[1]};  // whole windows outside the image
      desc.pads_end = {0, kernel[1] + 3};
      expect_gathered_right(desc);
    }
  }
}

TEST(GatheredConvolution, TailsAndEveryTeamAreRight) {
  const int team = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const int64_t channels : {1, 15, 33, 50}) {
      expect_gathered_right(padded_window(channels, 48, {9, 7}, {3, 3}, {2, 2}));
      expect_gathered_right(padded_window(24, channels, {9, 7}, {3, 3}, {2, 2}));
    }
    expect_gathered_right(padded_window(70, 100, {7, 7}, {3, 3}, {1, 1}));  // few pixels: gathered together
    expect_gathered_right(
        padded_window(3, 130, {43, 61}, {3, 3}, {2, 2}));  // many: each thread gathers its own
    expect_gathered_right(padded_window(40, 20, {23, 31}, {5, 5}, {1, 2}));
  }
  set_thread_count(team);
}

TEST(GatheredConvolution, BatchesAndEpiloguesAreRight) {
  ConvolutionDesc desc = padded_window(35, 52, {6, 7}, {3, 3}, {2, 1});
  desc.batch = 3;
  const PostOp add = PostOp::binary(Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16);
  for (const std::vector<PostOp>& epilogue :
       {std::vector<PostOp>{PostOp::relu()}, {PostOp::clip(0, 6)}, {add}, {add, PostOp::relu()}}) {
    desc.post_ops = epilogue;
    expect_gathered_right(desc);
  }
  desc = padded_window(35, 64, {6, 7}, {3, 3}, {2, 2});
  desc.post_ops = {PostOp::of(Kind::kSwish, 1)};
  expect_gathered_right(desc);
}

TEST(GatheredConvolution, RefusesWhatItDoesNotCompute) {
  ConvolutionDesc desc = padded_window(32, 40, {6, 7}, {3, 3}, {2, 2});
  EXPECT_TRUE(GatheredConvolution::supports(desc).ok());
  desc.post_ops = {PostOp::of(Kind::kSigmoid)};  // would fill the padding with a half
  EXPECT_FALSE(GatheredConvolution::supports(desc).ok());
  desc = padded_window(32, 32, {6, 7}, {3, 3}, {2, 2});
  desc.groups = 2;
  EXPECT_FALSE(GatheredConvolution::supports(desc).ok());
  desc = padded_window(32, 32, {6, 7}, {3, 3}, {2, 2});
  desc.dst_layout = Layout::kPlain;
  EXPECT_FALSE(GatheredConvolution::supports(desc).ok());
}

ConvolutionDesc enlarging(int64_t in, int64_t out, Shape input, Shape factors) {
  ConvolutionDesc desc = pointwise(in, out, std::move(input), factors);
  desc.kernel = std::move(factors);
  desc.transposed = true;
  return desc;
}

void expect_transposed_right(const ConvolutionDesc& desc) {
  expect_own_right<TransposedConvolution>(desc, 3e-6);
}

TEST(TransposedConvolution, OddChannelsPixelsAndFactorsAreRight) {
  const int team = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const int64_t channels : {1, 16, 19, 70}) {
      for (const Shape& factors : {Shape{1, 1}, Shape{2, 2}, Shape{3, 1}, Shape{1, 4}}) {
        expect_transposed_right(enlarging(channels, 48, {5, 7}, factors));
        expect_transposed_right(enlarging(24, channels, {3, 17}, factors));
      }
    }
    expect_transposed_right(enlarging(130, 100, {11, 29}, {2, 2}));
  }
  set_thread_count(team);
}

TEST(TransposedConvolution, BatchesAndEpiloguesAreRight) {
  ConvolutionDesc desc = enlarging(35, 52, {6, 7}, {2, 2});
  desc.batch = 3;
  const PostOp add = PostOp::binary(Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16);
  for (const std::vector<PostOp>& epilogue :
       {std::vector<PostOp>{PostOp::relu()}, {PostOp::clip(0, 6)}, {add}, {add, PostOp::relu()}}) {
    desc.post_ops = epilogue;
    expect_transposed_right(desc);
  }
  desc = enlarging(35, 64, {6, 7}, {2, 3});
  desc.post_ops = {PostOp::of(Kind::kSwish, 1)};
  expect_transposed_right(desc);
}

TEST(TransposedConvolution, RefusesWhatItDoesNotCompute) {
  const ConvolutionDesc good = enlarging(32, 32, {6, 7}, {2, 2});
  EXPECT_TRUE(TransposedConvolution::supports(good).ok());
  ConvolutionDesc desc = good;
  desc.kernel = {3, 3};  // windows overlap
  EXPECT_FALSE(TransposedConvolution::supports(desc).ok());
  desc = good;
  desc.output_padding = {1, 0};
  EXPECT_FALSE(TransposedConvolution::supports(desc).ok());
  desc = good;
  desc.pads_end = {0, 1};
  EXPECT_FALSE(TransposedConvolution::supports(desc).ok());
  desc = good;
  desc.groups = 2;
  EXPECT_FALSE(TransposedConvolution::supports(desc).ok());
  desc = good;
  desc.transposed = false;
  EXPECT_FALSE(TransposedConvolution::supports(desc).ok());
}

}  // namespace
}  // namespace hone::kernels
