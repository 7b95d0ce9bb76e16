#include "analyze/device/busy/channels_first_norms.h"

#include <gtest/gtest.h>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

constexpr const char* kBlockAChannel =
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>";

// Over 8 images of 512 × 512: 127 µs at the roof of DRAM.
WorkWords norm(double us, std::string kernel = kBlockAChannel,
               std::string inputs = "f32[8,32,512,512] f32[32] f32[32]") {
  return {.kind = "aten::cudnn_batch_norm",
          .op_class = trace::OperatorClass::kNormalization,
          .dtype = DType::kF32,
          .inputs = std::move(inputs),
          .bytes = 268.4e6,
          .written = 268.4e6,
          .us = us,
          .kernel = std::move(kernel)};
}

WorkWords convolution() {
  return {.kind = "aten::cudnn_convolution",
          .op_class = trace::OperatorClass::kConvolution,
          .dtype = DType::kBF16,
          .inputs = "f32[8,32,512,512] f32[32,32,3,3]",
          .flops = 3.87e10,
          .us = 200};
}

TEST(ChannelsFirstNorms, OfFewChannelsAreRepairedByTheOrderOfTheImages) {
  Works made;
  const uint32_t slow = made.run(norm(1000));
  made.give_blocks(32);
  made.end_step();
  const WorkSplit split = made.split().works.at(slow);
  EXPECT_EQ(row_of(split.rule).id, "channels_first_batch_norm");
  EXPECT_EQ(split.cause(), Cause::kLayout);
  EXPECT_NEAR(split.target_ns * kGoodChannelsLastNorm, 127e3, 1e3);
  EXPECT_NEAR(split.of(Cause::kFloor), 0.127, 1e-3);
}

TEST(ChannelsFirstNorms, TakeTheSmallerConversionsForConvolutionsWithThem) {
  Works made;
  made.run(norm(1000));
  made.give_blocks(32);
  made.run(convolution());
  const uint32_t converts = made.also(300, "cudnn::nchwToNhwcKernel");
  made.end_step();
  EXPECT_EQ(made.split().works.at(converts).rule, Rule::kChannelsFirstBatchNorm);
}

TEST(ChannelsFirstNorms, LeaveLargerConversionsToTheirRule) {
  Works made;
  const uint32_t slow = made.run(norm(1000));
  made.give_blocks(32);
  made.run(convolution());
  const uint32_t converts = made.also(3000, "cudnn::nchwToNhwcKernel");
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_EQ(split.works.at(slow).rule, Rule::kChannelsFirstBatchNorm);
  EXPECT_EQ(split.works.at(converts).rule, Rule::kChannelsFirstImages);
}

TEST(ChannelsFirstNorms, OfManyChannelsFillTheDevice) {
  Works made;
  const uint32_t wide = made.run(norm(1000, kBlockAChannel, "f32[8,512,128,128] f32[512] f32[512]"));
  made.give_blocks(512);
  made.end_step();
  EXPECT_NE(made.split().works.at(wide).rule, Rule::kChannelsFirstBatchNorm);
}

TEST(ChannelsFirstNorms, AreNoOtherNormalisations) {
  Works made;
  const uint32_t last = made.run(norm(1000, "cudnn::batchnorm_fwtr_nhwc_semiPersist"));
  made.give_blocks(100);
  const uint32_t fast = made.run(norm(200));
  made.give_blocks(32);
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {last, fast})
    EXPECT_NE(split.works.at(work).rule, Rule::kChannelsFirstBatchNorm);
}

}  // namespace
}  // namespace hone::analyze::device
