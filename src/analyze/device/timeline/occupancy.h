// Who has which nanosecond of a rank's device, and where it has nothing to do: interval unions over the
// windows of the steps, never sums of spans that overlap.
#pragma once

#include <vector>

#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// An interval of the device's busy time that counts for one work. Where works overlap, computing goes before
// copies and copies before collectives (what is hidden costs nothing); equals share evenly.
struct BusyInterval {
  uint32_t work = 0;    // index into RankTimeline::works
  uint32_t window = 0;  // index into RankTimeline::steps
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int sharers = 1;  // works of its class that ran at the same time: each has 1/sharers

  double ns() const { return static_cast<double>(end_ns - start_ns) / sharers; }
};

// An interval of a window in which the device ran nothing.
struct Gap {
  uint32_t window = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t next = kNothing;  // the work that ended it; nothing: none came

  int64_t ns() const { return end_ns - start_ns; }
};

// How much of a window which kinds of work covered, together and alone. Nanoseconds.
struct Overlap {
  double busy = 0;
  double compute = 0;        // kernels, memsets and copies on the device
  double copies = 0;         // union of copies between host and device
  double hidden_copies = 0;  // copies while the device computed
};

struct Occupancy {
  std::vector<BusyInterval> busy;
  std::vector<Gap> gaps;
  std::vector<Overlap> overlaps;  // one a window
};

// For one device. Busy intervals and gaps of a window add up to it. O(n log n) in the works, for
// at most 128 of them share an instant.
Occupancy occupancy(const RankTimeline& timeline, int device);

}  // namespace hone::analyze::device
