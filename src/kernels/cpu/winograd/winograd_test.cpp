// The own Winograd convolution gives what the definition gives: tiles that end outside the image, paddings,
// tails of channels, epilogues, batches, and every way to share the work among threads.
#include "kernels/cpu/winograd/winograd.h"

#include "kernels/cpu/dnnl/test_support.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;

ConvolutionDesc three_by_three(int64_t in, int64_t out, Shape input, Shape begin = {1, 1},
                               Shape end = {1, 1}) {
  ConvolutionDesc desc;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.input = std::move(input);
  desc.kernel = {3, 3};
  desc.pads_begin = std::move(begin);
  desc.pads_end = std::move(end);
  desc.has_bias = true;
  desc.src_layout = desc.dst_layout = Layout::kBlocked16;
  return desc;
}

void expect_winograd_right(const ConvolutionDesc& desc) {
  for (const WinogradTile tile : {WinogradTile::k2x2, WinogradTile::k4x4}) {
    expect_created_right(
        desc,
        [tile](const ConvolutionDesc& d, const void* weights, const void* bias) {
          return WinogradConvolution::create(d, tile, weights, bias);
        },
        tile == WinogradTile::k2x2 ? 2e-6 : 6e-6);
  }
}

TEST(WinogradConvolution, EverySizeAndPaddingIsRight) {
  for (int64_t side = 1; side <= 11; ++side) expect_winograd_right(three_by_three(16, 16, {side, 12 - side}));
  expect_winograd_right(three_by_three(16, 32, {9, 6}, {0, 0}, {0, 0}));
  expect_winograd_right(three_by_three(16, 32, {5, 7}, {2, 0}, {0, 2}));
  expect_winograd_right(three_by_three(16, 32, {5, 7}, {0, 3}, {4, 1}));
  expect_winograd_right(three_by_three(16, 16, {3, 3}, {0, 0}, {0, 0}));
}

TEST(WinogradConvolution, TailsOfChannelsAreRight) {
  for (const int64_t channels : {1, 15, 17, 33, 50}) {
    expect_winograd_right(three_by_three(channels, 40, {6, 9}));
    expect_winograd_right(three_by_three(24, channels, {6, 9}));
  }
}

TEST(WinogradConvolution, EveryTeamGivesTheSame) {
  const int team = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    expect_winograd_right(three_by_three(3, 40, {37, 43}));   // many tiles: each thread takes its own
    expect_winograd_right(three_by_three(2, 200, {25, 31}));  // with several groups of panels
    expect_winograd_right(three_by_three(130, 100, {7, 7}));  // few tiles: data are shared
    expect_winograd_right(three_by_three(1, 16, {70, 69}));   // an odd number of chunks
  }
  set_thread_count(team);
}

TEST(WinogradConvolution, RunsOnALargerTeamThanItWasMadeFor) {
  const int team = thread_count();
  for (const Shape& input : {Shape{30, 31}, Shape{7, 7}}) {
    const ConvolutionDesc desc = three_by_three(9, 40, input);
    const auto create = [](const ConvolutionDesc& d, const void* weights, const void* bias) {
      set_thread_count(1);
      auto made = WinogradConvolution::create(d, WinogradTile::k4x4, weights, bias);
      set_thread_count(4);
      return made;
    };
    expect_created_right(desc, create, 6e-6);
  }
  set_thread_count(team);
}

TEST(WinogradConvolution, BatchesAndEpiloguesAreRight) {
  ConvolutionDesc desc = three_by_three(35, 52, {6, 7});
  desc.batch = 3;
  const PostOp add = PostOp::binary(PostOp::Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16);
  for (const std::vector<PostOp>& epilogue :
       {std::vector<PostOp>{PostOp::relu()}, {PostOp::clip(0, 6)}, {add}, {add, PostOp::relu()}}) {
    desc.post_ops = epilogue;
    expect_winograd_right(desc);
  }
  desc = three_by_three(35, 64, {9, 7});
  desc.batch = 2;
  desc.post_ops = {PostOp::of(PostOp::Kind::kSigmoid)};
  expect_winograd_right(desc);
  desc.post_ops = {PostOp::of(PostOp::Kind::kSwish, 1)};
  expect_winograd_right(desc);
  desc.post_ops = {};
  desc.has_bias = false;
  const auto made = WinogradConvolution::create(desc, WinogradTile::k4x4,
                                                random_tensor(desc.weights_shape(), 1).data(), nullptr);
  EXPECT_TRUE(made.ok());
}

TEST(WinogradConvolution, RefusesWhatItDoesNotCompute) {
  const auto refuses = [](const ConvolutionDesc& desc) { return !WinogradConvolution::supports(desc).ok(); };
  EXPECT_FALSE(refuses(three_by_three(32, 40, {6, 7})));
  ConvolutionDesc desc = three_by_three(32, 40, {6, 7});
  desc.post_ops = {PostOp::of(PostOp::Kind::kSigmoid)};  // would fill the padding with a half
  EXPECT_TRUE(refuses(desc));
  desc = three_by_three(32, 32, {6, 7});
  desc.strides = {2, 2};
  EXPECT_TRUE(refuses(desc));
  desc = three_by_three(32, 32, {6, 7});
  desc.dilations = {1, 2};
  EXPECT_TRUE(refuses(desc));
  desc = three_by_three(32, 32, {6, 7});
  desc.groups = 2;
  EXPECT_TRUE(refuses(desc));
  desc = three_by_three(32, 32, {6, 7});
  desc.kernel = {3, 5};
  EXPECT_TRUE(refuses(desc));
  desc = three_by_three(32, 32, {6, 7});
  desc.src_layout = Layout::kChannelsLast;
  EXPECT_TRUE(refuses(desc));
}

}  // namespace
}  // namespace hone::kernels
