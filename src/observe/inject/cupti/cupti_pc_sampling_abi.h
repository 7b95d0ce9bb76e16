// What hone uses of CUPTI's sampling of program counters (CUDA 11.3 and later), declared by ourselves as cupti_abi.h does. Each
// structure says its size up to its last field; later versions append fields.
// cupti_pc_sampling_abi_check.cpp compares all of it with the vendor's header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observe/inject/cupti/cupti_abi.h"

namespace hone::observe::inject::cupti {

inline constexpr size_t kReasonNameBytes = 128;

struct PcStall {
  uint32_t reason;  // as PcStallReasons::numbers
  uint32_t samples;
};

// An instruction.
struct PcRecord {
  size_t bytes;
  uint64_t cubin;   // its CRC
  uint64_t offset;  // in the function
  uint32_t function_index, padding;
  char* function;  // the symbol; shared between records, and never freed by us
  size_t stalls_count;
  PcStall* stalls;  // room for every reason
  uint32_t correlation, padding_at_end;
};

struct PcBuffer {
  size_t bytes;
  size_t capacity;  // records
  uint64_t samples, dropped;
  size_t count, remaining;
  uint64_t range;
  PcRecord* records;
  uint64_t samples_of_others;  // kernels that are not the program's
  uint8_t hardware_buffer_was_full, padding[7];
};

enum class PcAttribute : int {
  kPeriod = 1,  // 2 to the power of it, in cycles; 5 to 31
  kScratchBytes = 3,
  kHardwareBufferBytes = 4,
  kMode = 5,
  kStartStop = 6,
  kBuffer = 8,
};
inline constexpr uint64_t kPcContinuous = 1;  // kernels are not serialised

struct PcSetting {
  PcAttribute what;
  Result status;
  uint64_t value[3];  // the first bytes of it
};

// Parameters of the functions that take nothing but a context: enable, disable, start, stop.
struct PcContext {
  size_t bytes;
  void* reserved;
  void* context;
};

struct PcSettings {
  size_t bytes;
  void* reserved;
  void* context;
  size_t count;
  PcSetting* settings;
};

struct PcData {
  size_t bytes;
  void* reserved;
  void* context;
  void* buffer;
};

struct PcStallCount {
  size_t bytes;
  void* reserved;
  void* context;
  size_t* count;
};

struct PcStallReasons {
  size_t bytes;
  void* reserved;
  void* context;
  size_t count;
  uint32_t* numbers;
  char** names;  // kReasonNameBytes each
};

struct SourceLine {
  size_t bytes;
  const void* cubin;
  const char* function;
  size_t cubin_bytes;
  uint32_t line;
  uint64_t offset;
  char* file;  // theirs are freed by us
  char* folder;
};

struct CubinCrc {
  size_t bytes;
  size_t cubin_bytes;
  const void* cubin;
  uint64_t crc;
};

// Of domain kResource: ResourceData::descriptor is a LoadedModule.
inline constexpr uint32_t kModuleLoaded = 6;

struct LoadedModule {
  uint32_t id;
  size_t bytes;
  const char* cubin;
};

}  // namespace hone::observe::inject::cupti
