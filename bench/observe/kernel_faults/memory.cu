// How memory is addressed: scattered global accesses, conflicts between banks of shared memory.
#include "cases.h"

namespace faults {
namespace {

constexpr int kRow = 4096;  // floats
constexpr int kRows = static_cast<int>(Buffers::kFloats / kRow);

// Neighbouring threads are a row apart: each access of a warp touches 32 sectors and uses 4 bytes of each. A block walks
// along no row, so that caches cannot mend it.
__global__ void scale_uncoalesced(const float* in, float* out, float factor) {
  const int row = blockIdx.y * blockDim.x + threadIdx.x, column = (blockIdx.x * 997) % kRow;
  out[static_cast<std::size_t>(row) * kRow + column] = factor * in[static_cast<std::size_t>(row) * kRow + column];
}

__global__ void scale_coalesced(const float* in, float* out, float factor) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  out[i] = factor * in[i];
}

// The matrix is read along rows and written along columns, as everybody writes it at first.
__global__ void transpose_naive(const float* in, float* out) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  for (int y = blockIdx.y * 32 + threadIdx.y; y < static_cast<int>(blockIdx.y) * 32 + 32; y += 8)
    out[static_cast<std::size_t>(x) * kRows + y] = in[static_cast<std::size_t>(y) * kRow + x];
}

// By a tile of shared memory, one column wider than it must be.
__global__ void transpose_tiled(const float* in, float* out) {
  __shared__ float tile[32][33];
  const int left = blockIdx.x * 32, top = blockIdx.y * 32;
  for (int y = threadIdx.y; y < 32; y += 8)
    tile[y][threadIdx.x] = in[static_cast<std::size_t>(top + y) * kRow + left + threadIdx.x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8)
    out[static_cast<std::size_t>(left + y) * kRows + top + threadIdx.x] = tile[threadIdx.x][y];
}

// Each thread adds up a row of its warp's tile, again and again: with rows of 32 floats, all threads want the same bank.
template <int kWidth>
__device__ void add_up_rows(const float* in, float* out) {
  __shared__ float tile[4][32][kWidth];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t first = std::size_t{blockIdx.x} * 4096 + warp * 1024;
  for (int y = 0; y < 32; ++y) tile[warp][y][lane] = in[first + y * 32 + lane];
  __syncwarp();
  float sum = 0;
  for (int round = 0; round < 16; ++round) {
#pragma unroll
    for (int x = 0; x < 32; ++x) sum += tile[warp][lane][x] * static_cast<float>(round);
    __syncwarp();
    tile[warp][lane][round] = sum;
  }
  out[std::size_t{blockIdx.x} * 128 + threadIdx.x] = sum;
}
__global__ void rows_conflicting(const float* in, float* out) { add_up_rows<32>(in, out); }
__global__ void rows_padded(const float* in, float* out) { add_up_rows<33>(in, out); }

constexpr int kTiles = static_cast<int>(Buffers::kFloats / 4096);

}  // namespace

const Case kMemoryCases[] = {
    {"scale_uncoalesced",
     [](const Buffers& b) { scale_uncoalesced<<<dim3(kRow, kRows / 256), 256>>>(b.in, b.out, 2); }},
    {"scale_coalesced",
     [](const Buffers& b) { scale_coalesced<<<Buffers::kFloats / 256, 256>>>(b.in, b.out, 2); }},
    {"transpose_naive",
     [](const Buffers& b) { transpose_naive<<<dim3(kRow / 32, kRows / 32), dim3(32, 8)>>>(b.in, b.out); }},
    {"transpose_tiled",
     [](const Buffers& b) { transpose_tiled<<<dim3(kRow / 32, kRows / 32), dim3(32, 8)>>>(b.in, b.out); }},
    {"rows_conflicting", [](const Buffers& b) { rows_conflicting<<<kTiles, 128>>>(b.in, b.out); }},
    {"rows_padded", [](const Buffers& b) { rows_padded<<<kTiles, 128>>>(b.in, b.out); }},
    {nullptr, nullptr},
};

}  // namespace faults
