// The own depthwise convolution gives what the definition gives, at every border.
#include "kernels/cpu/depthwise/depthwise.h"

#include "kernels/cpu/dnnl/test_support.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;
using Kind = PostOp::Kind;

ConvolutionDesc depthwise(int64_t channels, Shape input, int64_t kernel, int64_t stride, int64_t begin,
                          int64_t end) {
  ConvolutionDesc desc;
  desc.in_channels = desc.out_channels = desc.groups = channels;
  desc.input = std::move(input);
  desc.kernel = {kernel, kernel};
  desc.strides = {stride, stride};
  desc.pads_begin = {begin, begin};
  desc.pads_end = {end, end};
  desc.has_bias = true;
  desc.src_layout = desc.dst_layout = Layout::kBlocked16;
  return desc;
}

void expect_depthwise_right(const ConvolutionDesc& desc) {
  expect_own_right<DepthwiseConvolution>(desc, 1e-6);
}

TEST(DepthwiseConvolution, IsRightAtEveryWidthAndBorder) {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {1, 2, 5, 7, 8, 16, 19, 35, 66}) {
        for (const int64_t pad : {0, 1, 2}) {
          if (width + pad + 1 < kernel) continue;
          expect_depthwise_right(depthwise(19, {6, width}, kernel, stride, pad, 1));
        }
      }
    }
  }
}

TEST(DepthwiseConvolution, FewRowsAndWidePaddingAreRight) {
  expect_depthwise_right(depthwise(16, {1, 1}, 5, 1, 2, 2));
  expect_depthwise_right(depthwise(3, {2, 3}, 5, 2, 4, 4));
  expect_depthwise_right(depthwise(33, {3, 40}, 3, 1, 2, 2));
}

TEST(DepthwiseConvolution, BatchesTeamsAndEpiloguesAreRight) {
  const int team = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    ConvolutionDesc desc = depthwise(48, {17, 20}, 3, 1, 1, 1);
    desc.batch = 2;
    const PostOp add = PostOp::binary(Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16);
    for (const std::vector<PostOp>& epilogue : {std::vector<PostOp>{PostOp::relu()},
                                                {PostOp::clip(0, 6)},
                                                {PostOp::of(Kind::kSwish, 1)},
                                                {PostOp::of(Kind::kHardSwish)},
                                                {add, PostOp::relu()}}) {
      desc.post_ops = epilogue;
      expect_depthwise_right(desc);
    }
  }
  set_thread_count(team);
}

TEST(DepthwiseConvolution, RefusesWhatItDoesNotCompute) {
  ConvolutionDesc desc = depthwise(20, {9, 9}, 3, 1, 1, 1);
  EXPECT_TRUE(DepthwiseConvolution::supports(desc).ok());
  desc.post_ops = {PostOp::of(Kind::kSigmoid)};  // would fill the padding with a half
  EXPECT_FALSE(DepthwiseConvolution::supports(desc).ok());
  desc.post_ops = {};
  desc.dilations = {2, 2};
  EXPECT_FALSE(DepthwiseConvolution::supports(desc).ok());
  EXPECT_FALSE(DepthwiseConvolution::supports(depthwise(16, {9, 9}, 7, 1, 1, 1)).ok());
  EXPECT_FALSE(DepthwiseConvolution::supports(depthwise(16, {9, 9}, 3, 3, 1, 1)).ok());
  EXPECT_FALSE(DepthwiseConvolution::supports(depthwise(16, {9, 9}, 3, 1, 3, 1)).ok());
}

}  // namespace
}  // namespace hone::kernels
