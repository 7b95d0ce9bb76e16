#include "observe/inject/device/activities.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace hone::observe::inject {
namespace segments = trace::segments;

uint8_t* ActivityBuffers::take() {
  Locked locked(lock_);
  if (free_count_ > 0) return free_[--free_count_];
  if (made_ == kMost) return nullptr;
  auto* buffer = static_cast<uint8_t*>(std::aligned_alloc(4096, kBytes));
  if (buffer) ++made_;
  return buffer;
}

void ActivityBuffers::give_back(uint8_t* buffer) {
  Locked locked(lock_);
  if (free_count_ < kMost) free_[free_count_++] = buffer;
}

int ActivityBuffers::out() {
  Locked locked(lock_);
  return made_ - free_count_;
}

void Activities::complete(void* context, uint32_t stream, uint8_t* buffer, size_t valid_bytes) {
  Locked locked(lock_);
  std::fill(std::begin(name_texts_), std::end(name_texts_), nullptr);
  cupti::Activity* activity = nullptr;
  while (valid_bytes > 0 &&
         cupti_.ActivityGetNextRecord(buffer, valid_bytes, &activity) == cupti::Result::kSuccess) {
    write(*activity);
  }
  size_t dropped = 0;
  if (cupti_.ActivityGetNumDroppedRecords(context, stream, &dropped) == cupti::Result::kSuccess &&
      dropped > 0) {
    output_.lost(Loss::kCupti, dropped);
  }
  deliver();
  ++buffers_delivered_;
  buffers_.give_back(buffer);
}

void Activities::deliver() {
  if (record_count_ > 0) output_.add_all(records_, record_count_);
  records_.clear();
  record_count_ = 0;
}

Activities::Delivered Activities::delivered() {
  Locked locked(lock_);
  return {last_kernel_ >= calls_.last_launch(), buffers_delivered_};
}

void Activities::attached_again() {
  Locked locked(lock_);
  last_kernel_ = 0;
}

void Activities::write(const cupti::Activity& activity) {
  switch (activity.kind) {
    case cupti::ActivityKind::kConcurrentKernel:
      return kernel(reinterpret_cast<const cupti::KernelActivity&>(activity));
    case cupti::ActivityKind::kCopy:
      return copy(reinterpret_cast<const cupti::CopyActivity&>(activity));
    case cupti::ActivityKind::kPeerCopy:
      return copy(reinterpret_cast<const cupti::PeerCopyActivity&>(activity));
    case cupti::ActivityKind::kSet:
      return set(reinterpret_cast<const cupti::SetActivity&>(activity));
    case cupti::ActivityKind::kSynchronization:
      return synchronization(reinterpret_cast<const cupti::SynchronizationActivity&>(activity));
    case cupti::ActivityKind::kMemory:
      return memory(reinterpret_cast<const cupti::MemoryActivity&>(activity));
  }
}

// Work whose buffer was fetched before it ended has no times.
bool Activities::ended(uint64_t start, uint64_t end) {
  if (start != 0 && end != 0) return true;
  output_.lost(Loss::kUnfinished, 1);
  return false;
}

void Activities::kernel(const cupti::KernelActivity& activity) {
  kernel_correlations_[kernels_++ % kKernelsKept] = activity.correlation;
  last_kernel_ = std::max(last_kernel_, activity.correlation);
  if (!ended(activity.start, activity.end)) return;
  segments::Kernel record;
  record.start_ns = time(activity.start);
  record.end_ns = time(activity.end);
  record.graph_node = activity.graph_node;
  record.correlation = correlations_.ours(activity.correlation);
  record.graph = activity.graph;
  record.device = activity.device;
  record.context = activity.context;
  record.stream = activity.stream;
  record.name = name_of_kernel(activity.name);
  for (int i = 0; i < 3; ++i) {
    record.grid[i] = static_cast<uint32_t>(activity.grid[i]);
    record.block[i] = static_cast<uint32_t>(activity.block[i]);
    record.cluster[i] = activity.cluster[i];
  }
  record.registers = activity.registers;
  record.static_shared = static_cast<uint32_t>(activity.static_shared);
  record.dynamic_shared = static_cast<uint32_t>(activity.dynamic_shared);
  record.local_bytes = activity.local_bytes_per_thread;
  add(record);
}

void Activities::copy(const cupti::CopyActivity& activity) {
  if (!ended(activity.start, activity.end)) return;
  segments::Copy record;
  record.start_ns = time(activity.start);
  record.end_ns = time(activity.end);
  record.bytes = activity.bytes;
  record.graph_node = activity.graph_node;
  record.correlation = correlations_.ours(activity.correlation);
  record.device = activity.device;
  record.context = activity.context;
  record.stream = activity.stream;
  record.peer_device = activity.device;
  record.copy_kind = activity.copy_kind;
  record.from = activity.source_kind;
  record.to = activity.destination_kind;
  add(record);
}

void Activities::copy(const cupti::PeerCopyActivity& activity) {
  if (!ended(activity.start, activity.end)) return;
  segments::Copy record;
  record.start_ns = time(activity.start);
  record.end_ns = time(activity.end);
  record.bytes = activity.bytes;
  record.graph_node = activity.graph_node;
  record.correlation = correlations_.ours(activity.correlation);
  record.device = activity.source_device;
  record.context = activity.context;
  record.stream = activity.stream;
  record.peer_device = activity.destination_device;
  record.copy_kind = activity.copy_kind;
  record.from = activity.source_kind;
  record.to = activity.destination_kind;
  add(record);
}

void Activities::set(const cupti::SetActivity& activity) {
  if (!ended(activity.start, activity.end)) return;
  segments::Set record;
  record.start_ns = time(activity.start);
  record.end_ns = time(activity.end);
  record.bytes = activity.bytes;
  record.graph_node = activity.graph_node;
  record.correlation = correlations_.ours(activity.correlation);
  record.device = activity.device;
  record.context = activity.context;
  record.stream = activity.stream;
  add(record);
}

void Activities::synchronization(const cupti::SynchronizationActivity& activity) {
  add(segments::Synchronization{{},
                                time(activity.start),
                                time(activity.end),
                                correlations_.ours(activity.correlation),
                                activity.type,
                                activity.context,
                                activity.stream,
                                activity.event,
                                0});
}

void Activities::memory(const cupti::MemoryActivity& activity) {
  segments::Memory record;
  record.time_ns = time(activity.timestamp);
  record.bytes = activity.bytes;
  record.address = activity.address;
  record.operation =
      activity.operation == 1 ? segments::MemoryOperation::kAllocate : segments::MemoryOperation::kFree;
  record.device = activity.device;
  record.memory_kind = activity.memory_kind;
  record.correlation = correlations_.ours(activity.correlation);
  add(record);
}

uint32_t Activities::name_of_kernel(const char* name) {
  if (!name) return segments::kNoName;
  const size_t slot = (reinterpret_cast<uintptr_t>(name) >> 4) % kNamesKept;
  if (name_texts_[slot] != name) {
    name_texts_[slot] = name;
    name_ids_[slot] = output_.id(name);
  }
  return name_ids_[slot];
}

Activities::Launched Activities::take_launched() {
  Locked locked(lock_);
  Launched launched;
  launched.kernels = std::min<uint64_t>(kernels_, kKernelsKept);
  for (uint64_t i = 0; i < launched.kernels; ++i) {
    const uint32_t of_kernel = kernel_correlations_[i];
    if (!calls_.recorded(of_kernel)) ++launched.without_call;
  }
  launched.by_driver = calls_.take_driver_calls();
  kernels_ = 0;
  return launched;
}

}  // namespace hone::observe::inject
