// What a CUDA of the tests tells the CUPTI of observe/inject/testing: every call, all work. There are two such CUDAs: one
// that computes nothing (observe/inject/testing/fake_cuda.cpp), and the driver that plans run on
// (cuda/testing/fake_driver_calls.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeWork {
  enum Kind { kKernel, kCopy, kPeerCopy, kSet, kAllocation, kSynchronization } kind;
  const char* name;
  uint64_t graph_node;
  uint64_t bytes;
};

// What CUPTI wants to hear. Domains: 1 the driver, 2 the runtime.
struct FakeListener {
  // `kernel`: what the call launches; null: nothing. Returns the correlation.
  uint32_t (*enter)(int domain, uint32_t call, const char* kernel);
  void (*exit)(int domain, uint32_t call, const char* kernel, uint32_t correlation);
  void (*work)(const FakeWork& work, uint32_t correlation);
  void (*node_created)(uint64_t node, uint64_t original);
  void (*module_loaded)(const void* cubin, size_t bytes);
};

// Its callback id, which the fake libcupti knows the name of.
inline constexpr uint32_t kFakeCuLaunchKernel = 307;

extern "C" {
void fake_cuda_listen(const FakeListener* listener);
bool fake_cuda_is_listened_to();
int fake_cuda_calls_beside();          // that threads other than this one are in
const uint32_t* fake_cuda_geometry();  // of all kernels: three extents of the grid, three of a block
}
