// Elements of f32, f16 and bf16 that tests of generated kernels write and compare.
#pragma once

#include <cstring>
#include <random>
#include <stdexcept>

#include "core/tensor.h"

namespace hone::kernels::gpu::testing {

// Writes `x`, rounded to the tensor's type, as element `i`.
inline void set_element(Tensor& tensor, int64_t i, float x) {
  auto* const at =
      static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(i) * dtype_size(tensor.dtype());
  const uint16_t half = tensor.dtype() == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
  if (tensor.dtype() == DType::kF32)
    std::memcpy(at, &x, 4);
  else if (dtype_size(tensor.dtype()) == 2)
    std::memcpy(at, &half, 2);
  else
    throw std::logic_error("an element of another type");
}

inline Tensor normal_values(DType dtype, const Shape& shape, unsigned seed, float mean, float deviation) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  Tensor made = Tensor::zeros(dtype, shape);
  for (int64_t i = 0; i < made.size(); ++i) set_element(made, i, normal(random));
  return made;
}

}  // namespace hone::kernels::gpu::testing
