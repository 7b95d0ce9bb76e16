// What the session wants counted in this process, as the file that observe/control.h describes says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::observe::inject {

// Launches of one kernel with one geometry.
struct WantedKernel {
  std::string symbol;  // mangled
  uint32_t device = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t instances = 0;  // to be counted
};

struct CounterRequest {
  std::vector<std::string> metrics;
  std::vector<std::string> once;     // metrics that are counted in launches that run once
  int64_t quiet_ns = 3'000'000'000;  // without a launch of these kernels, after which none is waited for
  std::vector<WantedKernel> kernels;
  bool lines = false;  // and at which instructions they wait
};

// False where there is no such file. Lines that cannot be read are passed over.
bool read_counter_request(const char* path, CounterRequest& request);

}  // namespace hone::observe::inject
