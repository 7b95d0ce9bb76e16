// Scatters that add, in f32: ScatterND and ScatterElements with reduction "add", as gradients of gathers need them. Sums
// of one place are taken in the order of the updates, whatever the threads: the same numbers every time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

class ScatterAdd {
 public:
  // Tuples of `width` indices, each of a slice of the data's other axes.
  static Result<ScatterAdd> slices(const Shape& data, int64_t tuples, int64_t width);
  // An index along `axis` for each element; `indices` has the data's extents elsewhere.
  static Result<ScatterAdd> elements(const Shape& data, const Shape& indices, int64_t axis);
  static std::size_t scratch_bytes() { return 0; }

  // Adds to `out`, which holds the data. False if an index lies outside its axis: what is in `out` then is not
  // defined.
  bool execute(const float* updates, const int64_t* indices, float* out) const noexcept;

 private:
  bool add_slices(const float* updates, const int64_t* indices, float* out) const noexcept;
  bool add_elements(const float* updates, const int64_t* indices, float* out) const noexcept;
  int64_t start_of(const int64_t* tuple) const noexcept;  // -1: outside

  bool of_slices_ = true;
  std::vector<int64_t> extents_, strides_;  // of a tuple's axes
  int64_t tuples_ = 0, slice_ = 1;
  int64_t outer_ = 1, extent_ = 1, picked_ = 1,
          inner_ = 1;  // of elements: [outer, extent, inner] by [outer, picked, inner]
};

}  // namespace hone::kernels
