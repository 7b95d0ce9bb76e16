// One engine for every movement of elements that strides can express (kernels/movement/copies.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "kernels/movement/copies.h"

namespace hone::kernels {

class StridedCopy {
 public:
  static Result<StridedCopy> create(const StridedCopyDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const void* in, void* out) const noexcept;

 private:
  enum class Inner : uint8_t { kRun, kTranspose, kStrided };
  using Axis = CopyAxis;
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
