// The profiler of the fake CUPTI. Its chip knows every metric that does not begin with "unknown"; the value of a metric is
// the length of its name, and each pass counts four. FAKE_CUPTI=no_counters: this user may not read them; =no_profiler: the chip is not known;
// =crashes_counting: the program is ended by a signal while its second launch is counted.
#include "observe/inject/testing/fake_cupti_profiler.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/cupti/cupti_profiler_abi.h"
#include "observe/inject/cupti/cupti_sampling_abi.h"

namespace cupti = hone::observe::inject::cupti;
using cupti::Result;

namespace {

constexpr Result kInvalid = static_cast<Result>(1);
constexpr size_t kMetricsAPass = 4, kImageBytes = 64;

struct FakeHost {
  size_t metrics = 0;
  bool samples = false;
};

// What is between start and stop.
struct FakeRanges {
  uint8_t* image = nullptr;
  bool configured = false, started = false;
  uint8_t kernels = 0;
};

std::mutex ranges_lock;
FakeRanges ranges;
int profilers = 0;

}  // namespace

bool asked_to(const char* behave) {
  const char* wanted = std::getenv("FAKE_CUPTI");
  return wanted && std::strcmp(wanted, behave) == 0;
}

void fake_profiler_sees_kernel() {
  std::lock_guard<std::mutex> held(ranges_lock);
  if (ranges.started) ++ranges.kernels;
}

bool fake_profiler_is_enabled() { return profilers > 0; }

extern "C" {

Result cuptiProfilerInitialize(cupti::ProfilerInitialize*) { return Result::kSuccess; }
Result cuptiProfilerDeInitialize(cupti::ProfilerInitialize*) {
  return profilers == 0 ? Result::kSuccess : kInvalid;
}
Result cuptiDeviceGetChipName(cupti::ChipName* asked) { return asked->name = "GH100", Result::kSuccess; }
Result cuptiProfilerHostInitialize(cupti::HostInitialize* asked) {
  if (asked_to("no_profiler") || std::strcmp(asked->chip, "GH100") != 0) return kInvalid;
  asked->host = new FakeHost{0, asked->profiler == cupti::kSamplingProfiler};
  return Result::kSuccess;
}
Result cuptiProfilerHostDeinitialize(cupti::HostDeinitialize* asked) {
  delete static_cast<FakeHost*>(asked->host);
  return Result::kSuccess;
}
Result cuptiProfilerHostConfigAddMetrics(cupti::HostAddMetrics* asked) {
  for (size_t i = 0; i < asked->count; ++i) {
    if (std::strncmp(asked->metrics[i], "unknown", 7) == 0) return kInvalid;
  }
  static_cast<FakeHost*>(asked->host)->metrics += asked->count;
  return asked->count > 0 ? Result::kSuccess : kInvalid;
}
Result cuptiProfilerHostGetConfigImageSize(cupti::HostConfigSize* asked) {
  return asked->size = sizeof(FakeHost), Result::kSuccess;
}
Result cuptiProfilerHostGetConfigImage(cupti::HostConfig* asked) {
  return std::memcpy(asked->image, asked->host, sizeof(FakeHost)), Result::kSuccess;
}
Result cuptiProfilerHostGetNumOfPasses(cupti::HostPasses* asked) {
  FakeHost host;
  std::memcpy(&host, asked->image, sizeof(host));
  asked->passes = (host.metrics + kMetricsAPass - 1) / kMetricsAPass;
  return Result::kSuccess;
}
Result cuptiProfilerHostEvaluateToGpuValues(cupti::HostEvaluate* asked) {
  const bool samples = static_cast<FakeHost*>(asked->host)->samples;
  if ((samples ? fake_samples_of(asked->image) : asked->image[0]) <= asked->range) return kInvalid;
  for (size_t i = 0; i < asked->count; ++i)
    asked->values[i] = static_cast<double>(std::strlen(asked->metrics[i]));
  return Result::kSuccess;
}

Result cuptiRangeProfilerEnable(cupti::RangeEnable* asked) {
  if (asked_to("no_counters")) return Result::kNotPrivileged;
  asked->profiler = &ranges;
  return ++profilers == 1 ? Result::kSuccess : kInvalid;
}
Result cuptiRangeProfilerDisable(cupti::RangeProfiler*) {
  std::lock_guard<std::mutex> held(ranges_lock);
  ranges = FakeRanges();
  return --profilers == 0 ? Result::kSuccess : kInvalid;
}
Result cuptiRangeProfilerGetCounterDataSize(cupti::RangeImageSize* asked) {
  return asked->size = kImageBytes, Result::kSuccess;
}
Result cuptiRangeProfilerCounterDataImageInitialize(cupti::RangeImageInitialize* asked) {
  return std::memset(asked->image, 0, asked->size), Result::kSuccess;
}
Result cuptiRangeProfilerSetConfig(cupti::RangeConfig* asked) {
  std::lock_guard<std::mutex> held(ranges_lock);
  ranges.image = asked->image;
  ranges.configured = asked->size == kImageBytes && asked->config_size == sizeof(FakeHost);
  return ranges.configured ? Result::kSuccess : kInvalid;
}
Result cuptiRangeProfilerStart(cupti::RangeProfiler*) {
  std::lock_guard<std::mutex> held(ranges_lock);
  if (!ranges.configured || ranges.started) return kInvalid;
  ranges.started = true;
  ranges.kernels = 0;
  return Result::kSuccess;
}
Result cuptiRangeProfilerStop(cupti::RangeStop* asked) {
  std::lock_guard<std::mutex> held(ranges_lock);
  if (!ranges.started) return kInvalid;
  static int stopped = 0;
  if (asked_to("crashes_counting") && ++stopped == 2) std::raise(SIGSEGV);
  ranges.started = false;
  asked->all_submitted = 1;
  return Result::kSuccess;
}
Result cuptiRangeProfilerDecodeData(cupti::RangeDecode*) {
  std::lock_guard<std::mutex> held(ranges_lock);
  if (ranges.started || !ranges.image) return kInvalid;
  ranges.image[0] = ranges.kernels;
  return Result::kSuccess;
}
Result cuptiRangeProfilerGetCounterDataInfo(cupti::RangeImageInfo* asked) {
  return asked->ranges = asked->image[0], Result::kSuccess;
}
}
