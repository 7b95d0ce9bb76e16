#include "core/as_f32.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(AsF32, IsTheSameNumbersAndShape) {
  Tensor narrow(DType::kBF16, {2, 1});
  narrow.as<uint16_t>()[0] = f32_to_bf16(1.5F);
  narrow.as<uint16_t>()[1] = f32_to_bf16(-3);
  const Tensor wide = as_f32(narrow);
  EXPECT_EQ(wide.dtype(), DType::kF32);
  EXPECT_EQ(wide.shape(), narrow.shape());
  EXPECT_EQ(wide.at(0), 1.5);
  EXPECT_EQ(wide.at(1), -3);
}

TEST(AsF32, CopiesNoF32) {
  const Tensor numbers = Tensor::scalar_f32(2);
  EXPECT_EQ(as_f32(numbers).data(), numbers.data());
}

}  // namespace
}  // namespace hone
