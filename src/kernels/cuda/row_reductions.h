// Sums and maxima over the threads of a row, as CUDA C++ for kernels that have kThreads threads a row along x (32 to 1,024, and
// one row a block where there are more than 32). Behind the full prelude.
#pragma once

#include <string_view>

namespace hone::kernels::gpu {

// Each thread gets the result, in the order of a tree: the same every time.
inline constexpr std::string_view kRowReductions = R"cuda(
template <typename Combine> HONE_FUNCTION float hone_over_row(float x, Combine combine) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x = combine(x, __shfl_xor_sync(0xffffffffu, x, mask));
  if (kThreads == 32) return x;
  __shared__ float parts[32];
  __syncthreads();  // those of the reduction before have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (int i = 1; i < kThreads / 32; ++i) x = combine(x, parts[i]);
  return x;
}
struct HoneSum { HONE_FUNCTION float operator()(float a, float b) const { return a + b; } };
struct HoneMax { HONE_FUNCTION float operator()(float a, float b) const { return hone_max(a, b); } };
)cuda";

}  // namespace hone::kernels::gpu
