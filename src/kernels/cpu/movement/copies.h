// Descriptions of strided copies for the movement operators, between dense row-major tensors. Shapes and axes
// are the caller's to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/movement/strided_copy.h"

namespace hone::kernels {

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
