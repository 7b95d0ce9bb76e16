// CUPTI's range profiler around single launches: what it is told to count, in which contexts, and the values that it counted.
// What CUPTI does with a context is done on a thread of the program that is in a call of its.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/inject/counters/counter_config.h"

namespace hone::observe::inject {

// What went wrong: `doing` as the beginning of a sentence; null: nothing.
struct CountingFailure {
  const char* doing = nullptr;
  cupti::Result result = cupti::Result::kSuccess;
};

class RangeCounter {
 public:
  explicit RangeCounter(const CuptiProfiler& profiler) : profiler_(profiler) {}

  // What is counted from the next launch on: metrics that the chip knows. From any thread, while no launch is being counted.
  bool use(const char* chip, const std::vector<std::string>& metrics);
  const CounterConfig& config() const { return *config_; }

  // Between them the program launches one kernel in that context.
  bool start(void* context);
  bool stop();
  // Once stopped. kNothing: no kernel was counted, or several.
  enum class Counted : uint8_t { kFailed, kNothing, kOne };
  Counted read();
  const std::vector<double>& values() const { return values_; }  // of config().metrics()

  // Lets go of the hardware.
  void disable();
  bool enabled() const { return enabled_; }

  // After any of these has returned false or kFailed.
  const CountingFailure& failure() const { return failure_; }

 private:
  // CUPTI keeps the address of the image for as long as a context is enabled.
  struct Context {
    void* context = nullptr;
    void* profiler = nullptr;
    std::vector<uint8_t> image, empty_image;
  };

  Context* context_of(void* context);
  bool make_images(Context& context);
  bool check(cupti::Result result, const char* doing);

  const CuptiProfiler& profiler_;
  std::unique_ptr<CounterConfig> config_;
  std::vector<Context> contexts_;
  Context* at_ = nullptr;
  std::vector<double> values_;
  CountingFailure failure_;
  std::atomic<bool> enabled_{false};  // contexts
  bool of_before_ = false;            // they count metrics that are not wanted any more
};

}  // namespace hone::observe::inject
