// Movement operators that strides can express (transpose, slice with steps of either sign, concat, split, expand, tile,
// depth-to-space) as descriptions that the CPU's engine and the GPU's generator both read. Tensors are dense and
// row-major; shapes and axes are the caller's to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/shape.h"

namespace hone::kernels {

// out[out_offset + Σ i·out_strides] = in[in_offset + Σ i·in_strides] for every index i of `shape`; in
// elements.
struct StridedCopyDesc {
  std::size_t element_size = 4;  // 1, 2, 4, 8 or 16 bytes
  Shape shape = {};
  std::vector<int64_t> in_strides = {};   // 0 repeats
  std::vector<int64_t> out_strides = {};  // no two indices may meet
  int64_t in_offset = 0;
  int64_t out_offset = 0;
};

// One axis of a copy; steps in elements.
struct CopyAxis {
  int64_t extent = 1, in = 1, out = 1;
};

// Axes of more than one element, sorted by the output's strides, so that it is written in order; neighbours that both
// sides walk as one, joined.
std::vector<CopyAxis> merged_axes(const StridedCopyDesc& desc);

// out[i0, i1, …] = in with axes permuted: axis a of the output is axis permutation[a] of the input.
StridedCopyDesc transpose_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                               std::span<const int64_t> permutation);

// in[starts[a] + i·steps[a]] along each axis; steps may be negative.
StridedCopyDesc slice_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                           std::span<const int64_t> starts, std::span<const int64_t> steps,
                           std::span<const int64_t> out_shape);

// One part of a concatenation along `axis`: `part_shape` goes to position `at` of the output's axis.
StridedCopyDesc concat_copy(std::size_t element_size, std::span<const int64_t> part_shape, int64_t axis,
                            int64_t at, std::span<const int64_t> out_shape);

// NumPy broadcasting of in_shape to out_shape.
StridedCopyDesc expand_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                            std::span<const int64_t> out_shape);

// `repeats` copies along each axis.
StridedCopyDesc tile_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                          std::span<const int64_t> repeats);

// ONNX DepthToSpace of [N, C, H, W], mode DCR or CRD, and its inverse SpaceToDepth (DCR).
StridedCopyDesc depth_to_space_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                                    int64_t block, bool column_row_depth);
StridedCopyDesc space_to_depth_copy(std::size_t element_size, std::span<const int64_t> in_shape,
                                    int64_t block);

}  // namespace hone::kernels
