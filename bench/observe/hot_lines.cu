// Kernels with one planted hot line each, for the lines that `hone profile --kernel` names: says which are expected, and why
// warps wait there, then launches the kernels in turn.
//   nvcc -std=c++20 -O3 -lineinfo -arch=sm_90 -cudart static -o build/observe/hot_lines bench/observe/hot_lines.cu
//   hone profile --kernel 'hot_' --then stop -- build/observe/hot_lines 20000
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kCount = 1 << 24, kThreads = 256;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "hot_lines: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

constexpr int kGatherLine = __LINE__ + 7;
extern "C" __global__ void hot_gather(const float* in, const int* index, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = static_cast<float>(i);
  for (int k = 0; k < 8; ++k) {
    const int at = (i + k * 4099) % kCount;
    // Each thread of a warp reads elsewhere, and the sum waits for what it has read.
    sum = sum * 0.5f + in[index[at]];
  }
  out[i] = sum;
}

constexpr int kBarrierLine = __LINE__ + 9;
extern "C" __global__ void hot_barrier(const float* in, const int*, float* out) {
  __shared__ float first;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 32) {  // one warp works, the other seven wait for it
    float value = in[i];
    for (int k = 0; k < 400; ++k) value = value * 0.999f + 0.25f;
    if (threadIdx.x == 0) first = value;
  }
  __syncthreads();
  out[i] = first;
}

constexpr int kSpecialLine = __LINE__ + 6;
extern "C" __global__ void hot_special(const float* in, const int*, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  for (int k = 0; k < 64; ++k)
    // The pipe of special functions takes a warp every eight cycles.
    value = __expf(__cosf(value));
  out[i] = value;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  std::printf("expected: hot_gather hot_lines.cu:%d long_scoreboard\n", kGatherLine);
  std::printf("expected: hot_barrier hot_lines.cu:%d barrier\n", kBarrierLine);
  std::printf("expected: hot_special hot_lines.cu:%d mio_throttle or short_scoreboard\n", kSpecialLine);
  std::fflush(stdout);
  float *in = nullptr, *out = nullptr;
  int* index = nullptr;
  check(cudaMalloc(&in, kCount * sizeof(float)), "memory");
  check(cudaMalloc(&out, kCount * sizeof(float)), "memory");
  check(cudaMalloc(&index, kCount * sizeof(int)), "memory");
  check(cudaMemset(in, 0, kCount * sizeof(float)), "memset");
  std::vector<int> places(kCount);
  unsigned state = 1;
  for (int& place : places) place = static_cast<int>((state = state * 1664525u + 1013904223u) % kCount);
  check(cudaMemcpy(index, places.data(), kCount * sizeof(int), cudaMemcpyHostToDevice), "copy");
  for (int round = 0; round < rounds; ++round) {
    hot_gather<<<kCount / kThreads, kThreads>>>(in, index, out);
    hot_barrier<<<kCount / kThreads, kThreads>>>(in, index, out);
    hot_special<<<kCount / kThreads, kThreads>>>(in, index, out);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernels");
  }
  return 0;
}
