// What one launch of a kernel costs by the shapes of the operator that launches it, where that can be told: for comparing it with
// what was counted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

struct LaunchCosts {
  double flops = 0, bytes = 0;  // 0: not known
};

class OperatorsOfKernels {
 public:
  // O(n) in the works.
  OperatorsOfKernels(const trace::Trace& trace, const RankTimeline& timeline);

  // Of a launch that does all of its operator's work: others share it in a way that nobody knows. Bytes only where all kernels of the
  // operator's row compute in one type: the row has the type of one of them. Nothing: it cannot be told.
  std::optional<LaunchCosts> costs_of(const Work& work) const;

 private:
  const trace::Trace& trace_;
  std::vector<uint32_t> works_;  // by execution: those that compute
  std::vector<char> types_;      // by operator: 0 none seen, 1 one type, 2 several
};

// The costs of all launches of a kernel, as one: those of each, where they are alike.
class CostsByShapes {
 public:
  void add(const std::optional<LaunchCosts>& costs);
  double flops() const { return alike_ ? costs_.flops : 0; }
  double bytes() const { return alike_ ? costs_.bytes : 0; }

 private:
  LaunchCosts costs_;
  bool any_ = false, alike_ = true;
};

}  // namespace hone::analyze::device
