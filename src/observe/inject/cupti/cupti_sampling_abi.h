// What hone uses of CUPTI's PM sampling (hardware counters of a whole device at a fixed interval; CUDA 12.6 and later), declared
// by ourselves as cupti_profiler_abi.h does; cupti_sampling_abi_check.cpp compares it with the vendor's header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observe/inject/cupti/cupti_profiler_abi.h"

namespace hone::observe::inject::cupti {

inline constexpr int kSamplingProfiler = 1;  // HostInitialize::profiler

struct SamplingEnable {
  size_t bytes;
  void* reserved;
  size_t device;
  void* sampling;
};

struct Sampling {  // of disable, start and stop
  size_t bytes;
  void* reserved;
  void* sampling;
};

struct SamplingConfig {
  size_t bytes;
  void* reserved;
  void* sampling;
  size_t config_size;
  const uint8_t* config;
  size_t buffer_bytes;  // what samples wait in until they are decoded
  uint64_t interval;    // in what `trigger` says
  int trigger;
  int when_full;
};
inline constexpr int kClockTrigger = 0;  // cycles of the system clock
inline constexpr int kTimeTrigger = 1;   // ns; Turing and GA100 have none
inline constexpr int kKeepOldest = 0;

struct SamplingAvailability {
  size_t bytes;
  void* reserved;
  size_t device;
  size_t size;
  uint8_t* image;
};

struct SamplingImageSize {
  size_t bytes;
  void* reserved;
  void* sampling;
  const char** metrics;
  size_t count;
  uint32_t samples;
  size_t size;
};

struct SamplingImageInitialize {
  size_t bytes;
  void* reserved;
  void* sampling;
  size_t size;
  uint8_t* image;
};

struct SamplingDecode {
  size_t bytes;
  void* reserved;
  void* sampling;
  uint8_t* image;
  size_t size;
  int stopped_by;
  uint8_t overflow;
};
inline constexpr int kImageIsFull = 1;  // SamplingDecode::stopped_by

struct SamplingImageInfo {
  size_t bytes;
  void* reserved;
  const uint8_t* image;
  size_t size;
  size_t total, populated, completed;  // samples
};

struct SampleInfo {
  size_t bytes;
  void* reserved;
  void* sampling;
  const uint8_t* image;
  size_t size;
  size_t sample;
  uint64_t start, end;
};

inline constexpr size_t kBytesOfSamplingDecode = offsetof(SamplingDecode, overflow) + sizeof(uint8_t);
template <>
inline SamplingDecode parameters<SamplingDecode>() {
  SamplingDecode made = {};
  made.bytes = kBytesOfSamplingDecode;
  return made;
}

}  // namespace hone::observe::inject::cupti
