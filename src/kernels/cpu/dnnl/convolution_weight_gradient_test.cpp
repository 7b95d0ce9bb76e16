// oneDNN's weight gradients against the reference kernel, every implementation that is offered.
#include "kernels/cpu/dnnl/convolution_weight_gradient.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "kernels/ref/ref.h"

namespace hone::kernels {
namespace {

Tensor uniform(const Shape& shape, uint32_t seed) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (float& value : tensor.as<float>()) value = draw(random);
  return tensor;
}

void check(const ConvolutionDesc& desc) {
  SCOPED_TRACE(describe(desc));
  const Tensor x = uniform(desc.src_shape(), 1), g = uniform(desc.dst_shape(), 2);
  Ints pads = desc.pads_begin;
  pads.insert(pads.end(), desc.pads_end.begin(), desc.pads_end.end());
  const Attributes attributes{{"kernel_shape", Ints(desc.kernel)},
                              {"strides", Ints(desc.strides)},
                              {"dilations", Ints(desc.dilations)},
                              {"pads", pads},
                              {"group", desc.groups}};
  const std::vector<Tensor> inputs{x, g};
  const auto wanted = ref::ref_table().find("hone.ConvWeightGradient")(
      {.op = "hone.ConvWeightGradient", .attributes = attributes, .inputs = inputs});
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  const auto candidates = ConvolutionWeightGradient::candidates(desc);
  ASSERT_FALSE(candidates.empty());
  for (const ConvolutionDesc& candidate : candidates) {
    SCOPED_TRACE(candidate.implementation);
    const auto made = ConvolutionWeightGradient::create(candidate);
    ASSERT_TRUE(made.ok()) << made.error().message;
    Tensor got(DType::kF32, desc.weights_shape());
    for (float& value : got.as<float>()) value = std::numeric_limits<float>::quiet_NaN();
    Tensor scratch(DType::kU8, {static_cast<int64_t>((*made)->scratch_bytes()) + 64});
    for (uint8_t& byte : scratch.as<uint8_t>()) byte = 0xff;
    for (int run = 0; run < 2; ++run) {  // what one run leaves in scratch does not matter to the next
      ASSERT_TRUE((*made)->execute(x.data(), g.data(), got.data(), scratch.data()).ok());
      for (int64_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got.at(i), (*wanted)[0].at(i), 2e-3) << i;
    }
  }
}

// Strides and dilations of 1 and no pads, until they are set.
ConvolutionDesc conv(int64_t batch, int64_t in, int64_t out, const Shape& input, const Shape& kernel) {
  ConvolutionDesc desc;
  desc.batch = batch;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.input = input;
  desc.kernel = kernel;
  desc.strides = desc.dilations = Shape(input.size(), 1);
  desc.pads_begin = desc.pads_end = Shape(input.size(), 0);
  return desc;
}

TEST(ConvolutionWeightGradient, IsTheReferencesForPlainWindows) {
  ConvolutionDesc padded = conv(2, 16, 32, {9, 10}, {3, 3});
  padded.pads_begin = padded.pads_end = {1, 1};
  check(padded);
  ConvolutionDesc odd = conv(3, 3, 17, {11, 8}, {3, 2});
  odd.pads_begin = {1, 0};
  odd.pads_end = {0, 1};
  check(odd);
  check(conv(2, 8, 8, {7, 7}, {1, 1}));
}

TEST(ConvolutionWeightGradient, IsTheReferencesForStridesThatLeaveRowsUnread) {
  for (const int64_t extent : {9, 10, 11}) {
    ConvolutionDesc desc = conv(2, 16, 16, {extent, 12}, {3, 3});
    desc.strides = {3, 2};
    desc.pads_begin = {0, 1};
    check(desc);
  }
}

TEST(ConvolutionWeightGradient, IsTheReferencesForGroupsDilationsAndOtherRanks) {
  ConvolutionDesc grouped = conv(2, 12, 8, {9, 9}, {3, 3});
  grouped.groups = 4;
  grouped.dilations = {2, 1};
  grouped.pads_begin = grouped.pads_end = {2, 1};
  check(grouped);
  ConvolutionDesc depthwise = conv(2, 16, 16, {9, 9}, {3, 3});
  depthwise.groups = 16;
  depthwise.strides = {2, 2};
  depthwise.pads_begin = depthwise.pads_end = {1, 1};
  check(depthwise);
  ConvolutionDesc line = conv(2, 5, 7, {13}, {4});
  line.strides = {2};
  line.pads_begin = {1};
  line.pads_end = {2};
  check(line);
  ConvolutionDesc volume = conv(1, 4, 6, {5, 6, 7}, {3, 2, 3});
  volume.strides = {1, 1, 2};
  volume.pads_begin = {1, 0, 1};
  volume.pads_end = {1, 1, 1};
  check(volume);
}

}  // namespace
}  // namespace hone::kernels
