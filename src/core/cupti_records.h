// The records that NVIDIA's CUPTI writes of what a GPU ran, and how it gives them out, declared by ourselves for versions 12
// and 13 (docs/decisions/0023 and 0036). Two rooms read them that know nothing of each other: libhone_inject, in other
// people's programs, which links nothing of hone, and src/cuda, in our own. Hence a header with nothing but the C library
// in it. Records have grown only at their end over these versions: the structures here are their common beginnings, and
// never arrays of what CUPTI writes (cuptiActivityGetNextRecord steps through a buffer).
// observe/inject/cupti/cupti_abi_check.cpp compares all of it with the vendor's headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::cupti {

enum class Result : int { kSuccess = 0, kOutOfMemory = 8, kNotPrivileged = 35, kMultipleSubscribers = 39 };

enum class ActivityKind : int {
  kCopy = 1,
  kSet = 2,
  kConcurrentKernel = 10,  // kernels as they overlap; kind 3 would run them one after the other
  kPeerCopy = 22,
  kSynchronization = 38,
  kMemory = 49,
};

struct Activity {
  ActivityKind kind;
};

struct KernelActivity {
  ActivityKind kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_bytes_per_thread, local_bytes;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_is_requested, carveout_requested, padding;
  uint32_t shared_executed;
  uint64_t graph_node;
  uint32_t shared_limit_config;
  uint32_t graph;
  void* access_policy;
  uint32_t channel, channel_type;
  uint32_t cluster[3];
};

struct CopyActivity {
  ActivityKind kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device, context, stream;
  uint32_t correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

struct SetActivity {
  ActivityKind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
};

enum class Domain : int { kDriver = 1, kRuntime = 2, kResource = 3, kState = 6 };

inline constexpr uint32_t kFlushForced = 1;  // buffers with unfinished records as well

using Subscriber = void*;
using Callback = void (*)(void* user, Domain domain, uint32_t id, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);

}  // namespace hone::cupti
