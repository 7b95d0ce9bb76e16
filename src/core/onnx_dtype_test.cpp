#include "core/onnx_dtype.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(OnnxDType, NumbersOfElementTypesGoBothWays) {
  for (int64_t number = 1; number <= 26; ++number) EXPECT_EQ(dtype_to_onnx(*dtype_from_onnx(number)), number);
  EXPECT_EQ(dtype_from_onnx(0), std::nullopt);
  EXPECT_EQ(dtype_from_onnx(27), std::nullopt);
  EXPECT_EQ(dtype_from_onnx(-1), std::nullopt);
  EXPECT_EQ(dtype_to_onnx(DType::kUndefined), 0);
}

}  // namespace
}  // namespace hone
