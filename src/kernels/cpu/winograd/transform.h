// Winograd's minimal filtering for 3x3 windows of stride 1 (A. Lavin and S. Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016): the transforms of data, weights and results, on blocked16
// images. The products between them, threads and cache blocks are the caller's.
#pragma once

#include <cstdint>
#include <limits>

#include "core/winograd.h"

namespace hone::kernels::winograd {

// Outputs along an edge of a tile; its inputs are two more.
constexpr int64_t outputs_of(WinogradTile tile) { return tile == WinogradTile::k2x2 ? 2 : 4; }
// Points of the transformed domain, each a matrix product of its own.
constexpr int64_t points_of(WinogradTile tile) { return (outputs_of(tile) + 2) * (outputs_of(tile) + 2); }

// How tiles cover the images: numbered by image, row, column.
struct Tiling {
  int64_t images = 1;
  int64_t in_blocks = 0, out_blocks = 0;  // of 16 channels
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t top = 0, left = 0;                // padding
  int64_t tile_rows = 0, tile_columns = 0;  // tiles of an image

  int64_t tiles() const { return images * tile_rows * tile_columns; }
};

struct Range {
  int64_t first = 0;
  int64_t count = 0;
};

// One matrix a point: 16 channels of tile t of the range, of block b of the range, lie at
// values + point * point_stride + b * block_stride + t * 16.
struct Points {
  float* values = nullptr;
  int64_t point_stride = 0;
  int64_t block_stride = 0;
};

// What is done to results in registers.
struct Finish {
  const float* bias = nullptr;      // padded to whole blocks
  const float* residual = nullptr;  // like the result; may be null
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// `tiles` of the input blocks `blocks`; what lies outside the image counts as zero.
void transform_data(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks, const float* src,
                    const Points& data) noexcept;

// `tiles` of the output blocks `blocks`, written to the images at `dst`.
void transform_results(WinogradTile tile, const Tiling& tiling, Range tiles, Range blocks,
                       const Points& results, const Finish& finish, float* dst) noexcept;

// The windows of up to 16 output channels for every input channel, in ONNX's order.
struct WindowBlock {
  const float* first = nullptr;
  int64_t count = 0;  // of output channels
  int64_t in_channels = 0;
  int64_t step = 0;  // floats from an input channel to the next in what is written
};

// The windows' points: 16 output channels of a point, with zeros beyond `windows.count`, lie at
// to + in * windows.step + point * point_stride, aligned to 64 bytes. In double precision, rounded once.
void transform_weights(WinogradTile tile, const WindowBlock& windows, float* to,
                       int64_t point_stride) noexcept;

}  // namespace hone::kernels::winograd
