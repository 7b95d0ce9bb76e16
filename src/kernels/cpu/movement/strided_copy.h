// One engine for every movement of elements that strides can express: transpose, slice (steps of either
// sign), concat, split, expand, tile, depth-to-space. The descriptions of these are made in copies.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
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

class StridedCopy {
 public:
  static Result<StridedCopy> create(const StridedCopyDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const void* in, void* out) const noexcept;

 private:
  enum class Inner : uint8_t { kRun, kTranspose, kStrided };
  struct Axis {
    int64_t extent, in, out;
  };
  static std::vector<Axis> merge_axes(const StridedCopyDesc& desc);
  void widen_element(std::vector<Axis>& axes);
  void choose_inner(std::vector<Axis>& axes);
  void copy_rows(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const noexcept;

  std::vector<Axis> outer_;  // walked like an odometer
  Axis row_{1, 1, 1};        // the innermost axis of the output
  Axis column_{1, 1, 1};     // kTranspose: the innermost axis of the input
  Inner inner_ = Inner::kRun;
  std::size_t element_ = 4;
  int64_t in_offset_ = 0, out_offset_ = 0, rows_ = 0;
};

}  // namespace hone::kernels
