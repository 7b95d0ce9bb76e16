// Kernels with one planted fault each, and beside each a healthy one that does the same work: what counters must tell
// apart. A case launches its kernel once; expected.csv says what each must be called.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

namespace faults {

// What all cases work on: floats, 0 to begin with where nothing else is said.
struct Buffers {
  static constexpr std::size_t kFloats = std::size_t{1} << 25;  // 128 MiB each, beyond any L2
  float* in = nullptr;
  float* out = nullptr;
  int* kinds = nullptr;   // 0 to 7 in random order
  int* sorted = nullptr;  // the same, those of one kind side by side
  int multiprocessors = 0;
};

struct Case {
  const char* kernel;
  void (*launch)(const Buffers& buffers);
};

// By the file that has them; ended by a case without a name.
extern const Case kMemoryCases[], kOccupancyCases[], kLaunchCases[], kComputeCases[], kEverydayCases[];

}  // namespace faults
