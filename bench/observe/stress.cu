// Many threads that launch on streams of their own, copy, allocate, capture and replay graphs, and check what they
// computed, while somebody attaches and detaches a recorder. Ends with 0 and "stress: N rounds, all right", or
// says what was wrong.
//   stress SECONDS [THREADS]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int kCount = 1 << 14;

__global__ void add(int* values, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) values[i] += what;
}

std::atomic<long long> rounds{0};
std::atomic<bool> failed{false};

bool good(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return true;
  if (!failed.exchange(true)) std::fprintf(stderr, "stress: %s: %s\n", what, cudaGetErrorString(status));
  return false;
}

// Adds 1 + 2 + … + 20 by launches, the same by a graph, and looks at the sum.
bool one_round(cudaStream_t stream, int* values, std::vector<int>& host) {
  constexpr int kLaunches = 20, kSum = kLaunches * (kLaunches + 1) / 2;
  bool ok = good(cudaMemsetAsync(values, 0, kCount * sizeof(int), stream), "memset");
  for (int i = 1; i <= kLaunches; ++i) add<<<kCount / 256, 256, 0, stream>>>(values, i);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ok = ok && good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin of a capture");
  for (int i = 1; i <= kLaunches; ++i) add<<<kCount / 256, 256, 0, stream>>>(values, i);
  ok = ok && good(cudaStreamEndCapture(stream, &graph), "end of a capture");
  ok = ok && good(cudaGraphInstantiate(&executable, graph, 0), "instantiation");
  for (int i = 0; ok && i < 3; ++i) ok = good(cudaGraphLaunch(executable, stream), "launch of a graph");
  void* more = nullptr;
  ok = ok && good(cudaMallocAsync(&more, 1 << 20, stream), "allocation");
  ok = ok && good(cudaFreeAsync(more, stream), "free");
  ok = ok && good(cudaMemcpyAsync(host.data(), values, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream), "copy");
  ok = ok && good(cudaStreamSynchronize(stream), "synchronize");
  if (executable) cudaGraphExecDestroy(executable);
  if (graph) cudaGraphDestroy(graph);
  for (int i = 0; ok && i < kCount; ++i) {
    if (host[i] == 4 * kSum) continue;
    std::fprintf(stderr, "stress: value %d is %d, not %d\n", i, host[i], 4 * kSum);
    failed = true;
    return false;
  }
  return ok;
}

void work(std::chrono::steady_clock::time_point until) {
  cudaStream_t stream;
  int* values = nullptr;
  std::vector<int> host(kCount);
  if (!good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream")) return;
  if (!good(cudaMalloc(&values, kCount * sizeof(int)), "memory")) return;
  while (!failed && std::chrono::steady_clock::now() < until && one_round(stream, values, host)) ++rounds;
  cudaFree(values);
  cudaStreamDestroy(stream);
}

}  // namespace

int main(int count, char** texts) {
  const double seconds = count > 1 ? std::atof(texts[1]) : 5;
  const int threads = count > 2 ? std::atoi(texts[2]) : 8;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<long>(seconds * 1e3));
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work, until);
  for (auto& worker : workers) worker.join();
  if (failed) return 1;
  std::printf("stress: %lld rounds, all right\n", rounds.load());
  return 0;
}
