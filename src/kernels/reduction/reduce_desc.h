// Reductions over any axes, as the kernels of all providers read them. Global average pooling is one of them: the mean over
// {2, 3} of the plain layout, or over the middle axis of [N·C/16, H·W, 16] or [N, H·W, C].
#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.h"

namespace hone::kernels {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kSumSquare, kLogSum, kLogSumExp };

struct ReduceDesc {
  Shape shape = {};
  std::vector<int64_t> axes = {};  // in [0, rank), each once; empty reduces nothing
  Reduction op = Reduction::kSum;
};

}  // namespace hone::kernels
