// Which calls of CUDA's runtime and driver are recorded: those that give the device work or wait for it, and those
// that allocate memory or load code. Recording every call costs a launch-bound program twice as much.
#pragma once

#include <cstdint>

#include "observe/control.h"
#include "observe/inject/cupti/cupti.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

inline constexpr uint32_t kMostCalls = 2048;  // CUPTI counts a few hundred in each domain

// The calls of one domain by CUPTI's callback ids.
class CallTable {
 public:
  explicit CallTable(cupti::Domain domain) : domain_(domain) {}

  // Asks CUPTI for the names of all calls, once.
  void fill(const Cupti& cupti, Output& output);

  // Calls visit(id) for the calls that are recorded.
  template <typename Visit>
  void each_recorded(Visit visit) const {
    for (uint32_t id = 1; id < kMostCalls; ++id) {
      if (recorded_[id]) visit(id);
    }
  }
  // Calls visit(id) for the calls that give the device work, allocate memory or load code.
  template <typename Visit>
  void each_that_works(Visit visit) const {
    for (uint32_t id = 1; id < kMostCalls; ++id) {
      if (works_[id]) visit(id);
    }
  }
  // Calls visit(id) for a call and its variants, which have the same name; of kAllWaits for those that may end a step.
  template <typename Visit>
  void each_like(uint32_t like, Visit visit) const {
    for (uint32_t id = 1; id < kMostCalls; ++id) {
      if (is_like(id, like)) visit(id);
    }
  }
  bool is_like(uint32_t id, uint32_t like) const {
    if (id >= kMostCalls) return false;
    return like == kAllWaits ? waits_[id]
                             : names_[id] != trace::segments::kNoName && names_[id] == name(like);
  }

  // Whether it launches kernels, by themselves or in a graph.
  bool launches(uint32_t id) const { return id < kMostCalls && launches_[id]; }

  // The name of a call without its version, as the segment's number for it.
  uint32_t name(uint32_t id) const { return id < kMostCalls ? names_[id] : trace::segments::kNoName; }

 private:
  cupti::Domain domain_;
  bool filled_ = false;
  bool recorded_[kMostCalls] = {}, works_[kMostCalls] = {}, launches_[kMostCalls] = {},
       waits_[kMostCalls] = {};
  uint32_t names_[kMostCalls] = {};
};

}  // namespace hone::observe::inject
