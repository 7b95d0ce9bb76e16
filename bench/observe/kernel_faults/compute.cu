// What is computed: branches that part a warp, spilled registers, double precision that nobody wanted, barriers.
#include "cases.h"

namespace faults {
namespace {

// Eight recurrences that a compiler cannot make one of.
__device__ float one_of(int kind, float x) {
  float y = x;
  switch (kind) {
    case 0:
      for (int i = 0; i < 64; ++i) y = y * 0.5f + 1.0f;
      break;
    case 1:
      for (int i = 0; i < 64; ++i) y = __expf(-y);
      break;
    case 2:
      for (int i = 0; i < 64; ++i) y = y * y - 0.7f;
      break;
    case 3:
      for (int i = 0; i < 64; ++i) y = __cosf(y);
      break;
    case 4:
      for (int i = 0; i < 64; ++i) y = rsqrtf(y + 1.5f);
      break;
    case 5:
      for (int i = 0; i < 64; ++i) y = fmaf(y, 0.25f, x);
      break;
    case 6:
      for (int i = 0; i < 64; ++i) y = __logf(fabsf(y) + 2.0f);
      break;
    default:
      for (int i = 0; i < 64; ++i) y = fminf(y * 1.5f, 3.0f) - 0.25f;
      break;
  }
  return y;
}
__device__ void apply(const float* in, const int* kinds, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  out[i] = one_of(kinds[i], in[i]);
}
__global__ void branches_divergent(const float* in, const int* kinds, float* out) { apply(in, kinds, out); }
__global__ void branches_uniform(const float* in, const int* kinds, float* out) { apply(in, kinds, out); }

// Needs some 80 registers; with two blocks of 1024 threads a multiprocessor there are 32.
template <int kKept>
__device__ void polynomials(const float* in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float x = in[i];
  float kept[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) kept[k] = x + static_cast<float>(k);
  for (int turn = 0; turn < 16; ++turn) {
#pragma unroll
    for (int k = 0; k < kKept; ++k) kept[k] = kept[k] * x + kept[(k * 7 + 1) % kKept];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kKept; ++k) sum += kept[k];
  out[i] = sum;
}
__global__ void __launch_bounds__(1024, 2) polynomials_spilled(const float* in, float* out) { polynomials<64>(in, out); }
__global__ void __launch_bounds__(256) polynomials_in_registers(const float* in, float* out) {
  polynomials<64>(in, out);
}

// The literals of the first are doubles, and so is all that is computed with them.
__global__ void series_double_literals(const float* in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float x = in[i];
  float y = x;
#pragma unroll
  for (int k = 0; k < 8; ++k) y = 0.1 + y * (0.5 + y * (0.044715 + y * (0.7978845608 + x)));
  out[i] = y;
}
__global__ void series_float_literals(const float* in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float x = in[i];
  float y = x;
#pragma unroll
  for (int k = 0; k < 8; ++k) y = 0.1f + y * (0.5f + y * (0.044715f + y * (0.7978845608f + x)));
  out[i] = y;
}

// The same mistake where memory takes as long as the arithmetic: it costs little.
__global__ void gelu_double_literals(const float* in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float x = in[i];
  out[i] = 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
__global__ void gelu_float_literals(const float* in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

// Sums of 1024 by halves, with a barrier before each; and by shuffles, with one.
__global__ void sums_by_barriers(const float* in, float* out) {
  __shared__ float part[1024];
  for (int round = 0; round < 8; ++round) {
    part[threadIdx.x] = in[(std::size_t{blockIdx.x} * 8 + round) * 1024 + threadIdx.x];
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
      if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x * 8 + round] = part[0];
    __syncthreads();
  }
}
__global__ void sums_by_shuffles(const float* in, float* out) {
  const auto* vectors = reinterpret_cast<const float4*>(in);
  const int lane = threadIdx.x % 32;
  const std::size_t warp = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float4 value = vectors[warp * 256 + k * 32 + lane];
    sum += value.x + value.y + value.z + value.w;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) out[warp] = sum;
}

constexpr int kBlocks = static_cast<int>(Buffers::kFloats / 256);

}  // namespace

const Case kComputeCases[] = {
    {"branches_divergent",
     [](const Buffers& b) { branches_divergent<<<kBlocks / 4, 256>>>(b.in, b.kinds, b.out); }},
    {"branches_uniform",
     [](const Buffers& b) { branches_uniform<<<kBlocks / 4, 256>>>(b.in, b.sorted, b.out); }},
    {"polynomials_spilled", [](const Buffers& b) { polynomials_spilled<<<kBlocks / 16, 1024>>>(b.in, b.out); }},
    {"polynomials_in_registers",
     [](const Buffers& b) { polynomials_in_registers<<<kBlocks / 4, 256>>>(b.in, b.out); }},
    {"series_double_literals", [](const Buffers& b) { series_double_literals<<<kBlocks, 256>>>(b.in, b.out); }},
    {"series_float_literals", [](const Buffers& b) { series_float_literals<<<kBlocks, 256>>>(b.in, b.out); }},
    {"gelu_double_literals", [](const Buffers& b) { gelu_double_literals<<<kBlocks, 256>>>(b.in, b.out); }},
    {"gelu_float_literals", [](const Buffers& b) { gelu_float_literals<<<kBlocks, 256>>>(b.in, b.out); }},
    {"sums_by_barriers",
     [](const Buffers& b) { sums_by_barriers<<<Buffers::kFloats / 8192, 1024>>>(b.in, b.out); }},
    {"sums_by_shuffles",
     [](const Buffers& b) { sums_by_shuffles<<<Buffers::kFloats / 8192, 256>>>(b.in, b.out); }},
    {nullptr, nullptr},
};

}  // namespace faults
