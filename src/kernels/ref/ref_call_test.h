// How tests of reference kernels call them.
#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

// Runs the kernel of `op`; an error where there is none.
inline Result<std::vector<Tensor>> run_ref(std::string_view op, std::vector<Tensor> inputs,
                                           Attributes attributes = {}, std::size_t outputs = 1) {
  RefKernel kernel = ref_table().find(op);
  if (kernel == nullptr) return unsupported("no kernel");
  return kernel({op, attributes, inputs, outputs});
}

inline Tensor floats(Shape shape, std::initializer_list<float> values) {
  return Tensor::f32(std::move(shape), std::vector<float>(values));
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

}  // namespace hone::kernels::ref
