#include "core/as_f32.h"

namespace hone {

Tensor as_f32(const Tensor& numbers) {
  if (numbers.dtype() == DType::kF32) return numbers;
  Tensor wide(DType::kF32, numbers.shape());
  const auto to = wide.as<float>();
  for (int64_t i = 0; i < numbers.size(); ++i)
    to[static_cast<std::size_t>(i)] = static_cast<float>(numbers.at(i));
  return wide;
}

}  // namespace hone
