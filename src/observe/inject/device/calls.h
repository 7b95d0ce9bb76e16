// The program's calls into CUDA's runtime and driver, recorded from CUPTI's callbacks of exactly those calls. CUPTI's
// activities of kind RUNTIME and DRIVER would slow every other call of the program, too: by 0.13 µs each on an H100's host,
// and ViT makes 4,055 of them a step to launch 260 kernels (docs/decisions/0023-observing.md).
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/device/call_table.h"
#include "observe/inject/device/correlations.h"
#include "observe/inject/device/open_calls.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

class Calls {
 public:
  Calls(Output& output, const CallTable& runtime, const CallTable& driver, Correlations& correlations)
      : output_(output), runtime_(runtime), driver_(driver), correlations_(correlations) {}

  // From here on: calls that are open have not been seen to begin, and are left out.
  void begin() { watch_.fetch_add(1); }

  // From any thread of the program. A call within another is a part of it: the runtime calls the driver.
  void on_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id, const cupti::CallData& call);

  // Whether a recorded call has that correlation (of CUPTI), of the last kRemembered.
  bool recorded(uint32_t correlation) const {
    return with_call_[correlation % kRemembered / 64].load(std::memory_order_relaxed) >> (correlation % 64) &
           1;
  }
  uint32_t last_launch() const { return last_launch_; }  // CUPTI's correlation
  void attached_again() { last_launch_ = 0; }

  // How many calls the program made to the driver itself, since this was last asked; forgets which calls there were.
  uint64_t take_driver_calls();

 private:
  void write(cupti::Domain domain, uint32_t id, const cupti::CallData& call, int64_t start_ns);

  static constexpr uint32_t kRemembered = 1 << 16;  // correlations, a bit each

  Output& output_;
  const CallTable& runtime_;
  const CallTable& driver_;
  Correlations& correlations_;
  std::atomic<uint32_t> watch_{0};  // tells recorded blocks apart
  std::atomic<uint32_t> last_launch_{0};
  std::atomic<uint64_t> by_driver_{0};
  std::atomic<uint64_t> with_call_[kRemembered / 64] = {};
};

}  // namespace hone::observe::inject
