// What hone uses of NVIDIA's CUPTI beside its commonest records (core/cupti_records.h says how those are declared), so
// that building hone needs no CUDA. cupti_abi_check.cpp compares both with the vendor's headers where those are
// installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cupti_records.h"

namespace hone::observe::inject::cupti {

using hone::cupti::Activity;
using hone::cupti::ActivityKind;
using hone::cupti::BufferCompleted;
using hone::cupti::BufferRequested;
using hone::cupti::Callback;
using hone::cupti::CopyActivity;
using hone::cupti::Domain;
using hone::cupti::KernelActivity;
using hone::cupti::kFlushForced;
using hone::cupti::Result;
using hone::cupti::SetActivity;
using hone::cupti::Subscriber;

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

enum class Site : int { kEnter = 0, kExit = 1 };

// Of domain kResource.
inline constexpr uint32_t kDriverGetVersion = 2;  // CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion
inline constexpr uint32_t kGraphNodeCreated = 13;
inline constexpr uint32_t kGraphExecCreated = 18;
inline constexpr uint32_t kGraphNodeCloned = 20;
// Of domain kState: CUPTI has met an error, has detached itself, and goes on without recording.
inline constexpr uint32_t kFatalError = 1;

inline constexpr uint32_t kThreadIdOfSystem = 1;  // records say gettid()'s numbers

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

using Clock = uint64_t (*)();

}  // namespace hone::observe::inject::cupti
