// Numbers of any type as f32.
#pragma once

#include "core/tensor.h"

namespace hone {

// `numbers` itself where it is f32, else a copy, each element rounded once.
Tensor as_f32(const Tensor& numbers);

}  // namespace hone
