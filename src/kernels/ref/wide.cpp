#include "kernels/ref/wide.h"

#include <cmath>

#include <fmt/core.h>

namespace hone::kernels::ref {

Wide widen(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return widen<double>(tensor);
}

Tensor rounded(DType dtype, Shape shape, Wide values) {
  if (is_integer(dtype)) {
    // Bounds as doubles: for 64 bits the largest double below 2^63 or 2^64.
    const int bits = dtype_bits(dtype);
    const double low = is_signed(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
    const double limit = std::ldexp(1.0, is_signed(dtype) ? bits - 1 : bits);
    const double high = bits > 53 ? std::nextafter(limit, 0.0) : limit - 1;
    for (double& value : values) {
      value = std::isnan(value) ? 0 : std::nearbyint(value);
      value = value < low ? low : value > high ? high : value;
    }
    if (dtype == DType::kU64) {
      std::vector<uint64_t> integers(values.begin(), values.end());
      return narrow(dtype, std::move(shape), integers);
    }
  }
  return narrow(dtype, std::move(shape), values);
}

int64_t extent_product(std::span<const int64_t> shape, std::size_t first, std::size_t last) {
  int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

Status expect_shape(const Tensor& tensor, const Shape& expected, std::string_view name) {
  if (tensor.shape() == expected) return {};
  return invalid(fmt::format("{} has shape {} where {} is needed", name, shape_text(tensor.shape()),
                             shape_text(expected)));
}

Status expect_rank(const Tensor& tensor, int64_t rank, std::string_view name) {
  if (tensor.rank() == rank) return {};
  return invalid(
      fmt::format("{} has shape {} where rank {} is needed", name, shape_text(tensor.shape()), rank));
}

Result<double> scalar(const Tensor& tensor, std::string_view name) {
  if (tensor.size() == 1) return tensor.at(0);
  return invalid(
      fmt::format("{} has shape {} where one element is needed", name, shape_text(tensor.shape())));
}

}  // namespace hone::kernels::ref
