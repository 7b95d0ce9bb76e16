// Attention by cuDNN: what NVIDIA's library takes and what is refused before it is asked. Its kernels are generated, and need a
// driver to be judged; numbers are compared in tests/backends.
#include "cuda/cudnn_attention.h"

#include "cuda/testing/described_gpus.h"
#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

using ::testing::HasSubstr;

AttentionDesc heads_of(int64_t columns) {
  const AttentionDesc::Strides strides{12 * 40 * columns, columns, 12 * columns};
  return {.dtype = DType::kF16,
          .batch = 2,
          .heads = 12,
          .kv_heads = 12,
          .queries = 40,
          .keys = 40,
          .head_dim = columns,
          .value_dim = columns,
          .q = strides,
          .k = strides,
          .v = strides,
          .o = strides};
}

TEST(RealCudnnAttention, IsAGraphThatNvidiasLibraryTakes) {
  for (const testing::DescribedGpu& gpu : {testing::kA100, testing::kH100, testing::kB200}) {
    const auto cudnn = testing::real_cudnn_for(gpu);
    if (cudnn == nullptr) return;
    for (const int64_t columns : {32, 64, 128, 256}) {
      const auto attention = Attention::make(cudnn, heads_of(columns));
      ASSERT_TRUE(attention.ok()) << attention.error().message;
      EXPECT_TRUE((*attention)->engines(4).ok());
    }
  }
}

TEST(CudnnAttention, RefusesRowsThatTheLibraryWouldReadWrongly) {
  const auto cudnn = testing::fake_cudnn(testing::fake_context());
  AttentionDesc desc = heads_of(64);
  desc.k.row += 4;
  const auto attention = Attention::make(cudnn, desc);
  ASSERT_FALSE(attention.ok());
  EXPECT_THAT(attention.error().message, HasSubstr("multiples of 16 bytes"));
  EXPECT_THAT(Attention::make(cudnn, heads_of(20)).error().message, HasSubstr("not 20"));
  EXPECT_THAT(Attention::make(cudnn, heads_of(264)).error().message, HasSubstr("not 264"));
}

}  // namespace
}  // namespace hone::cuda
