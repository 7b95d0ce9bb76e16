// Reductions of f32 tensors over any axes. Global average pooling is one of them: the mean over {2, 3} of the
// plain layout, or over the middle axis of [N·C/16, H·W, 16] or [N, H·W, C].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kSumSquare, kLogSum, kLogSumExp };

struct ReduceDesc {
  Shape shape = {};
  std::vector<int64_t> axes = {};  // in [0, rank), each once; empty reduces nothing
  Reduction op = Reduction::kSum;
};

class Reduce {
 public:
  static Result<Reduce> create(const ReduceDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  // out: the kept axes in their order, dense. A reduction over no elements gives the operation's identity (0
  // for sums, 1 for the product, ∓infinity for max and min, NaN for the mean).
  void execute(const float* in, float* out) const noexcept;

 private:
  struct Axis {
    int64_t extent, stride;
  };
  Reduction op_ = Reduction::kSum;
  std::vector<Axis> kept_;           // all of them, or all but `width_` when the last axis is kept
  std::vector<int64_t> offsets_;     // where each inner reduced run starts
  Axis run_{1, 1};                   // the innermost reduced axis
  int64_t width_ = 1;                // extent of the last axis if it is kept, else 1
  bool columns_ = false;             // the last axis is kept
  int64_t outputs_ = 1, count_ = 1;  // rows of outputs; elements folded into one
};

}  // namespace hone::kernels
