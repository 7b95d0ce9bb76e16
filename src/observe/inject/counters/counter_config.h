// From names of metrics to what the hardware is told to count, and from what it counted to values: the host side of CUPTI's
// profiler. It needs no device, and runs in the observed program because its images go with the CUPTI that is there
// (docs/decisions/0028-counters.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/inject/cupti/cupti.h"
#include "observe/inject/cupti/cupti_profiler_abi.h"

namespace hone::observe::inject {

// CUPTI's functions for hardware counters, which are there together since CUDA 12.6.
struct CuptiProfiler {
  template <typename Parameters>
  using Call = cupti::Result (*)(Parameters*);

  Call<cupti::ProfilerInitialize> initialize = nullptr;
  Call<cupti::ProfilerInitialize> deinitialize = nullptr;
  Call<cupti::ChipName> chip_name = nullptr;
  Call<cupti::HostInitialize> host_initialize = nullptr;
  Call<cupti::HostDeinitialize> host_deinitialize = nullptr;
  Call<cupti::HostAddMetrics> host_add_metrics = nullptr;
  Call<cupti::HostConfigSize> host_config_size = nullptr;
  Call<cupti::HostConfig> host_config = nullptr;
  Call<cupti::HostPasses> host_passes = nullptr;
  Call<cupti::HostEvaluate> host_evaluate = nullptr;
  Call<cupti::RangeEnable> enable = nullptr;
  Call<cupti::RangeProfiler> disable = nullptr;
  Call<cupti::RangeProfiler> start = nullptr;
  Call<cupti::RangeStop> stop = nullptr;
  Call<cupti::RangeDecode> decode = nullptr;
  Call<cupti::RangeConfig> set_config = nullptr;
  Call<cupti::RangeImageSize> image_size = nullptr;
  Call<cupti::RangeImageInitialize> image_initialize = nullptr;
  Call<cupti::RangeImageInfo> image_info = nullptr;

  // False: this CUPTI is older.
  bool load(const Cupti& cupti);
};

// A chip, and which of CUPTI's profilers counts on it.
struct CountedChip {
  // Implicit: mostly the name is all.
  CountedChip(const char* chip, int counter = cupti::kRangeProfiler, const uint8_t* counters = nullptr)
      : name(chip), profiler(counter), availability(counters) {}
  const char* name;  // "GH100"
  int profiler;
  const uint8_t* availability;  // image of the counters that may be read there; null: all
};

// What is counted under these names on the chip: of each, its names separated by spaces, the first that the chip knows; those
// of which it knows none are left out.
std::vector<std::string> known_metrics(const CuptiProfiler& profiler, const CountedChip& chip,
                                       const std::vector<std::string>& metrics);

// Divided so that each group is counted in one pass, the first metric in every group. What takes several passes by itself is
// left out.
std::vector<std::vector<std::string>> one_pass_groups(const CuptiProfiler& profiler, const CountedChip& chip,
                                                      const std::vector<std::string>& known);

// Those that one pass counts together: a metric for which there is no room beside those before it is left out.
std::vector<std::string> one_pass(const CuptiProfiler& profiler, const CountedChip& chip,
                                  const std::vector<std::string>& known);

// Metrics of one chip that are counted together.
class CounterConfig {
 public:
  explicit CounterConfig(const CuptiProfiler& profiler) : profiler_(profiler) {}
  ~CounterConfig();
  CounterConfig(const CounterConfig&) = delete;
  CounterConfig& operator=(const CounterConfig&) = delete;

  // Metrics that the chip knows. Anything but kSuccess: CUPTI does not know the chip, or there is no metric.
  cupti::Result make(const CountedChip& chip, const std::vector<std::string>& metrics);

  // Once made:
  const std::vector<uint8_t>& image() const { return image_; }
  std::size_t passes() const { return passes_; }
  const char** metrics() { return pointers_.data(); }
  std::size_t count() const { return pointers_.size(); }

  // What an image of counters says of one of its ranges or samples: a value for each of metrics().
  cupti::Result evaluate(const std::vector<uint8_t>& counted, std::vector<double>& values,
                         std::size_t range = 0);

 private:
  cupti::Result write_image();

  const CuptiProfiler& profiler_;
  void* host_ = nullptr;
  std::vector<std::string> names_;
  std::vector<const char*> pointers_;  // to them
  std::vector<uint8_t> image_;
  std::size_t passes_ = 0;
};

}  // namespace hone::observe::inject
