// How a kernel is divided into blocks: too few of them, or a few more than fit at a time.
#include "cases.h"

namespace faults {
namespace {

constexpr int kTurns = 20000;

// Nothing but multiplications and additions, eight independent chains a thread.
__device__ void multiply_and_add(float* out, float factor, int turns = kTurns) {
  float kept[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) kept[i] = static_cast<float>(threadIdx.x + i);
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < 8; ++i) kept[i] = kept[i] * factor + 1.0f;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += kept[i];
  if (sum == 12345.0f) out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void __launch_bounds__(1024, 2) chains(float* out, float factor) { multiply_and_add(out, factor); }
__global__ void __launch_bounds__(1024, 2) chains_with_a_tail(float* out, float factor) {
  multiply_and_add(out, factor);
}

// Every hundredth block has fifty times as much to do.
__global__ void __launch_bounds__(256) chains_unequal(float* out, float factor) {
  multiply_and_add(out, factor, blockIdx.x % 100 == 99 ? 50 * kTurns / 8 : kTurns / 8);
}

__device__ void sum_of(const float* in, float* out, std::size_t count) {
  const auto* vectors = reinterpret_cast<const float4*>(in);
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count / 4;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const float4 value = vectors[i];
    sum += value.x + value.y + value.z + value.w;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
__global__ void sum_tiny_grid(const float* in, float* out, std::size_t count) { sum_of(in, out, count); }
__global__ void sum_whole_grid(const float* in, float* out, std::size_t count) { sum_of(in, out, count); }

}  // namespace

const Case kLaunchCases[] = {
    {"chains_with_a_tail",
     [](const Buffers& b) { chains_with_a_tail<<<b.multiprocessors * 2 + 8, 1024>>>(b.out, 0.999f); }},
    {"chains", [](const Buffers& b) { chains<<<b.multiprocessors * 2, 1024>>>(b.out, 0.999f); }},
    {"chains_unequal",
     [](const Buffers& b) { chains_unequal<<<b.multiprocessors * 16, 256>>>(b.out, 0.999f); }},
    {"sum_tiny_grid", [](const Buffers& b) { sum_tiny_grid<<<8, 256>>>(b.in, b.out, Buffers::kFloats / 4); }},
    {"sum_whole_grid",
     [](const Buffers& b) { sum_whole_grid<<<b.multiprocessors * 8, 256>>>(b.in, b.out, Buffers::kFloats); }},
    {nullptr, nullptr},
};

}  // namespace faults
