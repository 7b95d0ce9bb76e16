// Movement operators as shapes and strides.
#include "kernels/movement/copies.h"

#include <algorithm>
#include <cstdlib>

namespace hone::kernels {

std::vector<CopyAxis> merged_axes(const StridedCopyDesc& desc) {
  std::vector<CopyAxis> axes;
  for (std::size_t i = 0; i < desc.shape.size(); ++i) {
    if (desc.shape[i] > 1) axes.push_back({desc.shape[i], desc.in_strides[i], desc.out_strides[i]});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return std::abs(a.out) > std::abs(b.out); });
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : axes) {
    const bool joins = !merged.empty() && merged.back().in == axis.in * axis.extent &&
                       merged.back().out == axis.out * axis.extent;
    if (joins) {
      merged.back() = {merged.back().extent * axis.extent, axis.in, axis.out};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

StridedCopyDesc transpose_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                               std::span<const int64_t> permutation) {
  StridedCopyDesc desc{.element_size = element_size};
  const std::vector<int64_t> strides = row_major_strides(in_shape);
  for (int64_t axis : permutation) {
    desc.shape.push_back(in_shape[static_cast<std::size_t>(axis)]);
    desc.in_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  desc.out_strides = row_major_strides(desc.shape);
  return desc;
}

StridedCopyDesc slice_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                           std::span<const int64_t> starts, std::span<const int64_t> steps,
                           std::span<const int64_t> out_shape) {
  StridedCopyDesc desc{.element_size = element_size};
  desc.shape.assign(out_shape.begin(), out_shape.end());
  desc.in_strides = row_major_strides(in_shape);
  desc.out_strides = row_major_strides(out_shape);
  for (std::size_t axis = 0; axis < in_shape.size(); ++axis) {
    desc.in_offset += starts[axis] * desc.in_strides[axis];
    desc.in_strides[axis] *= steps[axis];
  }
  return desc;
}

StridedCopyDesc concat_copy(std::size_t element_size, std::span<const int64_t> part_shape, int64_t axis,
                            int64_t at, std::span<const int64_t> out_shape) {
  StridedCopyDesc desc{.element_size = element_size};
  desc.shape.assign(part_shape.begin(), part_shape.end());
  desc.in_strides = row_major_strides(part_shape);
  desc.out_strides = row_major_strides(out_shape);
  desc.out_offset = at * desc.out_strides[static_cast<std::size_t>(axis)];
  return desc;
}

StridedCopyDesc expand_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                            std::span<const int64_t> out_shape) {
  StridedCopyDesc desc{.element_size = element_size};
  desc.shape.assign(out_shape.begin(), out_shape.end());
  desc.out_strides = row_major_strides(out_shape);
  desc.in_strides.assign(out_shape.size(), 0);
  const std::vector<int64_t> strides = row_major_strides(in_shape);
  const std::size_t lead = out_shape.size() - in_shape.size();
  for (std::size_t axis = 0; axis < in_shape.size(); ++axis) {
    if (in_shape[axis] != 1) desc.in_strides[lead + axis] = strides[axis];
  }
  return desc;
}

StridedCopyDesc tile_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                          std::span<const int64_t> repeats) {
  StridedCopyDesc desc{.element_size = element_size};
  const std::vector<int64_t> strides = row_major_strides(in_shape);
  for (std::size_t axis = 0; axis < in_shape.size(); ++axis) {
    desc.shape.push_back(repeats[axis]);
    desc.shape.push_back(in_shape[axis]);
    desc.in_strides.push_back(0);
    desc.in_strides.push_back(strides[axis]);
  }
  desc.out_strides = row_major_strides(desc.shape);
  return desc;
}

StridedCopyDesc depth_to_space_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                                    int64_t block, bool column_row_depth) {
  const int64_t n = in_shape[0], h = in_shape[2], w = in_shape[3];
  const int64_t depth = in_shape[1] / (block * block);
  // The input's channels are [block, block, depth] (DCR) or [depth, block, block] (CRD); the output's axes
  // are [N, depth, H, block, W, block].
  if (column_row_depth) {
    return transpose_copy(element_size, Shape{n, depth, block, block, h, w}, Shape{0, 1, 4, 2, 5, 3});
  }
  return transpose_copy(element_size, Shape{n, block, block, depth, h, w}, Shape{0, 3, 4, 1, 5, 2});
}

StridedCopyDesc space_to_depth_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                                    int64_t block) {
  const Shape split = {in_shape[0], in_shape[1], in_shape[2] / block, block, in_shape[3] / block, block};
  return transpose_copy(element_size, split, Shape{0, 3, 5, 1, 2, 4});
}

}  // namespace hone::kernels
