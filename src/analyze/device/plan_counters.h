// What hardware counters say of a plan of hone's own: its kernels are those that a device's records of replays name
// (PlanKernel), as their launches are in no timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/kernels/counter_group.h"
#include "analyze/device/kernels/kernel_study.h"
#include "analyze/findings.h"
#include "analyze/plan_kernel.h"
#include "analyze/profile.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze::device {

class PlanCounters {
 public:
  // `trace` must outlive it. `roofs`: those that the plan is judged by. Of kernels whose operators are not known it is told what
  // they do, and not what of the step they are.
  PlanCounters(const trace::Trace& trace, const Roofs& roofs, std::span<const PlanKernel> kernels);
  PlanCounters(const PlanCounters&) = delete;  // studies refer to the groups
  PlanCounters& operator=(const PlanCounters&) = delete;

  bool empty() const { return groups_.rows().empty(); }

  // What a good kernel would win: of the part of an operator whose kernels were counted, no more than their findings promise, and
  // nothing where they are near what the device can do.
  void judge(StepProfile& profile) const;
  // How much of a row's time is that of counted kernels, for the rows that judge kernels.
  void tell(const StepProfile& profile, std::vector<LedgerRow>& ledger) const;
  // Of the counted kernel that takes most of the operator: "bound by DRAM, which is 81 % busy: …"; empty: none was counted.
  std::string words(uint32_t op) const;
  std::vector<CountedKernel> kernels(double step_ms) const;

 private:
  struct Part {  // of an operator
    std::optional<std::size_t> group;
    double ns = 0;
  };
  double counted_share(uint32_t op) const;

  const trace::Trace& trace_;
  GpuRoofs roofs_;
  CounterGroups groups_;
  std::vector<KernelStudy> studies_;      // one a group
  std::vector<std::vector<Part>> parts_;  // by row of the operator table
};

}  // namespace hone::analyze::device
