// Products of cuBLASLt's descriptions, over one that the host computes (testing/fake_blas_lt.cpp).
#include "cuda/blas_lt.h"

#include "cuda/testing/fake_driver.h"
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

Result<std::unique_ptr<Product>> made(const ProductDesc& desc) {
  return Product::make(testing::fake_products(testing::fake_context()), desc);
}

constexpr ProductDesc kOfTheRight{.dtype = DType::kBF16,
                                  .rows = 16,
                                  .columns = 24,
                                  .depth = 40,
                                  .transpose_a = true,
                                  .bias_gradient = ProductBiasGradient::kOfB};

std::size_t guesses(const ProductDesc& desc) {
  const auto product = made(desc);
  if (!product.ok()) return 0;
  const auto found = (*product)->algorithms(4, std::size_t{1} << 20);
  return found.ok() ? found->size() : 0;
}

// The parts of a split depth, too: eight bits of each would be left otherwise.
TEST(BlasLtProducts, AreSummedInF32WhateverTheyAreStoredAs) {
  constexpr uint64_t kAnyScheme = 7;
  ProductDesc desc{.dtype = DType::kBF16, .rows = 16, .columns = 24, .depth = 4096};
  const auto schemes = [&] {
    const auto found = (*made(desc))->algorithms(1, 0);
    return found.ok() && !found->empty() ? found->front().algorithm.data[3] : 0;
  };
  EXPECT_EQ(schemes(), kBlasSumInComputeType);
  desc.dtype = DType::kF16;
  EXPECT_EQ(schemes(), kBlasSumInComputeType);
  desc.f32_result = true;
  EXPECT_EQ(schemes(), kAnyScheme) << "of f32, whichever";
  desc.f32_result = false;
  desc.dtype = DType::kF32;
  EXPECT_EQ(schemes(), kAnyScheme);
}

TEST(BlasLtProducts, SumTheRowsOfAnOperandThatLiesAlongTheDepth) {
  ProductDesc left = kOfTheRight;
  left.bias_gradient = ProductBiasGradient::kOfA;
  for (ProductDesc desc : {kOfTheRight, left}) {
    EXPECT_GT(guesses(desc), 0U);
    desc.f32_result = true;
    EXPECT_GT(guesses(desc), 0U);
    desc.added = true;
    EXPECT_GT(guesses(desc), 0U);
  }
}

// Each with what it would be taken for: a library that says nothing would compute something else.
TEST(BlasLtProducts, RefuseToSumWhatTheLibraryDoesNot) {
  std::vector<ProductDesc> refused(6, kOfTheRight);
  refused[0].transpose_b = true;  // its rows are not along the depth
  refused[1].batch = 2;
  refused[2].alpha = 0.5F;
  refused[3].row = true;  // whose address is that of the sums
  refused[4].activation = ProductActivation::kRelu;
  refused[5].transpose_a = false;
  refused[5].bias_gradient = ProductBiasGradient::kOfA;
  for (const ProductDesc& desc : refused) {
    const auto product = made(desc);
    ASSERT_FALSE(product.ok());
    EXPECT_EQ(product.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(product.error().message.find("rows along the depth"), std::string::npos)
        << product.error().message;
  }
}

// What the library reads and writes by vectors must lie as it was promised: the sums, too.
TEST(BlasLtProducts, CountTheSumsAmongWhatIsAligned) {
  ProductOperands operands;
  EXPECT_EQ(alignment_of(operands), kProductAlignment);
  operands.bias_gradient = reinterpret_cast<void*>(uintptr_t{0x1004});
  EXPECT_EQ(alignment_of(operands), 4U);
}

}  // namespace
}  // namespace hone::cuda
