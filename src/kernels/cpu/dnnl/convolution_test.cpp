// Every variant of a convolution gives what the definition gives.
#include "kernels/cpu/dnnl/convolution.h"

#include "kernels/cpu/dnnl/test_support.h"

namespace hone::kernels {
namespace {

using namespace hone::kernels::testing;
using Kind = PostOp::Kind;

// Runs one variant on random data and compares it with the definition.
void expect_right(const ConvolutionDesc& desc, unsigned seed = 7) {
  SCOPED_TRACE(std::string(desc.transposed ? "transposed " : "") + shape_text(desc.weights_shape()) +
               " groups " + std::to_string(desc.groups) + " on " + shape_text(desc.src_shape()) + " " +
               std::string(layout_name(desc.src_layout)) + " to " +
               std::string(layout_name(desc.dst_layout)) + " " + std::string(algorithm_name(desc.algorithm)) +
               " " + desc.implementation + " [" + post_ops_text(desc.post_ops) + "]");
  const Tensor src = random_tensor(desc.src_shape(), seed);
  const Tensor weights = random_tensor(desc.weights_shape(), seed + 1);
  const Tensor bias = random_tensor({desc.out_channels}, seed + 2);
  const Shape dst_shape = desc.dst_shape();
  auto kernel = Convolution::create(desc, weights.data(), bias.data());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;

  std::vector<Tensor> operands;
  std::vector<Tensor> held;
  std::vector<const void*> pointers;
  bool sums = false;
  for (const PostOp& op : desc.post_ops) {
    sums = sums || op.kind == Kind::kSum;
    if (!op.is_binary()) continue;
    operands.push_back(random_tensor(op.operand_shape, seed + 10 + static_cast<unsigned>(operands.size())));
    held.push_back(op.operand_layout == Layout::kPlain || desc.given_plain
                       ? operands.back()
                       : stored(operands.back(), dst_shape, op.operand_layout));
  }
  for (const Tensor& operand : held) pointers.push_back(operand.data());

  const Tensor before = random_tensor(dst_shape, seed + 3);
  const auto outside = [&](Layout layout) { return desc.given_plain ? Layout::kPlain : layout; };
  Tensor dst = sums ? stored(before, dst_shape, desc.dst_layout)
                    : poisoned(storage_elements(dst_shape, outside(desc.dst_layout)));
  const Tensor input = stored(src, desc.src_shape(), outside(desc.src_layout));
  Tensor scratch = poisoned(static_cast<int64_t>((*kernel)->scratch_bytes() / 4 + 16));
  const Status ran = (*kernel)->execute(input.data(), dst.data(), pointers, scratch.data());
  ASSERT_TRUE(ran.ok()) << ran.error().message;

  Values want = convolve(desc, src, weights, bias);
  apply_epilogue(desc.post_ops, dst_shape, operands, values_of(before), want);
  const double tolerance = desc.algorithm == ConvolutionAlgorithm::kWinograd ? 2e-5 : 3e-6;
  expect_stored(dst, want, dst_shape, outside(desc.dst_layout), tolerance);
}

void expect_all_variants_right(const ConvolutionDesc& desc, std::size_t at_least) {
  const auto variants = Convolution::candidates(desc);
  EXPECT_GE(variants.size(), at_least);
  for (const ConvolutionVariant& variant : variants) {
    ConvolutionDesc chosen = desc;
    variant.apply_to(chosen);
    expect_right(chosen);
  }
}

ConvolutionDesc square(int64_t in, int64_t out, int64_t side, int64_t kernel, int64_t stride,
                       int64_t groups = 1) {
  ConvolutionDesc desc;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.groups = groups;
  desc.input = {side, side};
  desc.kernel = {kernel, kernel};
  desc.strides = {stride, stride};
  desc.pads_begin = {kernel / 2, kernel / 2};
  desc.pads_end = desc.pads_begin;
  desc.has_bias = true;
  return desc;
}

TEST(Convolution, PlainImagesAreBroughtToOtherLayoutsAndBack) {
  for (const bool transposed : {false, true}) {
    ConvolutionDesc desc = square(19, 35, 9, 3, 1);
    desc.transposed = transposed;
    if (!transposed) desc.post_ops = {PostOp::relu(), PostOp::binary(Kind::kBinaryAdd, desc.dst_shape())};
    const auto variants = Convolution::candidates_given_plain(desc);
    EXPECT_GE(variants.size(), 2U);
    for (const ConvolutionVariant& variant : variants) {
      ConvolutionDesc chosen = desc;
      variant.apply_to(chosen);
      expect_right(chosen);
    }
  }
}

TEST(Convolution, EveryVariantOfATypicalLayerIsRight) {
  expect_all_variants_right(square(32, 48, 10, 3, 1), 3);
}

TEST(Convolution, OddChannelCountsLeaveZeroPadding) { expect_all_variants_right(square(19, 35, 9, 3, 1), 3); }

TEST(Convolution, FirstLayerReadsPlainAndWritesBlocked) {
  expect_all_variants_right(square(3, 32, 19, 7, 2), 3);
}

TEST(Convolution, PointwiseIsRightInEveryVariant) {
  expect_all_variants_right(square(24, 40, 11, 1, 1), 3);
  expect_all_variants_right(square(40, 33, 7, 1, 2), 3);
}

TEST(Convolution, DepthwiseAndGroupsAreRight) {
  expect_all_variants_right(square(32, 32, 10, 3, 1, 32), 2);
  expect_all_variants_right(square(20, 20, 9, 5, 2, 20), 1);
  expect_all_variants_right(square(32, 32, 7, 3, 1, 2), 1);
  expect_all_variants_right(square(12, 18, 8, 3, 1, 3), 1);
}

TEST(Convolution, DepthwiseIsRightAtEveryBorder) {
  struct Case {
    int64_t channels, rows, columns, kernel, stride, dilation, begin, end;
  };
  const Case cases[] = {{35, 7, 29, 3, 1, 1, 1, 1}, {16, 9, 31, 3, 2, 1, 0, 1}, {24, 6, 19, 5, 1, 1, 2, 2},
                        {8, 11, 26, 5, 2, 1, 1, 2}, {33, 9, 17, 7, 1, 1, 3, 3}, {20, 12, 13, 3, 1, 3, 3, 2},
                        {17, 5, 4, 7, 1, 1, 3, 3},  {16, 8, 9, 2, 3, 2, 0, 0}};
  const std::vector<std::vector<PostOp>> epilogues = {
      {PostOp::clip(0, 6)},
      {PostOp::of(Kind::kSigmoid)},
      {PostOp::of(Kind::kHardSwish), PostOp::of(Kind::kSwish, 1)},
      {PostOp::of(Kind::kLeakyRelu, 0.1F)},
      {PostOp::of(Kind::kHardSigmoid, 0.2F, 0.5F)},
      {PostOp::relu()}};
  std::size_t next = 0;
  for (const Case& c : cases) {
    ConvolutionDesc desc = square(c.channels, c.channels, 1, c.kernel, c.stride, c.channels);
    desc.batch = 2;
    desc.input = {c.rows, c.columns};
    desc.dilations = {c.dilation, c.dilation};
    desc.pads_begin = {c.begin, c.begin};
    desc.pads_end = {c.end, c.end};
    desc.post_ops = epilogues[next++ % epilogues.size()];
    for (const Layout layout : {Layout::kBlocked16, Layout::kChannelsLast}) {
      desc.src_layout = layout;
      desc.dst_layout = layout;
      expect_right(desc);
    }
  }
}

TEST(Convolution, BatchesDilationsAndAsymmetricPadsAreRight) {
  ConvolutionDesc desc = square(16, 24, 17, 3, 1);
  desc.batch = 3;
  desc.input = {17, 12};
  desc.kernel = {3, 2};
  desc.strides = {2, 1};
  desc.dilations = {2, 3};
  desc.pads_begin = {0, 2};
  desc.pads_end = {3, 1};
  expect_all_variants_right(desc, 2);
}

TEST(Convolution, FloorRoundingLeavesInputUnread) {
  ConvolutionDesc desc = square(8, 16, 10, 3, 4);
  desc.pads_begin = {0, 0};
  desc.pads_end = {0, 0};
  expect_all_variants_right(desc, 2);
}

TEST(Convolution, OneAndThreeSpatialAxesAreRight) {
  ConvolutionDesc line;
  line.in_channels = 16;
  line.out_channels = 20;
  line.input = {37};
  line.kernel = {5};
  line.pads_begin = {2};
  line.pads_end = {1};
  expect_all_variants_right(line, 2);
  ConvolutionDesc volume = line;
  volume.input = {5, 6, 7};
  volume.kernel = {3, 1, 3};
  volume.pads_begin = {1, 0, 1};
  volume.pads_end = {1, 0, 0};
  expect_all_variants_right(volume, 2);
}

TEST(Convolution, WithoutBiasIsRight) {
  ConvolutionDesc desc = square(16, 16, 8, 3, 1);
  desc.has_bias = false;
  expect_all_variants_right(desc, 3);
}

TEST(Convolution, TransposedIsRight) {
  ConvolutionDesc desc = square(16, 24, 7, 2, 2);
  desc.transposed = true;
  desc.pads_begin = {0, 0};
  desc.pads_end = {0, 0};
  expect_all_variants_right(desc, 1);
  desc = square(12, 10, 6, 4, 2, 2);
  desc.transposed = true;
  desc.pads_begin = {1, 0};
  desc.pads_end = {2, 1};
  desc.output_padding = {1, 0};
  desc.dilations = {1, 2};
  expect_right(desc);
}

TEST(Convolution, EveryActivationIsRight) {
  const PostOp shift = PostOp::of(Kind::kLinear, 0.25F, 2.0F);  // makes log and sqrt defined
  const std::vector<PostOp> activations = {
      PostOp::relu(),
      PostOp::of(Kind::kLeakyRelu, 0.1F),
      PostOp::clip(0, 6),
      PostOp::of(Kind::kSigmoid),
      PostOp::of(Kind::kTanh),
      PostOp::of(Kind::kGeluErf),
      PostOp::of(Kind::kGeluTanh),
      PostOp::of(Kind::kSwish, 1),
      PostOp::of(Kind::kSwish, 1.7F),
      PostOp::of(Kind::kHardSigmoid, 0.2F, 0.5F),
      PostOp::of(Kind::kHardSwish),
      PostOp::of(Kind::kElu, 0.7F),
      PostOp::of(Kind::kAbs),
      PostOp::of(Kind::kExp),
      PostOp::of(Kind::kSquare),
      PostOp::of(Kind::kMish),
      PostOp::of(Kind::kSoftplus),
      PostOp::of(Kind::kLinear, -1.5F, 0.3F),
  };
  for (const PostOp& activation : activations) {
    ConvolutionDesc desc = square(4, 17, 5, 1, 1);
    desc.post_ops = {activation};
    for (const Layout layout : all_layouts()) {
      desc.src_layout = layout;
      desc.dst_layout = layout;
      expect_right(desc);
    }
  }
  for (const Kind kind : {Kind::kSqrt, Kind::kLog}) {
    ConvolutionDesc desc = square(4, 17, 5, 1, 1);
    desc.post_ops = {shift, PostOp::of(Kind::kAbs), PostOp::of(kind)};
    expect_right(desc);
  }
}

TEST(Convolution, EveryBinaryPostOpIsRight) {
  for (const Kind kind :
       {Kind::kBinaryAdd, Kind::kBinaryMul, Kind::kBinarySub, Kind::kBinaryMax, Kind::kBinaryMin}) {
    for (const Shape& operand : {Shape{1, 19, 6, 6}, Shape{19, 1, 1}, Shape{1}}) {
      ConvolutionDesc desc = square(8, 19, 6, 3, 1);
      desc.post_ops = {PostOp::binary(kind, operand), PostOp::relu()};
      for (const Layout layout : all_layouts()) {
        ConvolutionDesc chosen = desc;
        ConvolutionVariant{layout, layout, ConvolutionAlgorithm::kAuto, ""}.apply_to(chosen);
        expect_right(chosen);
      }
    }
  }
}

TEST(Convolution, ResidualAddIsRightInPlaceAndWithOperandInEveryVariant) {
  ConvolutionDesc desc = square(32, 32, 10, 3, 1);
  desc.post_ops = {PostOp::sum(), PostOp::relu()};
  expect_all_variants_right(desc, 3);
  desc.post_ops = {PostOp::binary(Kind::kBinaryAdd, desc.dst_shape()), PostOp::relu()};
  expect_all_variants_right(desc, 3);
  desc = square(32, 24, 10, 1, 1);
  desc.post_ops = {PostOp::binary(Kind::kBinaryAdd, desc.dst_shape()), PostOp::clip(0, 6)};
  expect_all_variants_right(desc, 3);
}

TEST(Convolution, BadDescriptionsAreErrorsAndNotCrashes) {
  const Tensor weights = random_tensor({64, 64, 3, 3}, 1);
  ConvolutionDesc desc = square(16, 16, 8, 3, 1);
  desc.groups = 3;
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
  desc = square(16, 16, 8, 3, 1);
  desc.kernel = {20, 20};
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
  EXPECT_TRUE(Convolution::candidates(desc).empty());
  desc = square(16, 16, 8, 3, 1);
  desc.strides = {1};
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
  desc = square(16, 16, 8, 3, 1);
  desc.dtype = DType::kI8;
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
  desc = square(16, 16, 8, 3, 1);
  desc.post_ops = {PostOp::binary(Kind::kBinaryAdd, {3, 3})};
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
  desc = square(16, 16, 8, 3, 1);
  desc.implementation = "no such kernel";
  EXPECT_FALSE(Convolution::create(desc, weights.data(), weights.data()).ok());
}

}  // namespace
}  // namespace hone::kernels
