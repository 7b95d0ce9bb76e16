#include "observe/inject/counter_config.h"

#include <dlfcn.h>

namespace hone::observe::inject {
using cupti::Result;

bool CuptiProfiler::load(const Cupti& cupti) {
  bool all = cupti.library != nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(all ? dlsym(cupti.library, name)
                                                                                 : nullptr);
    all = all && function;
  };
  find(initialize, "cuptiProfilerInitialize");
  find(chip_name, "cuptiDeviceGetChipName");
  find(host_initialize, "cuptiProfilerHostInitialize");
  find(host_deinitialize, "cuptiProfilerHostDeinitialize");
  find(host_add_metrics, "cuptiProfilerHostConfigAddMetrics");
  find(host_config_size, "cuptiProfilerHostGetConfigImageSize");
  find(host_config, "cuptiProfilerHostGetConfigImage");
  find(host_passes, "cuptiProfilerHostGetNumOfPasses");
  find(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  find(enable, "cuptiRangeProfilerEnable");
  find(disable, "cuptiRangeProfilerDisable");
  find(start, "cuptiRangeProfilerStart");
  find(stop, "cuptiRangeProfilerStop");
  find(decode, "cuptiRangeProfilerDecodeData");
  find(set_config, "cuptiRangeProfilerSetConfig");
  find(image_size, "cuptiRangeProfilerGetCounterDataSize");
  find(image_initialize, "cuptiRangeProfilerCounterDataImageInitialize");
  find(image_info, "cuptiRangeProfilerGetCounterDataInfo");
  return all;
}

CounterConfig::~CounterConfig() { close(host_); }

Result CounterConfig::open(void** host) {
  auto opening = cupti::parameters<cupti::HostInitialize>();
  opening.profiler = cupti::kRangeProfiler;
  opening.chip = chip_.c_str();
  const Result result = profiler_.host_initialize(&opening);
  *host = opening.host;
  return result;
}

void CounterConfig::close(void* host) {
  if (!host) return;
  auto closing = cupti::parameters<cupti::HostDeinitialize>();
  closing.host = host;
  profiler_.host_deinitialize(&closing);
}

// One unknown name would make CUPTI refuse all.
bool CounterConfig::knows(const char* metric) {
  void* host = nullptr;
  if (open(&host) != Result::kSuccess) return false;
  auto adding = cupti::parameters<cupti::HostAddMetrics>();
  adding.host = host;
  adding.metrics = &metric;
  adding.count = 1;
  const bool known = profiler_.host_add_metrics(&adding) == Result::kSuccess;
  close(host);
  return known;
}

Result CounterConfig::make(const char* chip, const std::vector<std::string>& metrics) {
  chip_ = chip;
  if (const Result result = open(&host_); result != Result::kSuccess) return result;
  for (const std::string& metric : metrics) (knows(metric.c_str()) ? kept_ : left_out_).push_back(metric);
  for (const std::string& metric : kept_) names_.push_back(metric.c_str());
  auto adding = cupti::parameters<cupti::HostAddMetrics>();
  adding.host = host_;
  adding.metrics = names_.data();
  adding.count = names_.size();
  if (const Result result = profiler_.host_add_metrics(&adding); result != Result::kSuccess) return result;
  return write_image();
}

Result CounterConfig::write_image() {
  auto sizing = cupti::parameters<cupti::HostConfigSize>();
  sizing.host = host_;
  if (const Result result = profiler_.host_config_size(&sizing); result != Result::kSuccess) return result;
  image_.resize(sizing.size);
  auto writing = cupti::parameters<cupti::HostConfig>();
  writing.host = host_;
  writing.size = image_.size();
  writing.image = image_.data();
  if (const Result result = profiler_.host_config(&writing); result != Result::kSuccess) return result;
  auto counting = cupti::parameters<cupti::HostPasses>();
  counting.size = image_.size();
  counting.image = image_.data();
  const Result result = profiler_.host_passes(&counting);
  passes_ = counting.passes;
  return result;
}

Result CounterConfig::evaluate(const std::vector<uint8_t>& counted, std::vector<double>& values) {
  values.assign(names_.size(), 0);
  auto evaluating = cupti::parameters<cupti::HostEvaluate>();
  evaluating.host = host_;
  evaluating.image = counted.data();
  evaluating.size = counted.size();
  evaluating.metrics = names_.data();
  evaluating.count = names_.size();
  evaluating.values = values.data();
  return profiler_.host_evaluate(&evaluating);
}

}  // namespace hone::observe::inject
