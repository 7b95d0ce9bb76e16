// Which works of a rank are launches of kernels whose counters were read, and what those said.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device/kernels/kernel_study.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

class CountedWorks {
 public:
  CountedWorks() = default;  // of nothing
  CountedWorks(const trace::Trace& trace, const RankTimeline& timeline);
  CountedWorks(CountedWorks&&) = default;  // studies refer to the groups: no copies
  CountedWorks& operator=(CountedWorks&&) = default;

  // Null: it was not counted.
  const KernelStudy* study_of(uint32_t work) const {
    return work < by_work_.size() && by_work_[work] != kNothing ? &studies_[by_work_[work]] : nullptr;
  }

 private:
  std::vector<CounterGroup> groups_;
  std::vector<KernelStudy> studies_;  // one a group
  std::vector<uint32_t> by_work_;     // index of its study; kNothing; empty: nothing was counted
};

}  // namespace hone::analyze::device
