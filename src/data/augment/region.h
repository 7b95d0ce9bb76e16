// Pixels of a window of an image, which may reach out of it: there the image is reflected at its edge. Internal to
// data/augment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "data/augment/placement.h"

namespace hone::data {

// A plane of an image in memory.
struct PlaneView {
  DType dtype = DType::kUndefined;
  const void* data = nullptr;
  int64_t height = 0, width = 0;
};

// Whether images of the type can be read: integers up to 32 bits, f32 and f64.
bool is_image_type(DType dtype);

// The factor that takes the largest integer of the type to 1; 1 for floats.
double range_factor(DType dtype);

// The window as f32: value * gain + offset.
void read_window(const PlaneView& plane, const Window& window, float gain, float offset, float* out);

// The window as it is: elements of dtype_size() bytes.
void copy_window(const PlaneView& plane, const Window& window, std::byte* out);

// The pixels of an exact placement, turned: elements of `size` bytes of a window's copy.
void turn_window(const std::byte* window, const ExactPlacement& placement, std::size_t size, std::byte* out);

// Means of blocks of factor x factor pixels; height and width are multiples of it.
void reduce_plane(const float* plane, int64_t height, int64_t width, int64_t factor, float* out);

// The numbers at two percentiles of [0, 100] of `count` planes that lie one behind the other; of at most 65,536 pixels
// of them, evenly taken.
struct PercentilePair {
  double low = 0, high = 0;
};
PercentilePair percentiles_of(const PlaneView& first, int64_t count, double low, double high);

}  // namespace hone::data
