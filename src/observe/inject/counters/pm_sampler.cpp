#include "observe/inject/counters/pm_sampler.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include "observe/inject/counters/request_lines.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using cupti::Result;
namespace {

constexpr size_t kBufferBytes = 128 << 20;     // of what has not been collected: some 4000 samples of an H100
constexpr size_t kMostImageBytes = 256 << 20;  // on ours
constexpr int64_t kStretched = 4;         // intervals: CUPTI's first sample begins long before it was started
constexpr uint32_t kFewestSamples = 256;  // that an image has room for
constexpr double kSystemClockGhz = 1.4;   // about: what an interval is in cycles of it
constexpr int64_t kClockTolerance = 20'000'000;  // ns, of samples against the clock that they are by
constexpr int64_t kMostDelay = 2'000'000'000;    // ns, from a sample to its being collected

struct SamplingRequest {
  std::vector<std::string> metrics;
  struct Device {
    uint32_t device;
    int64_t interval_ns;
  };
  std::vector<Device> devices;
};

// Lines of observe/control.h; others are passed over. False: there is no such file.
bool read_sampling_request(const char* path, SamplingRequest& request) {
  return for_each_request_line(path, [&](const char* line) {
    constexpr std::string_view kMetric = "metric ";
    SamplingRequest::Device device = {};
    if (std::string_view(line).starts_with(kMetric)) {
      request.metrics.emplace_back(line + kMetric.size());
    } else if (std::sscanf(line, "sample %" SCNu32 " %" SCNd64, &device.device, &device.interval_ns) == 2 &&
               device.interval_ns > 0) {
      request.devices.push_back(device);
    }
  });
}

// Of Turing and of GA100 the device's time is no trigger.
bool is_triggered_by_clock(std::string_view chip) { return chip.starts_with("TU") || chip == "GA100"; }

int64_t now_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

bool CuptiSampling::load(const Cupti& cupti) {
  bool all = cupti.library != nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(all ? dlsym(cupti.library, name)
                                                                                 : nullptr);
    all = all && function;
  };
  find(enable, "cuptiPmSamplingEnable");
  find(disable, "cuptiPmSamplingDisable");
  find(set_config, "cuptiPmSamplingSetConfig");
  find(start, "cuptiPmSamplingStart");
  find(stop, "cuptiPmSamplingStop");
  find(decode, "cuptiPmSamplingDecodeData");
  find(availability, "cuptiPmSamplingGetCounterAvailability");
  find(image_size, "cuptiPmSamplingGetCounterDataSize");
  find(image_initialize, "cuptiPmSamplingCounterDataImageInitialize");
  find(image_info, "cuptiPmSamplingGetCounterDataInfo");
  find(sample_info, "cuptiPmSamplingCounterDataGetSampleInfo");
  return all;
}

void PmSampler::begin(const char* request_path) {
  try {
    prepare(request_path);
  } catch (...) {
    devices_.clear();
  }
}

void PmSampler::prepare(const char* request_path) {
  SamplingRequest request;
  if (!read_sampling_request(request_path, request) || request.devices.empty()) return;
  if (!profiler_.load(cupti_) || !sampling_.load(cupti_)) {
    output_.note(std::string("the GPU was not sampled: CUPTI of CUDA 12.6 or later is needed, ") +
                 cupti_.path + " is older");
    return;
  }
  auto starting = cupti::parameters<cupti::ProfilerInitialize>();
  if (const Result result = profiler_.initialize(&starting); result != Result::kSuccess) {
    output_.note("the GPU was not sampled: the profiler cannot be used: " + cupti_.reason(result));
    return;
  }
  clock_ = Clock::kUnknown;
  for (const SamplingRequest::Device& wanted : request.devices)
    start(wanted.device, wanted.interval_ns, request.metrics);
}

bool PmSampler::start(uint32_t index, int64_t interval_ns, const std::vector<std::string>& metrics) {
  Sampled device;
  device.device = index;
  device.interval_ns = interval_ns;
  auto naming = cupti::parameters<cupti::ChipName>();
  naming.device = index;
  if (!check(device, profiler_.chip_name(&naming), "it is not known") ||
      !choose_metrics(device, naming.name, metrics))
    return false;
  auto enabling = cupti::parameters<cupti::SamplingEnable>();
  enabling.device = index;
  bool good = check(device, sampling_.enable(&enabling), "sampling cannot be enabled");
  device.sampling = enabling.sampling;
  auto starting = cupti::parameters<cupti::Sampling>();
  starting.sampling = enabling.sampling;
  good = good && configure(device, naming.name) && make_image(device) &&
         check(device, sampling_.start(&starting), "sampling cannot be started");
  device.started = good;
  if (good)
    devices_.push_back(std::move(device));
  else
    release(device);
  return good;
}

// Not every device of a chip has all that the chip has: links to other devices, above all.
bool PmSampler::choose_metrics(Sampled& device, const char* chip, const std::vector<std::string>& metrics) {
  auto asking = cupti::parameters<cupti::SamplingAvailability>();
  asking.device = device.device;
  std::vector<uint8_t> available;
  if (sampling_.availability(&asking) == Result::kSuccess && asking.size > 0) {
    available.resize(asking.size);
    asking.image = available.data();
    if (sampling_.availability(&asking) != Result::kSuccess) available.clear();
  }
  const CountedChip counted(chip, cupti::kSamplingProfiler, available.empty() ? nullptr : available.data());
  device.config = std::make_unique<CounterConfig>(profiler_);
  const auto together = one_pass(profiler_, counted, known_metrics(profiler_, counted, metrics));
  if (!check(device, device.config->make(counted, together), "none of its counters can be sampled"))
    return false;
  for (size_t i = 0; i < device.config->count(); ++i)
    device.names.push_back(output_.id(device.config->metrics()[i]));
  return true;
}

bool PmSampler::configure(Sampled& device, const char* chip) {
  auto config = cupti::parameters<cupti::SamplingConfig>();
  config.sampling = device.sampling;
  config.config = device.config->image().data();
  config.config_size = device.config->image().size();
  config.buffer_bytes = kBufferBytes;
  config.when_full = cupti::kKeepOldest;
  config.trigger = is_triggered_by_clock(chip) ? cupti::kClockTrigger : cupti::kTimeTrigger;
  config.interval = static_cast<uint64_t>(device.interval_ns);
  if (config.trigger == cupti::kClockTrigger)
    config.interval = static_cast<uint64_t>(static_cast<double>(device.interval_ns) * kSystemClockGhz);
  return check(device, sampling_.set_config(&config), "its counters cannot be chosen");
}

bool PmSampler::make_image(Sampled& device) {
  auto sizing = cupti::parameters<cupti::SamplingImageSize>();
  sizing.sampling = device.sampling;
  sizing.metrics = device.config->metrics();
  sizing.count = device.config->count();
  for (sizing.samples = kMostSamples; sizing.samples >= kFewestSamples; sizing.samples /= 2) {
    if (!check(device, sampling_.image_size(&sizing), "there is no room for samples")) return false;
    if (sizing.size <= kMostImageBytes) break;
  }
  device.image.assign(sizing.size, 0);
  return reset_image(device);
}

bool PmSampler::reset_image(Sampled& device) {
  auto filling = cupti::parameters<cupti::SamplingImageInitialize>();
  filling.sampling = device.sampling;
  filling.size = device.image.size();
  filling.image = device.image.data();
  return check(device, sampling_.image_initialize(&filling), "there is no room for samples");
}

void PmSampler::collect() {
  try {
    for (Sampled& device : devices_)
      if (!collect(device)) release(device);
  } catch (...) {
    for (Sampled& device : devices_) release(device);
  }
  std::erase_if(devices_, [](const Sampled& device) { return device.sampling == nullptr; });
}

void PmSampler::end() {
  for (Sampled& device : devices_) {
    auto stopping = cupti::parameters<cupti::Sampling>();
    stopping.sampling = device.sampling;
    if (device.started) sampling_.stop(&stopping);
    device.started = false;
  }
  collect();
  for (Sampled& device : devices_) release(device);
  devices_.clear();
}

// What CUPTI keeps of them is the parent's.
void PmSampler::in_child() {
  for (Sampled& device : devices_) device.config.release();
  devices_.clear();
}

bool PmSampler::collect(Sampled& device) {
  auto decoding = cupti::parameters<cupti::SamplingDecode>();
  decoding.sampling = device.sampling;
  decoding.image = device.image.data();
  decoding.size = device.image.size();
  const Result decoded = sampling_.decode(&decoding);
  if (decoded == Result::kOutOfMemory) {
    note(device, "sampling ended early: samples came faster than they could be read");
    return false;
  }
  auto asking = cupti::parameters<cupti::SamplingImageInfo>();
  asking.image = device.image.data();
  asking.size = device.image.size();
  if (!check(device, decoded, "samples cannot be read") ||
      !check(device, sampling_.image_info(&asking), "samples cannot be read"))
    return false;
  if (asking.completed == 0) return true;
  write(device, asking.completed);
  return reset_image(device);
}

// Good are those that follow each other: what CUPTI hands out after it has had no room for a sample need not.
void PmSampler::write(Sampled& device, std::size_t samples) {
  rows_.clear();
  uint32_t rows = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    auto asking = cupti::parameters<cupti::SampleInfo>();
    asking.sampling = device.sampling;
    asking.image = device.image.data();
    asking.size = device.image.size();
    asking.sample = i;
    if (sampling_.sample_info(&asking) != Result::kSuccess) continue;
    const auto start = static_cast<int64_t>(asking.start), end = static_cast<int64_t>(asking.end);
    if (start <= 0 || end <= start || start < device.last_end ||
        end - start > kStretched * device.interval_ns ||
        device.config->evaluate(device.image, values_, i) != Result::kSuccess)
      continue;
    device.last_end = end;
    const segments::DeviceSample row = {start, end};
    rows_.append(&row, sizeof(row));
    rows_.append(values_.data(), values_.size() * sizeof(double));
    ++rows;
  }
  if (rows > 0) write_rows(device, rows, shift_to_monotonic(device.last_end));
}

void PmSampler::write_rows(const Sampled& device, uint32_t rows, int64_t shift) {
  const size_t name_bytes = (device.names.size() * sizeof(uint32_t) + 7) / 8 * 8;
  segments::DeviceSamples record;
  record.device = device.device;
  record.interval_ns = device.interval_ns;
  record.metrics = static_cast<uint32_t>(device.names.size());
  record.samples = rows;
  const auto whole = segments::with_head(record, static_cast<uint32_t>(name_bytes + rows_.size()));
  std::vector<uint32_t> names = device.names;
  names.resize(name_bytes / sizeof(uint32_t));
  record_.clear();
  record_.append(&whole, sizeof(whole));
  record_.append(names.data(), name_bytes);
  const size_t row_bytes = sizeof(segments::DeviceSample) + device.names.size() * sizeof(double);
  for (uint32_t i = 0; i < rows; ++i) {
    const char* at = rows_.data() + i * row_bytes;
    segments::DeviceSample row;
    std::memcpy(&row, at, sizeof(row));
    row.start_ns += shift;
    row.end_ns += shift;
    record_.append(&row, sizeof(row));
    record_.append(at + sizeof(row), row_bytes - sizeof(row));
  }
  output_.add_all(record_, 1);
}

// CUPTI says that its times are of the host, and not of which of its clocks: of the one that says about now.
int64_t PmSampler::shift_to_monotonic(int64_t last_end) {
  const auto is_by = [&](Clock clock) {
    const int64_t now = clock_now(clock);
    return last_end <= now + kClockTolerance && last_end >= now - kMostDelay;
  };
  if (clock_ == Clock::kUnknown) {
    clock_ = Clock::kNone;
    for (const Clock clock : {Clock::kMonotonic, Clock::kReal, Clock::kCupti})
      if (clock_ == Clock::kNone && is_by(clock)) clock_ = clock;
    unknown_shift_ = monotonic_ns() - last_end;
    if (clock_ == Clock::kNone)
      output_.note("samples of the GPU are by a clock that is not known: they may be shifted by some 50 ms");
  }
  if (clock_ == Clock::kMonotonic) return 0;
  return clock_ == Clock::kNone ? unknown_shift_ : monotonic_ns() - clock_now(clock_);
}

int64_t PmSampler::clock_now(Clock clock) const {
  uint64_t now = 0;
  switch (clock) {
    case Clock::kMonotonic:
      return now_of(CLOCK_MONOTONIC);
    case Clock::kReal:
      return now_of(CLOCK_REALTIME);
    case Clock::kCupti:
      return cupti_.GetTimestamp(&now) == Result::kSuccess ? static_cast<int64_t>(now) : 0;
    case Clock::kUnknown:
    case Clock::kNone:
      break;
  }
  return 0;
}

void PmSampler::release(Sampled& device) {
  if (!device.sampling) return;
  auto ending = cupti::parameters<cupti::Sampling>();
  ending.sampling = std::exchange(device.sampling, nullptr);
  if (std::exchange(device.started, false)) sampling_.stop(&ending);
  sampling_.disable(&ending);
}

bool PmSampler::check(const Sampled& device, Result result, const char* what) {
  if (result == Result::kSuccess) return true;
  // The same words for all that needs this permission.
  if (result == Result::kNotPrivileged)
    output_.note("no hardware counters: " + cupti_.reason(result));
  else
    note(device, std::string(what) + ": " + cupti_.reason(result));
  return false;
}

void PmSampler::note(const Sampled& device, const std::string& why) {
  output_.note("GPU " + std::to_string(device.device) + " was not sampled: " + why);
}

}  // namespace hone::observe::inject
