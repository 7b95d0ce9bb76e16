// The f32 product on one thread: rows of A times packed panels of B, a tile of C held in registers over the
// whole depth. Threads, cache blocks and operators are the callers'.
#pragma once

#include <cstdint>
#include <limits>

#include "core/tensor.h"

namespace hone::kernels::gemm {

inline constexpr int64_t kPanel = 32;  // columns that lie together in packed B
inline constexpr int64_t kBlock = 16;  // columns of A and C that lie together

// Blocks that hold so many columns, or channels.
constexpr int64_t blocks_for(int64_t columns) { return (columns + kBlock - 1) / kBlock; }

// B [depth, columns], element (k, n) at b[k * k_stride + n * n_stride], as panels [columns / 32][depth][32],
// zeros in the missing columns of the last.
Tensor pack_panels(const float* b, int64_t depth, int64_t columns, int64_t k_stride, int64_t n_stride);
// The same padding for a bias; zeros if null.
Tensor pack_bias(const float* bias, int64_t columns);

// A matrix whose rows come in groups and whose columns come in blocks of 16: strides in floats. A row-major
// matrix has block = 16; a blocked16 image has row = 16 and block = 16 * pixels.
struct Strides {
  int64_t group = 0;
  int64_t row = 0;
  int64_t block = 0;
};

// C = clamp(A B + bias + residual): groups x rows rows, `columns` columns. All pointers at the first row and
// the first column of the panel where the job begins.
struct TileJob {
  const float* a = nullptr;
  const float* panels = nullptr;
  const float* bias = nullptr;      // padded to whole panels
  const float* residual = nullptr;  // strides of c; may be null
  float* c = nullptr;
  Strides a_strides, c_strides;
  int64_t groups = 1;
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  bool accumulate = false;  // c holds the sum over earlier parts of the depth, the bias among it
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

void multiply(const TileJob& job) noexcept;

// Rows of the register tile: a multiple makes full tiles.
int64_t tile_rows() noexcept;

}  // namespace hone::kernels::gemm
