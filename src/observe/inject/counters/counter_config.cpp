#include "observe/inject/counters/counter_config.h"

#include <algorithm>
#include <utility>

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
  find(deinitialize, "cuptiProfilerDeInitialize");
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

namespace {

void* open_host(const CuptiProfiler& profiler, const CountedChip& chip, Result& result) {
  auto opening = cupti::parameters<cupti::HostInitialize>();
  opening.profiler = chip.profiler;
  opening.chip = chip.name;
  opening.availability = chip.availability;
  result = profiler.host_initialize(&opening);
  return result == Result::kSuccess ? opening.host : nullptr;
}

void close_host(const CuptiProfiler& profiler, void* host) {
  if (!host) return;
  auto closing = cupti::parameters<cupti::HostDeinitialize>();
  closing.host = host;
  profiler.host_deinitialize(&closing);
}

// One unknown name would make CUPTI refuse all.
bool knows(const CuptiProfiler& profiler, const CountedChip& chip, const char* metric) {
  Result result;
  void* host = open_host(profiler, chip, result);
  if (!host) return false;
  auto adding = cupti::parameters<cupti::HostAddMetrics>();
  adding.host = host;
  adding.metrics = &metric;
  adding.count = 1;
  const bool known = profiler.host_add_metrics(&adding) == Result::kSuccess;
  close_host(profiler, host);
  return known;
}

bool takes_one_pass(const CuptiProfiler& profiler, const CountedChip& chip,
                    const std::vector<std::string>& metrics) {
  CounterConfig config(profiler);
  return config.make(chip, metrics) == Result::kSuccess && config.passes() == 1;
}

}  // namespace

std::vector<std::string> known_metrics(const CuptiProfiler& profiler, const CountedChip& chip,
                                       const std::vector<std::string>& metrics) {
  std::vector<std::string> known;
  for (const std::string& names : metrics) {
    for (size_t at = 0; at < names.size();) {
      const size_t end = std::min(names.find(' ', at), names.size());
      std::string name = names.substr(at, end - at);
      at = end + 1;
      if (name.empty() || !knows(profiler, chip, name.c_str())) continue;
      known.push_back(std::move(name));
      break;
    }
  }
  return known;
}

// Each metric into the first of the last groups that it fits into: neighbours in the list often count alike.
std::vector<std::vector<std::string>> one_pass_groups(const CuptiProfiler& profiler, const CountedChip& chip,
                                                      const std::vector<std::string>& known) {
  constexpr size_t kLast = 4;
  std::vector<std::vector<std::string>> groups;
  for (size_t i = 1; i < known.size(); ++i) {
    bool placed = false;
    for (size_t at = groups.size() > kLast ? groups.size() - kLast : 0; at < groups.size() && !placed; ++at) {
      groups[at].push_back(known[i]);
      placed = takes_one_pass(profiler, chip, groups[at]);
      if (!placed) groups[at].pop_back();
    }
    std::vector<std::string> alone = {known[0], known[i]};
    if (!placed && takes_one_pass(profiler, chip, alone)) groups.push_back(std::move(alone));
  }
  if (groups.empty() && !known.empty()) groups.push_back({known[0]});
  return groups;
}

std::vector<std::string> one_pass(const CuptiProfiler& profiler, const CountedChip& chip,
                                  const std::vector<std::string>& known) {
  std::vector<std::string> together;
  for (const std::string& metric : known) {
    together.push_back(metric);
    if (!takes_one_pass(profiler, chip, together)) together.pop_back();
  }
  return together;
}

CounterConfig::~CounterConfig() { close_host(profiler_, host_); }

Result CounterConfig::make(const CountedChip& chip, const std::vector<std::string>& metrics) {
  Result result;
  host_ = open_host(profiler_, chip, result);
  if (!host_) return result;
  names_ = metrics;
  for (const std::string& metric : names_) pointers_.push_back(metric.c_str());
  auto adding = cupti::parameters<cupti::HostAddMetrics>();
  adding.host = host_;
  adding.metrics = pointers_.data();
  adding.count = pointers_.size();
  result = profiler_.host_add_metrics(&adding);
  return result == Result::kSuccess ? write_image() : result;
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

Result CounterConfig::evaluate(const std::vector<uint8_t>& counted, std::vector<double>& values,
                               std::size_t range) {
  values.assign(pointers_.size(), 0);
  auto evaluating = cupti::parameters<cupti::HostEvaluate>();
  evaluating.host = host_;
  evaluating.image = counted.data();
  evaluating.size = counted.size();
  evaluating.range = range;
  evaluating.metrics = pointers_.data();
  evaluating.count = pointers_.size();
  evaluating.values = values.data();
  return profiler_.host_evaluate(&evaluating);
}

}  // namespace hone::observe::inject
