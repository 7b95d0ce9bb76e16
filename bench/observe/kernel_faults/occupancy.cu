// How many warps are there to wait with: a walk through memory whose every step needs the value of the step before, so
// that only other warps can keep memory busy. The buffer holds zeros, which the compiler cannot know.
#include "cases.h"

namespace faults {
namespace {

constexpr std::size_t kVectors = Buffers::kFloats / 4;

// Every thread reads its share, 16 bytes a step; coalesced. kKept sums are kept in registers all the way.
template <int kKept>
__device__ void walk(const float* in, float* out) {
  const auto* vectors = reinterpret_cast<const float4*>(in);
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float kept[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) kept[i] = static_cast<float>(i);
  std::size_t at = thread;
  while (at < kVectors) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (at >= kVectors) break;
      const float4 value = vectors[at];
      kept[i] += value.x * kept[(i + 1) % kKept];
      at += threads + __float_as_int(value.y);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) sum = sum * 0.5f + kept[i];
  if (sum == 12345.0f) out[thread] = sum;
}

__global__ void __launch_bounds__(256, 1) walk_many_registers(const float* in, float* out) { walk<200>(in, out); }
__global__ void __launch_bounds__(256, 8) walk_few_registers(const float* in, float* out) { walk<4>(in, out); }

// Each block keeps a table, of which it uses little.
__device__ void walk_with_table(const float* in, float* out) {
  extern __shared__ float table[];
  table[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  walk<4>(in + (table[threadIdx.x ^ 1] == 1.0f ? 4 : 0), out);
}
__global__ void __launch_bounds__(128) walk_big_table(const float* in, float* out) { walk_with_table(in, out); }
__global__ void __launch_bounds__(128) walk_small_table(const float* in, float* out) { walk_with_table(in, out); }

__global__ void walk_small_blocks(const float* in, float* out) { walk<4>(in, out); }

constexpr int kBigTable = 100 * 1024, kSmallTable = 1024;  // bytes

void launch_with_table(const Buffers& b, void (*kernel)(const float*, float*), int bytes) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<b.multiprocessors * 32, 128, bytes>>>(b.in, b.out);
}

}  // namespace

const Case kOccupancyCases[] = {
    {"walk_many_registers",
     [](const Buffers& b) { walk_many_registers<<<b.multiprocessors * 16, 256>>>(b.in, b.out); }},
    {"walk_few_registers",
     [](const Buffers& b) { walk_few_registers<<<b.multiprocessors * 16, 256>>>(b.in, b.out); }},
    {"walk_big_table", [](const Buffers& b) { launch_with_table(b, walk_big_table, kBigTable); }},
    {"walk_small_table", [](const Buffers& b) { launch_with_table(b, walk_small_table, kSmallTable); }},
    {"walk_small_blocks",
     [](const Buffers& b) { walk_small_blocks<<<b.multiprocessors * 128, 32>>>(b.in, b.out); }},
    {nullptr, nullptr},
};

}  // namespace faults
