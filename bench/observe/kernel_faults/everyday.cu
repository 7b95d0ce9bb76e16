// Kernels as people write them at first, and as they write them later. What counters say of them was not looked at while
// the rules were written.
#include "cases.h"

namespace faults {
namespace {

struct Particle {
  float x, y, z, mass, vx, vy, vz, charge;
};
constexpr int kParticles = static_cast<int>(Buffers::kFloats * sizeof(float) / sizeof(Particle));

// One field of eight is used: structs in an array against arrays of fields.
__global__ void move_structs(const Particle* in, float* out, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kParticles) out[i] = in[i].x + dt * in[i].vx;
}
__global__ void move_arrays(const float* x, const float* vx, float* out, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kParticles) out[i] = x[i] + dt * vx[i];
}

// Rows that a random number names, 4 bytes each.
__global__ void gather_random(const float* in, const int* kinds, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned mixed = (i * 2654435761u) ^ static_cast<unsigned>(kinds[i]) * 40503u;
  out[i] = in[mixed % Buffers::kFloats];
}

constexpr int kSize = 1024;

__global__ void product_naive(const float* a, const float* b, float* c) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
  c[row * kSize + column] = sum;
}
// The same with rows and columns of threads exchanged.
__global__ void product_by_columns(const float* a, const float* b, float* c) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
  c[row * kSize + column] = sum;
}

// All threads add to a few places.
__global__ void histogram_global(const int* kinds, float* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&bins[kinds[i]], 1.0f);
}

// A row of 4096 a thread, another a block.
__global__ void row_sums_by_threads(const float* in, float* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 4096; ++k) sum += in[static_cast<std::size_t>(row) * 4096 + k];
  out[row] = sum;
}

}  // namespace

const Case kEverydayCases[] = {
    {"move_structs",
     [](const Buffers& b) {
       move_structs<<<kParticles / 256, 256>>>(reinterpret_cast<const Particle*>(b.in), b.out, 0.1f);
     }},
    {"move_arrays",
     [](const Buffers& b) { move_arrays<<<kParticles / 256, 256>>>(b.in, b.in + kParticles, b.out, 0.1f); }},
    {"gather_random",
     [](const Buffers& b) { gather_random<<<Buffers::kFloats / 4 / 256, 256>>>(b.in, b.kinds, b.out); }},
    {"product_naive",
     [](const Buffers& b) {
       product_naive<<<dim3(kSize / 32, kSize / 8), dim3(32, 8)>>>(b.in, b.in + kSize * kSize, b.out);
     }},
    {"product_by_columns",
     [](const Buffers& b) {
       product_by_columns<<<dim3(kSize / 32, kSize / 8), dim3(32, 8)>>>(b.in, b.in + kSize * kSize, b.out);
     }},
    {"histogram_global",
     [](const Buffers& b) { histogram_global<<<Buffers::kFloats / 4 / 256, 256>>>(b.kinds, b.out); }},
    {"row_sums_by_threads",
     [](const Buffers& b) { row_sums_by_threads<<<Buffers::kFloats / 4096 / 64, 64>>>(b.in, b.out); }},
    {nullptr, nullptr},
};

}  // namespace faults
