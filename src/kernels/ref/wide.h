// What the kernels that compute in double share on top of elements.h: shorthand for wide data, rounding with
// saturation, and checks of their arguments. No operator lives here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/ref/elements.h"

namespace hone::kernels::ref {

using Wide = std::vector<double>;

// All elements as doubles; exact but for 64-bit integers beyond 2^53. Empty for an undefined tensor.
Wide widen(const Tensor& tensor);
// A tensor of `values`: floats rounded once to nearest even; integers rounded likewise and saturated, NaN as
// 0.
Tensor rounded(DType dtype, Shape shape, Wide values);

// The product of shape[first, last).
int64_t extent_product(std::span<const int64_t> shape, std::size_t first, std::size_t last);

// An error that names the input and both shapes unless the shapes are equal.
Status expect_shape(const Tensor& tensor, const Shape& expected, std::string_view name);
Status expect_rank(const Tensor& tensor, int64_t rank, std::string_view name);

// The single number in a scalar or one-element tensor.
Result<double> scalar(const Tensor& tensor, std::string_view name);

}  // namespace hone::kernels::ref
