// Reorders between the memory layouts of core/layout.h, f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/layout.h"
#include "core/result.h"

namespace hone::kernels {

struct ReorderDesc {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t spatial = 1;  // product of the spatial extents
  Layout from = Layout::kPlain;
  Layout to = Layout::kPlain;
};

class Reorder {
 public:
  static Result<Reorder> create(const ReorderDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  // Channel padding of a blocked output is written as zeros; that of a blocked input is not read.
  void execute(const float* in, float* out) const noexcept;

 private:
  void image(const float* in, float* out, int64_t first_channel, int64_t channels, int64_t first,
             int64_t positions) const noexcept;
  ReorderDesc desc_;
};

}  // namespace hone::kernels
