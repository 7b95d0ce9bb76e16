// How a product is cut into pieces for threads and caches: chunks of rows times groups of panels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels::gemm {

struct Split {
  int64_t rows_a_chunk = 1;
  int64_t row_chunks = 1;
  int64_t panel_groups = 1;

  int64_t pieces() const { return row_chunks * panel_groups; }
};

// `unit` rows belong together (a full tile, or an image row); a chunk's part of A stays in the L2 cache while
// every panel passes over it. With fewer chunks than would keep all threads evenly busy, panels are split,
// too.
inline Split split_product(int64_t rows, int64_t depth, int64_t columns, int64_t unit) {
  constexpr int64_t kChunkFloats = 64 * 1024;  // 256 KiB of A
  const int64_t threads = thread_count();
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  const int64_t units = (rows + unit - 1) / unit;
  const int64_t units_a_chunk =
      std::clamp<int64_t>(kChunkFloats / std::max<int64_t>(1, unit * depth), 1, units);
  Split split;
  split.row_chunks = (units + units_a_chunk - 1) / units_a_chunk;
  if (split.row_chunks < 4 * threads && split.row_chunks % threads != 0) {
    if (panels % threads == 0 || panels >= 4 * threads) {
      split.panel_groups = std::min(panels, threads);
    } else {
      split.row_chunks = std::min(units, (split.row_chunks + threads - 1) / threads * threads);
    }
  }
  split.rows_a_chunk = (units + split.row_chunks - 1) / split.row_chunks * unit;
  split.row_chunks = (rows + split.rows_a_chunk - 1) / split.rows_a_chunk;
  return split;
}

// Calls f(first row, rows, first panel, panels) for every piece, on all threads where the work pays for
// waking them.
template <typename F>
void for_each_piece(const Split& split, int64_t rows, int64_t depth, int64_t columns, const F& f) {
  constexpr int64_t kWorthAThread = 200'000;  // multiply-adds: some two microseconds
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  const int64_t pieces = split.pieces();
  const int64_t piece = std::max<int64_t>(1, rows * depth * columns / pieces);
  parallel_for(pieces, std::max<int64_t>(1, kWorthAThread / piece), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first_row = i / split.panel_groups * split.rows_a_chunk;
      const int64_t group = i % split.panel_groups;
      const int64_t first = panels * group / split.panel_groups;
      const int64_t last = panels * (group + 1) / split.panel_groups;
      f(first_row, std::min(split.rows_a_chunk, rows - first_row), first, last - first);
    }
  });
}

}  // namespace hone::kernels::gemm
