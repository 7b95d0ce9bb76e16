// Runs the kernels of this folder, each once in a round, and prints what each takes.
//   kernel_faults [ROUNDS] [CASE…]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "cases.h"

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "kernel_faults: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

faults::Buffers make_buffers() {
  constexpr std::size_t kCount = faults::Buffers::kFloats;
  faults::Buffers buffers;
  check(cudaDeviceGetAttribute(&buffers.multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device");
  check(cudaMalloc(&buffers.in, kCount * sizeof(float)), "memory");
  check(cudaMalloc(&buffers.out, kCount * sizeof(float)), "memory");
  check(cudaMemset(buffers.in, 0, kCount * sizeof(float)), "memset");
  check(cudaMemset(buffers.out, 0, kCount * sizeof(float)), "memset");
  std::vector<int> kinds(kCount / 4);
  std::mt19937 random(7);
  for (int& kind : kinds) kind = static_cast<int>(random() % 8);
  const std::size_t bytes = kinds.size() * sizeof(int);
  check(cudaMalloc(&buffers.kinds, bytes), "memory");
  check(cudaMalloc(&buffers.sorted, bytes), "memory");
  check(cudaMemcpy(buffers.kinds, kinds.data(), bytes, cudaMemcpyHostToDevice), "copy");
  std::sort(kinds.begin(), kinds.end());
  check(cudaMemcpy(buffers.sorted, kinds.data(), bytes, cudaMemcpyHostToDevice), "copy");
  return buffers;
}

bool wanted(const char* name, int count, char** names) {
  for (int i = 0; i < count; ++i)
    if (std::strcmp(names[i], name) == 0) return true;
  return count == 0;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 1;
  const faults::Buffers buffers = make_buffers();
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  for (int round = 0; round < rounds; ++round)
    for (const faults::Case* cases :
         {faults::kMemoryCases, faults::kOccupancyCases, faults::kLaunchCases, faults::kComputeCases,
          faults::kEverydayCases})
      for (; cases->kernel != nullptr; ++cases) {
        if (!wanted(cases->kernel, count - 2, arguments + 2)) continue;
        check(cudaEventRecord(begin), "event");
        cases->launch(buffers);
        check(cudaGetLastError(), cases->kernel);
        check(cudaEventRecord(end), "event");
        check(cudaDeviceSynchronize(), cases->kernel);
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "event");
        if (round + 1 == rounds) std::printf("%-28s %8.1f us\n", cases->kernel, 1e3 * static_cast<double>(ms));
      }
  return 0;
}
