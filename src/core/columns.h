// Columns: what the windows of a convolution read, a row for each tap and an element of it for each place of the windows. Taken
// from an image (im2col) or added back to it (Col2Im), they lie in this order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/window.h"

namespace hone {

// Calls visit(element) for each element of the columns of one image, in order: which element of the image it is, both in
// row-major order; -1 where the tap lies outside. `windows`, `places` (place_windows()) and `image` have an entry for each axis.
template <typename Visit>
void walk_columns(std::span<const Window> windows, std::span<const int64_t> places,
                  std::span<const int64_t> image, const Visit& visit) {
  const std::size_t rank = windows.size();
  // The next position within `extent(axis)`; false behind the last.
  const auto next = [rank](std::vector<int64_t>& position, const auto& extent) {
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++position[axis] < extent(axis)) return true;
      position[axis] = 0;
    }
    return false;
  };
  for (const int64_t extent : places)
    if (extent < 1) return;
  std::vector<int64_t> tap(rank, 0), place(rank, 0);
  do {
    do {
      int64_t at = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const Window& window = windows[axis];
        const int64_t i = place[axis] * window.stride + tap[axis] * window.dilation - window.pad_begin;
        inside = inside && i >= 0 && i < image[axis];
        at = at * image[axis] + i;
      }
      visit(inside ? at : -1);
    } while (next(place, [&](std::size_t axis) { return places[axis]; }));
  } while (next(tap, [&](std::size_t axis) { return windows[axis].kernel; }));
}

}  // namespace hone
