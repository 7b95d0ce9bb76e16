// What hone uses of NVIDIA's CUPTI, declared by ourselves for versions 12 and 13, so that building hone needs no CUDA.
// Records of activities have grown only at their end over these versions: the structures here are their common
// beginnings, and never arrays of what CUPTI writes (cuptiActivityGetNextRecord steps through a buffer).
// cupti_abi_check.cpp compares all of it with the vendor's headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::observe::inject::cupti {

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

// Between devices.
struct PeerCopyActivity {
  ActivityKind kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device, context, stream;
  uint32_t source_device, source_context, destination_device, destination_context;
  uint32_t correlation;
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

struct SynchronizationActivity {
  ActivityKind kind;
  uint32_t type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
};

struct MemoryActivity {
  ActivityKind kind;
  uint32_t operation;  // 1 allocated, 2 freed
  uint32_t memory_kind, correlation;
  uint64_t address, bytes, timestamp, program_counter;
  uint32_t process, device, context, stream;
};

enum class Domain : int { kDriver = 1, kRuntime = 2, kResource = 3, kState = 6 };
enum class Site : int { kEnter = 0, kExit = 1 };

// Of domain kResource.
inline constexpr uint32_t kDriverGetVersion = 2;  // CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion
inline constexpr uint32_t kGraphNodeCreated = 13;
inline constexpr uint32_t kGraphExecCreated = 18;
inline constexpr uint32_t kGraphNodeCloned = 20;
// Of domain kState: CUPTI has met an error, has detached itself, and goes on without recording.
inline constexpr uint32_t kFatalError = 1;

inline constexpr uint32_t kThreadIdOfSystem = 1;  // records say gettid()'s numbers
inline constexpr uint32_t kFlushForced = 1;       // buffers with unfinished records as well

struct CallData {
  Site site;
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* correlation_data;
  uint32_t correlation;
};

struct ResourceData {
  void* context;
  void* resource;
  void* descriptor;  // GraphData for what happens to graphs
};

struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
  int node_type;
  void* dependency;
  void* executable;
};

struct StateData {
  Result result;
  const char* message;
};

struct SubscriberParameters {
  size_t bytes;
  const char* name;
  char* other;  // who holds the subscription, if it is taken
  size_t other_bytes;
};

using Subscriber = void*;
using Callback = void (*)(void* user, Domain domain, uint32_t id, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
using Clock = uint64_t (*)();

}  // namespace hone::observe::inject::cupti
