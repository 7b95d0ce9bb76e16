#include "analyze/device/busy/long_kernels.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

// 48 sounds of 64000 numbers, in the echoes of 48 rooms, as conv1d is recorded.
constexpr double kPositions = 64'000;

// The transforms of 48 sounds, echoes and results of 2^17 numbers, each passed over ten times.
constexpr double kSpectraNs = 3 * 48 * 131'072.0 * 4 * 10 / 4.224e12 * 1e9;

WorkWords convolution(std::string inputs, double flops, double us = 7000, DType dtype = DType::kF32,
                      std::string kind = "aten::_conv_depthwise2d") {
  return {.kind = std::move(kind),
          .op_class = OperatorClass::kConvolution,
          .dtype = dtype,
          .inputs = std::move(inputs),
          .flops = flops,
          .bytes = 15e6,
          .written = 12e6,
          .us = us,
          .kernel = "conv_depthwise2d_forward_kernel_generic"};
}
WorkWords echoes(DType dtype = DType::kF32, double us = 7000) {
  const std::string name = dtype == DType::kF32 ? "f32" : "bf16";
  return convolution(name + "[1,48,1,71999] " + name + "[48,1,1,8000] =[1,8000] - =[1,1] =[0,0] =[1,1]",
                     2 * 8000 * kPositions * 48, us, dtype);
}

WorkSplit split_of(const WorkWords& words) {
  Works made;
  const uint32_t work = made.run(words);
  made.end_step();
  return made.split().works[work];
}

TEST(LongKernels, AreFasterAsAProductOfSpectraInAnyType) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const WorkSplit split = split_of(echoes(dtype));
    EXPECT_EQ(split.cause(), Cause::kKernelInefficiency);
    EXPECT_EQ(split.rule, Rule::kLongConvolutionKernels);
    EXPECT_NEAR(split.target_ns, kSpectraNs / 0.8, 0.02 * kSpectraNs);
    EXPECT_NEAR(split.of(Cause::kFloor) * 7e6, kSpectraNs, 0.02 * kSpectraNs);
    EXPECT_EQ(split.of(Cause::kPrecision), 0);
  }
}

TEST(LongKernels, HaveGradientsThatTakeTwice) {
  WorkWords backward =
      convolution("f32[1,48,1,64000] f32[1,48,1,71999] f32[48,1,1,8000] - =[1,1] =[0,0]",
                  4 * 8000 * kPositions * 48, 15'000, DType::kF32, "aten::convolution_backward");
  backward.phase = trace::Phase::kBackward;
  const WorkSplit split = split_of(backward);
  EXPECT_EQ(split.rule, Rule::kLongConvolutionKernels);
  EXPECT_NEAR(split.target_ns, 2 * kSpectraNs / 0.8, 0.02 * kSpectraNs);
}

// What a library already does by spectra.
TEST(LongKernels, AreNoneWhereTheyTakeNoLonger) {
  EXPECT_NE(split_of(echoes(DType::kF32, 200)).rule, Rule::kLongConvolutionKernels);
}

// 2 FLOPs a tap and output position.
TEST(LongKernels, OrdinaryConvolutionsAreNone) {
  struct Case {
    const char* inputs;
    double taps, outputs;  // FLOPs / 2 of an output; outputs
  };
  for (const Case& seen : {
           Case{"f32[64,96,56,56] f32[96,1,7,7]", 49, 64.0 * 96 * 56 * 56},  // depthwise 7×7
           Case{"f32[64,128,224,224] f32[128,1,31,31]", 961,
                64.0 * 128 * 224 * 224},  // the largest depthwise
           Case{"f32[64,64,56,56] f32[64,64,3,3]", 576, 64.0 * 64 * 56 * 56},
           Case{"f32[64,3,1024,1024] f32[768,3,64,64]", 12'288, 64.0 * 768 * 16 * 16},  // patches
           Case{"f32[16,1,160000] f32[513,1,1024]", 1024, 16.0 * 513 * 1000},      // spectrograms, one of 160
           Case{"f32[32,768,1,1500] f32[768,48,1,128]", 6144, 32.0 * 768 * 1500},  // wav2vec's positions
           Case{"f32[32,512,1,4096] f32[512,1,1,128]", 128, 32.0 * 512 * 4096},
       }) {
    const WorkWords words = convolution(seen.inputs, 2 * seen.taps * seen.outputs, 100'000);
    EXPECT_NE(split_of(words).rule, Rule::kLongConvolutionKernels) << seen.inputs;
  }
}

// A matrix product of filters and windows has matrix units: of a thousand taps they are faster.
TEST(LongKernels, ManyChannelsAreAMatrixProduct) {
  EXPECT_NE(split_of(convolution("bf16[16,64,1,64000] bf16[64,64,1,1000]", 2.0 * 64'000 * 63'001 * 64 * 16,
                                 50'000, DType::kBF16))
                .rule,
            Rule::kLongConvolutionKernels);
}

// Sounds put together from 4098 rows of a spectrogram, 1024 positions apart: all rows of a group make one
// sound, which is a matrix product.
TEST(LongKernels, OfTransposedConvolutionsSayNothing) {
  const std::string shapes = "f32[16,4098,1,4000] f32[4098,1,1,4096] ";
  const double flops = 2.0 * 16 * 4098 * 4096 * 4000;
  for (const auto& [kind, inputs] :
       {std::pair("aten::cudnn_convolution_transpose", shapes + "=[0,0] =[0,0] =[1,1024] =[1,1] =1"),
        std::pair("aten::convolution", shapes + "- =[1,1024] =[0,0] =[1,1] =True =[0,0] =1"),
        std::pair("aten::convolution_backward", "f32[16,1,1,4098048] " + shapes +
                                                    "- =[1,1024] =[0,0] =[1,1] =True =[0,0] =1 "
                                                    "=[True,True,False]")})
    EXPECT_NE(split_of(convolution(inputs, flops, 100'000, DType::kF32, kind)).rule,
              Rule::kLongConvolutionKernels)
        << kind;
}

TEST(LongKernels, OfSizesThatCannotBeSayNothing) {
  for (const char* inputs :
       {"f32[1,48,1,9223372036854775807] f32[48,1,1,8000]", "f32[1,48,71999] f32[48,0,8000]",
        "f32[1,48,71999] f32[48,5,8000]", "f32[1,48,71999] f32[48,1,1,8000]", "f32[48,71999] f32[48,8000]",
        "- f32[48,1,8000]"})
    EXPECT_NE(split_of(convolution(inputs, 5e10)).rule, Rule::kLongConvolutionKernels) << inputs;
}

TEST(LongKernels, OfUnknownDevicesSayNothing) {
  Works made;
  const uint32_t work = made.run(echoes());
  made.end_step();
  EXPECT_NE(made.split(GpuRoofs{}).works[work].rule, Rule::kLongConvolutionKernels);
}

}  // namespace
}  // namespace hone::analyze::device
