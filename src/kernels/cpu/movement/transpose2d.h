// The 2-D f32 transpose under every layout change. Serial: callers split the work.
#pragma once

#include <cstdint>

namespace hone::kernels::internal {

// rows × columns floats at `in` (rows in_stride apart) become columns × rows at `out` (rows out_stride
// apart), in blocks that fit the L1 cache.
void transpose_2d(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                  int64_t out_stride) noexcept;

}  // namespace hone::kernels::internal
