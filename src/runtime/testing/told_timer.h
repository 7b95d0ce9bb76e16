// A timer that is told what kernels take: for tests of what is made of times, on machines that are busy.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "runtime/host_device.h"
#include "runtime/kernel_timer.h"

namespace hone::runtime::testing {

class ToldTimer : public KernelTimer {
 public:
  explicit ToldTimer(std::function<double()> microseconds)
      : KernelTimer(std::make_shared<HostDevice>(), std::make_unique<HostQueue>()),
        microseconds_(std::move(microseconds)) {}
  Result<double> microseconds(Sandbox&, Kernel&) override { return microseconds_(); }

 private:
  std::function<double()> microseconds_;
};

}  // namespace hone::runtime::testing
