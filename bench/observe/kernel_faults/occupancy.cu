// How many warps are there to wait with: a walk through memory whose every step needs the value of the step before, so
// that only other warps can keep memory busy. The buffer holds zeros, which the compiler cannot know.
#include "cases.h"

namespace faults {
namespace {

__device__ float sum_of(float4 value) { return value.x + value.y + value.z + value.w; }
__device__ float sum_of(float2 value) { return value.x + value.y; }
__device__ float sum_of(float value) { return value; }

// Every thread reads its share, a Vector a step; coalesced. kKept sums are kept in registers all the way.
template <typename Vector, int kKept>
__device__ void walk(const float* in, float* out) {
  const auto* vectors = reinterpret_cast<const Vector*>(in);
  constexpr std::size_t kVectors = Buffers::kFloats * sizeof(float) / sizeof(Vector);
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
      const float value = sum_of(vectors[at]);
      kept[i] += value * kept[(i + 1) % kKept];
      at += threads + __float_as_int(value);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) sum = sum * 0.5f + kept[i];
  if (sum == 12345.0f) out[thread] = sum;
}

__global__ void __launch_bounds__(256, 1) walk_many_registers(const float* in, float* out) { walk<float4, 200>(in, out); }
__global__ void __launch_bounds__(256, 8) walk_few_registers(const float* in, float* out) { walk<float4, 4>(in, out); }

// Each block keeps a table, of which it uses little.
__device__ void walk_with_table(const float* in, float* out) {
  extern __shared__ float table[];
  table[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  walk<float4, 4>(in + (table[threadIdx.x ^ 1] == 1.0f ? 4 : 0), out);
}
__global__ void __launch_bounds__(128) walk_big_table(const float* in, float* out) { walk_with_table(in, out); }
__global__ void __launch_bounds__(128) walk_small_table(const float* in, float* out) { walk_with_table(in, out); }

// Half as many warps as there is room for: enough for steps of 16 bytes, too few for steps of 8.
__global__ void walk_small_blocks(const float* in, float* out) { walk<float2, 4>(in, out); }
__global__ void walk_large_blocks(const float* in, float* out) { walk<float2, 4>(in, out); }

// All the warps that there is room for, and yet too few bytes under way.
__global__ void walk_by_bytes(const float* in, float* out) { walk<float, 4>(in, out); }

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
    {"walk_large_blocks", [](const Buffers& b) { walk_large_blocks<<<b.multiprocessors * 16, 256>>>(b.in, b.out); }},
    {"walk_by_bytes", [](const Buffers& b) { walk_by_bytes<<<b.multiprocessors * 16, 256>>>(b.in, b.out); }},
    {nullptr, nullptr},
};

}  // namespace faults
