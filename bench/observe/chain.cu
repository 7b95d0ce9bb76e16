// A program that is bound by launches: steps of N empty kernels and one synchronize, for some seconds, whose
// times it writes down. With --graph a step is one replay of a CUDA graph of N kernels; with --driver the driver is called
// directly, as Triton and CuPy do.
//   chain SECONDS FILE [--launches N] [--graph] [--driver]
// FILE gets a line for each step: its begin (CLOCK_MONOTONIC) and its duration, in nanoseconds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

namespace {

__global__ void empty_kernel() {}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "chain: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

void check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "chain: %s: error %d of the driver\n", what, static_cast<int>(status));
  std::exit(1);
}

long long monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

struct Arguments {
  double seconds = 1;
  const char* file = nullptr;
  int launches = 400;
  bool graph = false, driver = false;
};

Arguments read_arguments(int count, char** texts) {
  Arguments arguments;
  if (count < 3) {
    std::fprintf(stderr, "usage: chain SECONDS FILE [--launches N] [--graph] [--driver]\n");
    std::exit(2);
  }
  arguments.seconds = std::atof(texts[1]);
  arguments.file = texts[2];
  for (int i = 3; i < count; ++i) {
    if (!std::strcmp(texts[i], "--launches") && i + 1 < count) arguments.launches = std::atoi(texts[++i]);
    if (!std::strcmp(texts[i], "--graph")) arguments.graph = true;
    if (!std::strcmp(texts[i], "--driver")) arguments.driver = true;
  }
  return arguments;
}

cudaGraphExec_t capture(cudaStream_t stream, int launches) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin of the capture");
  for (int i = 0; i < launches; ++i) empty_kernel<<<1, 32, 0, stream>>>();
  check(cudaStreamEndCapture(stream, &graph), "end of the capture");
  check(cudaGraphInstantiate(&executable, graph, 0), "instantiation");
  return executable;
}

void one_step(const Arguments& arguments, cudaStream_t stream, cudaGraphExec_t graph, CUfunction function) {
  if (arguments.graph) {
    check(cudaGraphLaunch(graph, stream), "launch of the graph");
  } else if (arguments.driver) {
    for (int i = 0; i < arguments.launches; ++i) {
      check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "launch");
    }
  } else {
    for (int i = 0; i < arguments.launches; ++i) empty_kernel<<<1, 32, 0, stream>>>();
    check(cudaGetLastError(), "launch");
  }
  check(cudaStreamSynchronize(stream), "synchronize");
}

}  // namespace

int main(int count, char** texts) {
  const Arguments arguments = read_arguments(count, texts);
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "stream");
  cudaFunction_t function = nullptr;
  check(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(empty_kernel)), "function");
  const cudaGraphExec_t graph = arguments.graph ? capture(stream, arguments.launches) : nullptr;
  std::vector<std::pair<long long, long long>> steps;
  steps.reserve(1 << 20);
  const long long until = monotonic_ns() + static_cast<long long>(arguments.seconds * 1e9);
  for (long long begin = monotonic_ns(); begin < until;) {
    one_step(arguments, stream, graph, reinterpret_cast<CUfunction>(function));
    const long long end = monotonic_ns();
    steps.emplace_back(begin, end - begin);
    begin = end;
  }
  FILE* out = std::fopen(arguments.file, "w");
  if (!out) return 1;
  for (const auto& [begin, duration] : steps) std::fprintf(out, "%lld %lld\n", begin, duration);
  std::fclose(out);
  return 0;
}
