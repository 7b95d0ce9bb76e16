// Where the pixels of a batch come from in one image: the part of augmentation that image and mask share. Numbers only,
// no pixels. Internal to data/augment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/augment/augment.h"

namespace hone::data {

// Of pixels, in an image: rows [y, y + height), columns [x, x + width). May reach out of it.
struct Window {
  int64_t y = 0, x = 0, height = 0, width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// A map of pixels to pixels, one to one: no interpolation. Pixel (y, x) of the batch is pixel
// window.{y,x} + (transposed ? (x, y) : (y, x)), counted from the window's other end where flipped.
struct ExactPlacement {
  Window window;
  bool transposed = false, flip_y = false, flip_x = false;
};

// Pixel (y, x) of the batch is the point matrix · (x, y) + shift of the image, moved by the bend there.
struct SmoothPlacement {
  std::array<double, 4> matrix = {1, 0, 0, 1};  // from (x, y) to (x, y), row by row
  std::array<double, 2> shift = {0, 0};         // x, y
  // The bend's control points, a cubic B-spline over cells of `cell` pixels of the batch: rows of (width / cell) + 4.
  int64_t cell = 0, columns = 0, rows = 0;
  std::vector<float> bend_x, bend_y;
  double most_bend = 0;
};

struct Placement {
  int64_t height = 0, width = 0;  // of the batch
  std::optional<ExactPlacement> exact;
  SmoothPlacement smooth;  // where it is not exact
};

// Height and width of what comes out for an image of this size; kVaries where that is not known.
std::array<int64_t, 2> output_size(const AugmentOptions& options, int64_t height, int64_t width);

// Draws the sample's placement in an image. An error where the image is smaller than the crop.
Result<Placement> place_in(const AugmentOptions& options, const SampleRandom& random, int64_t height,
                           int64_t width);

// The points of all pixels, row by row, relative to the window they are returned with: the smallest that holds them and
// their neighbours.
struct Points {
  Window window;
  std::vector<float> x, y;
};
Points points_of(const SmoothPlacement& placement, int64_t height, int64_t width);

}  // namespace hone::data
