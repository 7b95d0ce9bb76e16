// What a program took of its devices' memory: the most at once, who held that, what the allocator had on top of it, and
// the course of both over time.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace hone::analyze {

// Who holds memory at the moment of the most.
struct MemoryHolding {
  std::string holder;  // the line of the program that took it: "train.py:31 step"; or what is known instead
  std::string inside;  // the innermost function that is known, where it is another
  double bytes = 0;
  double share = 0;  // of the most
  double blocks = 0;
};

struct MemoryMoment {
  double ms = 0;         // since the events begin
  double allocated = 0;  // bytes of tensors
  double reserved = 0;   // bytes that the allocator had of the device; 0: not known
};

struct DeviceMemory {
  int rank = 0;
  int device = 0;
  double events = 0;           // by which the course is known
  double peak_bytes = 0;       // of tensors, at once
  double peak_ms = 0;          // since the events begin
  bool peak_is_bound = false;  // tensors were taken before the events begin: it may have been more
  double peak_reserved = 0;    // of the allocator, at once; 0: not known
  double end_bytes = 0;
  double end_reserved = 0;  // 0: not known
  double between_blocks =
      0;  // at the end: free, in segments that tensors hold other parts of, so that none can be given back
  double free_segments = 0;             // at the end: in segments without any tensor
  double largest_free = 0;              // at the end: the largest tensor that needs no more of the device
  double failed = 0;                    // times that memory could not be had
  double failed_bytes = 0;              // the most that was asked for then
  std::vector<MemoryHolding> holdings;  // largest first
  std::vector<MemoryMoment> course;     // at most kMostMoments, with the highest of what lies between two

  // Of what the allocator holds at the end, what neither tensors use nor can be given back.
  double fragmentation() const { return end_reserved > 0 ? between_blocks / end_reserved : 0; }
};

inline constexpr std::size_t kMostMoments = 600;

struct MemoryFindings {
  std::vector<DeviceMemory> devices;  // by rank and device
};

// Empty: the trace says nothing of memory. O(n log n) in its events.
MemoryFindings study_memory(const trace::Trace& trace);

}  // namespace hone::analyze
