// How the fake driver tells the recorder that observes a program of ours of its launches, as NVIDIA's tells CUPTI: it loads the
// library of CUDA_INJECTION64_PATH, and a listener (core/testing/fake_cuda_listener.h) hears of each launch that is no
// graph's.
#pragma once

#include <cstdint>

#include "core/testing/fake_cuda_listener.h"

// Once a process, where the environment names a library.
void load_injected_library();

// A launch of a kernel, from the call to its return.
class ToldLaunch {
 public:
  explicit ToldLaunch(const char* kernel);
  ~ToldLaunch();
  ToldLaunch(const ToldLaunch&) = delete;
  ToldLaunch& operator=(const ToldLaunch&) = delete;
  // It was given to the device, and to no graph.
  void is_work() const;

 private:
  const FakeListener* listener_;
  const char* kernel_;
  uint32_t correlation_ = 0;
};
