// Helpers of the reference kernels' tests: tensors from lists, and calls by operator name.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ref/elements.h"

namespace hone::kernels::ref {

inline Tensor floats(Shape shape, std::initializer_list<double> values, DType dtype = DType::kF32) {
  return narrow(dtype, std::move(shape), std::vector<double>(values));
}
inline Tensor ints(Shape shape, std::initializer_list<int64_t> values, DType dtype = DType::kI64) {
  return narrow(dtype, std::move(shape), std::vector<int64_t>(values));
}

inline Result<std::vector<Tensor>> run(std::string_view op, std::vector<Tensor> inputs,
                                       const Attributes& attributes = {}, std::size_t outputs = 1) {
  const RefKernel kernel = ref_table().find(op);
  if (kernel == nullptr) return unsupported(std::string(op));
  return kernel({op, attributes, inputs, outputs});
}

// The only output's elements; fails the test where there is an error.
inline std::vector<double> values(std::string_view op, std::vector<Tensor> inputs,
                                  const Attributes& attributes = {}) {
  auto outputs = run(op, std::move(inputs), attributes);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return outputs.ok() ? (*outputs)[0].to_doubles() : std::vector<double>{};
}

inline bool fails(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes = {}) {
  return !run(op, std::move(inputs), attributes).ok();
}

inline void expect_values(const Result<std::vector<Tensor>>& result, std::size_t output, const Shape& shape,
                          const std::vector<double>& values, double tolerance = 1e-6) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_GT(result->size(), output);
  const Tensor& tensor = (*result)[output];
  EXPECT_EQ(tensor.shape(), shape);
  ASSERT_EQ(tensor.size(), static_cast<int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double got = tensor.at(static_cast<int64_t>(i));
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(got)) << "element " << i;
    } else {
      EXPECT_NEAR(got, values[i], tolerance) << "element " << i;
    }
  }
}

using Doubles = std::vector<double>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline const Tensor kMatrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

}  // namespace hone::kernels::ref
