// Concrete shapes: counting, strides, broadcasting.
#include "core/shape.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 62;

}  // namespace

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  bool overflow = false;
  for (const int64_t extent : shape) {
    if (extent < 0) throw std::invalid_argument("element_count: negative extent in " + shape_text(shape));
    if (extent == 0)
      empty = true;
    else
      overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (empty) return 0;
  if (overflow) throw std::length_error("element_count: overflow in " + shape_text(shape));
  return count;
}

Result<int64_t> checked_element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0)
      return invalid(fmt::format("shape {} has the negative extent {}", shape_text(shape), extent));
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, extent, &count) || count > kMaxElements) {
      // Refused even beside a zero extent: strides and partial products would overflow later.
      return invalid(fmt::format("shape {} has more elements than memory can hold", shape_text(shape)));
    }
  }
  return empty ? 0 : count;
}

bool all_are(std::span<const int64_t> numbers, int64_t value) {
  return std::all_of(numbers.begin(), numbers.end(), [=](int64_t number) { return number == value; });
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);  // an empty tensor keeps usable strides
  }
  return strides;
}

Result<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // i counts from the last axis
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1)
      return invalid(fmt::format("shapes {} and {} do not broadcast: {} against {}", shape_text(a),
                                 shape_text(b), from_a, from_b));
    shape[rank - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return shape;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid(
        fmt::format("axis {} is outside [{}, {}) of a tensor of rank {}", axis, -rank, rank, rank));
  return axis < 0 ? axis + rank : axis;
}

Result<int64_t> range_length(double start, double limit, double delta) {
  const double steps = std::ceil((limit - start) / delta);
  if (steps <= 0) return 0;
  if (!std::isfinite(steps)) return invalid("the range never ends");
  if (steps >= static_cast<double>(kMaxElements))
    return invalid(fmt::format("the range has {:.2g} elements, more than memory can hold", steps));
  return static_cast<int64_t>(steps);
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ","));
}

}  // namespace hone
