// PM sampling of the fake CUPTI: samples of the interval that was asked for, one behind the other, by the clock of the calendar.
// FAKE_CUPTI=no_counters: this user may not read them; =sampled: another process samples the device; =overflows: samples are
// lost.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/cupti/cupti_sampling_abi.h"
#include "observe/inject/testing/fake_cupti_profiler.h"

namespace cupti = hone::observe::inject::cupti;
using cupti::Result;

namespace {

constexpr Result kWrongSampling = static_cast<Result>(1), kTaken = static_cast<Result>(41);

struct FakeSampling {
  bool enabled = false, started = false;
  uint64_t interval = 0, next = 0, until = 0;
};

struct FakeImage {
  uint64_t most = 0, samples = 0, first = 0, interval = 0;
};

std::mutex sampling_lock;
FakeSampling sampling;

uint64_t calendar_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

FakeImage read_image(const uint8_t* image) {
  FakeImage read;
  std::memcpy(&read, image, sizeof(read));
  return read;
}

}  // namespace

size_t fake_samples_of(const uint8_t* image) { return read_image(image).samples; }

extern "C" {

Result cuptiPmSamplingGetCounterAvailability(cupti::SamplingAvailability* asked) {
  return asked->size = 8, Result::kSuccess;
}
Result cuptiPmSamplingEnable(cupti::SamplingEnable* asked) {
  std::lock_guard<std::mutex> held(sampling_lock);
  if (asked_to("no_counters")) return Result::kNotPrivileged;
  if (asked_to("sampled")) return kTaken;
  if (sampling.enabled) return kWrongSampling;
  sampling.enabled = true;
  asked->sampling = &sampling;
  return Result::kSuccess;
}
Result cuptiPmSamplingDisable(cupti::Sampling*) {
  std::lock_guard<std::mutex> held(sampling_lock);
  const bool good = sampling.enabled && !sampling.started;
  sampling = FakeSampling();
  return good ? Result::kSuccess : kWrongSampling;
}
Result cuptiPmSamplingSetConfig(cupti::SamplingConfig* asked) {
  std::lock_guard<std::mutex> held(sampling_lock);
  sampling.interval = asked->interval;
  return asked->trigger == cupti::kTimeTrigger && asked->interval > 0 ? Result::kSuccess : kWrongSampling;
}
Result cuptiPmSamplingStart(cupti::Sampling*) {
  std::lock_guard<std::mutex> held(sampling_lock);
  if (!sampling.enabled || sampling.started || sampling.interval == 0) return kWrongSampling;
  sampling.started = true;
  sampling.next = calendar_ns();
  return Result::kSuccess;
}
Result cuptiPmSamplingStop(cupti::Sampling*) {
  std::lock_guard<std::mutex> held(sampling_lock);
  if (!sampling.started) return kWrongSampling;
  sampling.started = false;
  sampling.until = calendar_ns();
  return Result::kSuccess;
}
Result cuptiPmSamplingGetCounterDataSize(cupti::SamplingImageSize* asked) {
  return asked->size = sizeof(FakeImage) + asked->samples, Result::kSuccess;
}
Result cuptiPmSamplingCounterDataImageInitialize(cupti::SamplingImageInitialize* asked) {
  FakeImage empty;
  empty.most = asked->size - sizeof(FakeImage);
  return std::memcpy(asked->image, &empty, sizeof(empty)), Result::kSuccess;
}
Result cuptiPmSamplingDecodeData(cupti::SamplingDecode* asked) {
  std::lock_guard<std::mutex> held(sampling_lock);
  if (asked_to("overflows")) return Result::kOutOfMemory;
  FakeImage image = read_image(asked->image);
  const uint64_t until = sampling.started ? calendar_ns() : sampling.until;
  image.first = sampling.next;
  image.interval = sampling.interval;
  image.samples = std::min(image.most, (until - sampling.next) / sampling.interval);
  sampling.next += image.samples * image.interval;
  return std::memcpy(asked->image, &image, sizeof(image)), Result::kSuccess;
}
Result cuptiPmSamplingGetCounterDataInfo(cupti::SamplingImageInfo* asked) {
  return asked->completed = read_image(asked->image).samples, Result::kSuccess;
}
Result cuptiPmSamplingCounterDataGetSampleInfo(cupti::SampleInfo* asked) {
  const FakeImage image = read_image(asked->image);
  if (asked->sample >= image.samples) return kWrongSampling;
  asked->start = image.first + asked->sample * image.interval;
  asked->end = asked->start + image.interval;
  return Result::kSuccess;
}
}
