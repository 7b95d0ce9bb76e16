// What hone uses of CUPTI's profiler (hardware counters; CUDA 12.6 and later), declared by ourselves as cupti_abi.h does. Every
// function takes one structure, whose size up to its last field CUPTI compares; later versions append fields.
// cupti_profiler_abi_check.cpp compares all of it with the vendor's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::observe::inject::cupti {

// Host side: from names of metrics to what hardware is told, and from what it counted to values. Needs no device.
struct ProfilerInitialize {  // and deinitialize
  size_t bytes;
  void* reserved;
};

struct ChipName {
  size_t bytes;
  void* reserved;
  size_t device;
  const char* name;  // "GH100"
};

struct HostInitialize {
  size_t bytes;
  void* reserved;
  int profiler;  // kRangeProfiler
  const char* chip;
  const uint8_t* availability;
  void* host;
};
inline constexpr int kRangeProfiler = 0;

struct HostDeinitialize {
  size_t bytes;
  void* reserved;
  void* host;
};

struct HostAddMetrics {
  size_t bytes;
  void* reserved;
  void* host;
  const char** metrics;
  size_t count;
};

struct HostConfigSize {
  size_t bytes;
  void* reserved;
  void* host;
  size_t size;
};

struct HostConfig {
  size_t bytes;
  void* reserved;
  void* host;
  size_t size;
  uint8_t* image;
};

struct HostPasses {
  size_t bytes;
  void* reserved;
  size_t size;
  uint8_t* image;
  size_t passes;
};

struct HostEvaluate {
  size_t bytes;
  void* reserved;
  void* host;
  const uint8_t* image;
  size_t size;
  size_t range;
  const char** metrics;
  size_t count;
  double* values;
};

// Device side: between start and stop each kernel of a context is counted, and run again for each further pass.
struct RangeEnable {
  size_t bytes;
  void* reserved;
  void* context;
  void* profiler;
};

struct RangeProfiler {  // of disable and start
  size_t bytes;
  void* reserved;
  void* profiler;
};

struct RangeStop {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t pass, level;
  uint8_t all_submitted;
};

struct RangeDecode {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t dropped;
};

struct RangeImageSize {
  size_t bytes;
  void* reserved;
  void* profiler;
  const char** metrics;
  size_t count;
  size_t ranges;
  uint32_t nodes;
  size_t size;
};

struct RangeImageInitialize {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t size;
  uint8_t* image;
};

struct RangeImageInfo {
  size_t bytes;
  void* reserved;
  const uint8_t* image;
  size_t size;
  size_t ranges;
};

struct RangeConfig {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t config_size;
  const uint8_t* config;
  size_t size;
  uint8_t* image;
  int range;   // kAutoRange: a range for each kernel
  int replay;  // kKernelReplay: CUPTI saves what a kernel may write, and runs it again
  size_t ranges_per_pass;
  uint16_t nesting_levels, least_level;
  size_t pass;
  uint16_t level;
};
inline constexpr int kAutoRange = 1, kKernelReplay = 2;

// What CUPTI expects as `bytes`: the size up to the last field.
inline constexpr size_t kBytesOfRangeStop = offsetof(RangeStop, all_submitted) + sizeof(uint8_t);
inline constexpr size_t kBytesOfRangeConfig = offsetof(RangeConfig, level) + sizeof(uint16_t);

// A structure for a call, with its size filled in.
template <typename Parameters>
Parameters parameters() {
  Parameters made = {};
  made.bytes = sizeof(Parameters);
  return made;
}
template <>
inline RangeStop parameters<RangeStop>() {
  RangeStop made = {};
  made.bytes = kBytesOfRangeStop;
  return made;
}
template <>
inline RangeConfig parameters<RangeConfig>() {
  RangeConfig made = {};
  made.bytes = kBytesOfRangeConfig;
  return made;
}

// Calls of the driver that launch single kernels, and below those between which a stream is captured into a graph: CUPTI's callback ids.
enum LaunchCall : uint32_t {
  kLaunchKernel = 307,
  kLaunchKernelOfThread = 442,  // with a default stream a thread
  kLaunchCooperative = 477,
  kLaunchCooperativeOfThread = 478,
  kLaunchKernelEx = 652,
  kLaunchKernelExOfThread = 653,
};
inline constexpr uint32_t kBeginCaptureCalls[] = {495, 496, 539, 540, 720, 721};
inline constexpr uint32_t kEndCaptureCalls[] = {497, 498};

// How their parameters begin.
struct LaunchParameters {
  void* function;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  void* stream;
};
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  void* stream;
};
struct LaunchExParameters {
  const LaunchConfig* config;
  void* function;
};

}  // namespace hone::observe::inject::cupti
