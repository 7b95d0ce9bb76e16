// What a program took of its devices' memory, when, and who took it, as PyTorch's allocator tells it: a snapshot
// (torch.cuda.memory._dump_snapshot) or the profiler's memory events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::trace {

enum class MemoryAction : uint8_t {
  kTake,     // a tensor's memory, from the allocator
  kGive,     // it is no tensor's any more
  kReserve,  // the allocator's, from the device
  kRelease,
  kOutOfMemory,  // `bytes` could not be had
};

struct MemoryEvent {
  int64_t time_ns = 0;  // of the recording
  uint64_t address = 0;
  int64_t bytes = 0;    // not negative
  int32_t device = 0;   // -1: the host
  uint32_t holder = 0;  // in AllocatorHistory::holders
  MemoryAction action = MemoryAction::kTake;
  // Of the device after it, as the recorder says; -1: it does not.
  int64_t allocated = -1, reserved = -1;
};

// A piece of a segment at the end of the recording.
struct MemoryBlock {
  uint64_t address = 0;
  int64_t bytes = 0;
  uint32_t segment = 0;  // in AllocatorHistory::segments
  uint32_t holder = 0;   // of one in use
  bool in_use = false;   // or about to become free: other streams may still read it
};

// What the allocator has taken of the device at once.
struct MemorySegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  int32_t device = 0;
};

// Who took memory.
struct MemoryHolder {
  std::string line;    // of the program's own: "train.py:31 step"; empty: not known
  std::string inside;  // the innermost that is known: "functional.py:2900 layer_norm", "MulBackward0"
};

struct AllocatorHistory {
  int rank = 0;
  std::vector<MemoryHolder> holders = {{}};  // the first is nobody
  std::vector<MemoryEvent> events;           // by time
  std::vector<MemorySegment> segments;       // at the end
  std::vector<MemoryBlock> blocks;           // at the end, by segment, then by address
  bool whole = true;  // nothing was taken before the events begin that they do not tell
};

}  // namespace hone::trace
