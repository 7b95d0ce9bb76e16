// Times kernels on a device that replays recordings without the host (Device::replays_alone): many runs of one kernel
// in one recording, between two events. What a launch costs is then not in a kernel's time, as it is not in a plan's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/kernel_timer.h"

namespace hone::runtime {

// A reading is the time of one replay, divided by its runs. Before each, the device is given something else to do, so
// that the host is ahead when the first event is reached: bytes beyond what its cache holds, where a step touches more
// than that, and a replay otherwise. Where steps do, each run finds other weights than the run before, so many that none of them
// is left in the cache, and what is computed only where the cache would not hold it from one operator to the next
// (Sandbox::Rotation). Runs do not overwrite their inputs, whatever a plan would let them.
class RecordedTimer : public KernelTimer {
 public:
  RecordedTimer(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue, std::size_t step_bytes);

  std::string conditions() const override;
  Result<std::unique_ptr<Sandbox>> sandbox(const graph::Graph& graph, const graph::Node& node) override;
  Result<double> microseconds(Sandbox& sandbox, Kernel& kernel) override {
    return stopwatch(sandbox, kernel)();
  }
  std::function<Result<double>()> stopwatch(Sandbox& sandbox, Kernel& kernel) override;
  ReadingRules rules() const override;

  // µs: short of it, what begins and ends a replay would matter.
  static constexpr double kShortestReplay = 200;
  static constexpr std::size_t kMostRuns = 1000;  // in one recording

 private:
  friend class RecordedStopwatch;
  Status pass_cache();

  std::size_t passed_bytes_ = 0;  // before each reading; 0: a step fits the cache
  std::size_t stays_bytes_ = 0;   // of what is computed
  Memory passed_;                 // made when first needed
};

}  // namespace hone::runtime
