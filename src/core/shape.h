// Concrete shapes of tensors in memory: extents, element counts, row-major strides, broadcasting.
// Shapes with unknown or symbolic extents are graph/type.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace hone {

using Shape = std::vector<int64_t>;

// The product of the extents (1 for a scalar). Asserts no overflow: checked_element_count() is for untrusted
// shapes.
int64_t element_count(std::span<const int64_t> shape);
// The same for shapes from files: an error for negative extents or a product over 2^62.
Result<int64_t> checked_element_count(std::span<const int64_t> shape);

// Whether every number is `value`; of none, true.
bool all_are(std::span<const int64_t> numbers, int64_t value);

// Row-major strides, in elements.
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

// Multidirectional (NumPy) broadcasting; an error names both shapes.
Result<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

// An axis in [-rank, rank) made non-negative; an error otherwise.
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);
// How many numbers there are from `start` to before `limit` in steps of `delta`, which is not 0.
Result<int64_t> range_length(double start, double limit, double delta);

// "[1,3,256,256]".
std::string shape_text(std::span<const int64_t> shape);

}  // namespace hone
