#include "data/augment/region.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "data/augment/pixels.h"

namespace hone::data {
namespace {

// Calls visit(a pointer to the plane's elements, of their type).
template <typename Visit>
void visit_plane(const PlaneView& plane, Visit&& visit) {
  switch (plane.dtype) {
    case DType::kU8:
    case DType::kBool:
      return visit(static_cast<const uint8_t*>(plane.data));
    case DType::kI8:
      return visit(static_cast<const int8_t*>(plane.data));
    case DType::kU16:
      return visit(static_cast<const uint16_t*>(plane.data));
    case DType::kI16:
      return visit(static_cast<const int16_t*>(plane.data));
    case DType::kU32:
      return visit(static_cast<const uint32_t*>(plane.data));
    case DType::kI32:
      return visit(static_cast<const int32_t*>(plane.data));
    case DType::kF64:
      return visit(static_cast<const double*>(plane.data));
    default:
      return visit(static_cast<const float*>(plane.data));
  }
}

// Where an index outside of [0, size) is reflected to: …2 1 | 0 1 2 … n-1 | n-2 ….
int64_t reflected(int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  index = ((index % period) + period) % period;
  return index < size ? index : period - index;
}

// Rows of a window: row(source row, first column inside, columns inside, offset in the row) for the part within the
// image, pixel(source index, target index) for what is reflected.
template <typename Row, typename Pixel>
void walk_window(const PlaneView& plane, const Window& window, Row&& row, Pixel&& pixel) {
  const int64_t first = std::clamp<int64_t>(-window.x, 0, window.width);
  const int64_t last = std::clamp<int64_t>(plane.width - window.x, first, window.width);
  for (int64_t y = 0; y < window.height; ++y) {
    const int64_t from = reflected(window.y + y, plane.height) * plane.width;
    const int64_t to = y * window.width;
    for (int64_t x = 0; x < first; ++x) pixel(from + reflected(window.x + x, plane.width), to + x);
    if (last > first) row(from + window.x + first, to + first, last - first);
    for (int64_t x = last; x < window.width; ++x) pixel(from + reflected(window.x + x, plane.width), to + x);
  }
}

template <typename T>
void copy_window_as(const PlaneView& plane, const Window& window, T* out) {
  const auto* source = static_cast<const T*>(plane.data);
  walk_window(
      plane, window,
      [&](int64_t from, int64_t to, int64_t count) {
        std::memcpy(out + to, source + from, static_cast<std::size_t>(count) * sizeof(T));
      },
      [&](int64_t from, int64_t to) { out[to] = source[from]; });
}

template <typename T>
void turn_window_as(const T* window, const ExactPlacement& placement, T* out) {
  const int64_t height = placement.window.height, width = placement.window.width;
  const int64_t rows = placement.transposed ? width : height, columns = placement.transposed ? height : width;
  // One step along the batch's x and y is so far in the window.
  const int64_t along_x = placement.flip_x ? -1 : 1, along_y = placement.flip_y ? -width : width;
  const int64_t step_x = placement.transposed ? along_y : along_x,
                step_y = placement.transposed ? along_x : along_y;
  const int64_t first = (placement.flip_x ? width - 1 : 0) + (placement.flip_y ? (height - 1) * width : 0);
  for (int64_t y = 0; y < rows; ++y) {
    const T* const from = window + first + y * step_y;
    if (step_x == 1) {
      std::copy(from, from + columns, out + y * columns);
      continue;
    }
    for (int64_t x = 0; x < columns; ++x) out[y * columns + x] = from[x * step_x];
  }
}

}  // namespace

bool is_image_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBool ||
         (is_integer(dtype) && dtype_bits(dtype) >= 8 && dtype_bits(dtype) <= 32);
}

double range_factor(DType dtype) {
  if (is_float(dtype) || dtype == DType::kBool) return 1;
  return 1 / (std::ldexp(1.0, dtype_bits(dtype) - (is_signed(dtype) ? 1 : 0)) - 1);
}

void read_window(const PlaneView& plane, const Window& window, float gain, float offset, float* out) {
  visit_plane(plane, [&](const auto* source) {
    walk_window(
        plane, window,
        [&](int64_t from, int64_t to, int64_t count) {
          convert_row(source + from, static_cast<std::size_t>(count), gain, offset, out + to);
        },
        [&](int64_t from, int64_t to) { out[to] = static_cast<float>(source[from]) * gain + offset; });
  });
}

void copy_window(const PlaneView& plane, const Window& window, std::byte* out) {
  switch (dtype_size(plane.dtype)) {
    case 1:
      return copy_window_as(plane, window, reinterpret_cast<uint8_t*>(out));
    case 2:
      return copy_window_as(plane, window, reinterpret_cast<uint16_t*>(out));
    case 4:
      return copy_window_as(plane, window, reinterpret_cast<uint32_t*>(out));
    default:
      return copy_window_as(plane, window, reinterpret_cast<uint64_t*>(out));
  }
}

void turn_window(const std::byte* window, const ExactPlacement& placement, std::size_t size, std::byte* out) {
  switch (size) {
    case 1:
      return turn_window_as(reinterpret_cast<const uint8_t*>(window), placement,
                            reinterpret_cast<uint8_t*>(out));
    case 2:
      return turn_window_as(reinterpret_cast<const uint16_t*>(window), placement,
                            reinterpret_cast<uint16_t*>(out));
    case 4:
      return turn_window_as(reinterpret_cast<const uint32_t*>(window), placement,
                            reinterpret_cast<uint32_t*>(out));
    default:
      return turn_window_as(reinterpret_cast<const uint64_t*>(window), placement,
                            reinterpret_cast<uint64_t*>(out));
  }
}

void reduce_plane(const float* plane, int64_t height, int64_t width, int64_t factor, float* out) {
  const float share = 1 / static_cast<float>(factor * factor);
  for (int64_t y = 0; y < height / factor; ++y)
    for (int64_t x = 0; x < width / factor; ++x) {
      float sum = 0;
      for (int64_t dy = 0; dy < factor; ++dy)
        for (int64_t dx = 0; dx < factor; ++dx) sum += plane[(y * factor + dy) * width + x * factor + dx];
      out[y * (width / factor) + x] = sum * share;
    }
}

PercentilePair percentiles_of(const PlaneView& first, int64_t count, double low, double high) {
  constexpr int64_t kMostPixels = 1 << 16;
  const int64_t pixels = first.height * first.width * count;
  // An odd step: an even one would see the same columns of every row.
  const int64_t step = pixels <= kMostPixels ? 1 : (pixels + kMostPixels - 1) / kMostPixels | 1;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(pixels / step + 1));
  visit_plane(first, [&](const auto* source) {
    for (int64_t i = 0; i < pixels; i += step) {
      const auto value = static_cast<float>(source[i]);
      if (std::isfinite(value)) values.push_back(value);
    }
  });
  if (values.empty()) return {0, 1};
  const auto at = [&](double percentile) {
    const auto rank = std::llround(percentile / 100 * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return static_cast<double>(values[static_cast<std::size_t>(rank)]);
  };
  return {at(low), at(high)};
}

}  // namespace hone::data
