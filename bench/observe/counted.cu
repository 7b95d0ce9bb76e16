// Kernels of which is known what hardware counters must say, as a library for counted.py: each moves or computes as much as
// its comment states, for n = rows * columns floats.
#include <cuda_runtime.h>

namespace {

constexpr int kTile = 32;

// Reads and writes every element once: 8 n bytes, but stores scattered over 32 lines a warp.
__global__ void transpose_naive(const float* in, float* out, int rows, int columns) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x < columns && y < rows) out[static_cast<size_t>(x) * rows + y] = in[static_cast<size_t>(y) * columns + x];
}

// The same through shared memory, without conflicts.
__global__ void transpose_tiled(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[static_cast<size_t>(y) * columns + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x, y = blockIdx.x * kTile + threadIdx.y;
  if (x < rows && y < columns) out[static_cast<size_t>(y) * rows + x] = tile[threadIdx.x][threadIdx.y];
}

// The same with 32 conflicts a load.
__global__ void transpose_conflicts(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[static_cast<size_t>(y) * columns + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x, y = blockIdx.x * kTile + threadIdx.y;
  if (x < rows && y < columns) out[static_cast<size_t>(y) * rows + x] = tile[threadIdx.x][threadIdx.y];
}

// Every 33rd element: a sector of 32 bytes for each thread. n / 33 additions.
__global__ void strided(const float* in, float* out, int n) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i * 33 < n) out[i] = in[i * 33] + 1;
}

// Half of each warp multiplies and adds 64 times, the other half adds: 192 operations for each pair of threads.
__global__ void divergent(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  if (i % 2 == 0) {
    for (int k = 0; k < 64; ++k) x = x * 0.999f + 0.5f;
  } else {
    for (int k = 0; k < 64; ++k) x += 0.25f;
  }
  out[i] = x;
}

// 2 n operations in double precision.
__global__ void doubles(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<float>(static_cast<double>(in[i]) * 1.000001 + 0.1);
}

}  // namespace

extern "C" void launch_counted(int which, const float* in, float* out, int rows, int columns, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const int n = rows * columns;
  const dim3 tile(kTile, kTile), tiles((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  switch (which) {
    case 0: transpose_naive<<<tiles, tile, 0, on>>>(in, out, rows, columns); break;
    case 1: transpose_tiled<<<tiles, tile, 0, on>>>(in, out, rows, columns); break;
    case 2: transpose_conflicts<<<tiles, tile, 0, on>>>(in, out, rows, columns); break;
    case 3: strided<<<(n / 33 + 256) / 256, 256, 0, on>>>(in, out, n); break;
    case 4: divergent<<<(n + 255) / 256, 256, 0, on>>>(in, out, n); break;
    default: doubles<<<(n + 255) / 256, 256, 0, on>>>(in, out, n); break;
  }
}
