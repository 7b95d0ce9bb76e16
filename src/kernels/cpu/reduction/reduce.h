// Reductions of f32 tensors over any axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "kernels/reduction/reduce_desc.h"

namespace hone::kernels {

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
