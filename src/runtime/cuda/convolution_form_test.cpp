#include "runtime/cuda/convolution_form.h"

#include <gtest/gtest.h>

namespace hone::runtime::cuda_kernels {
namespace {

cuda::ConvolutionDesc pointwise_convolution(int64_t batch) {
  cuda::ConvolutionDesc desc;
  desc.dtype = DType::kF16;
  desc.x = {batch, 256, 56, 56};
  desc.w = {128, 256, 1, 1};
  desc.y = {batch, 128, 56, 56};
  return desc;
}

// ResNet-50's layer2.0.conv1 at batch 256 in the plain layout: every engine that an H100 has for it wants both images once more.
TEST(MostWorkspace, HoldsTheOperandsOnceMoreHoweverLarge) {
  EXPECT_GE(most_workspace(pointwise_convolution(256)), std::size_t{588} << 20);
  EXPECT_LT(most_workspace(pointwise_convolution(256)), std::size_t{640} << 20);
}

TEST(MostWorkspace, IsTheSameForAllSmallOnes) {
  EXPECT_EQ(most_workspace(pointwise_convolution(1)), std::size_t{512} << 20);
  EXPECT_EQ(most_workspace(pointwise_convolution(32)), std::size_t{512} << 20);
}

}  // namespace
}  // namespace hone::runtime::cuda_kernels
