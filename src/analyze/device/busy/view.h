// What finders look at: the works of one rank, with all that is known of each by itself. Nothing in it
// changes while they look.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device/busy/accumulate_grad.h"
#include "analyze/device/busy/claims.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/busy/operator_uses.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/kernels/counted_works.h"
#include "analyze/device/timeline/loops.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// What it refers to must outlive it.
struct View {
  const trace::Trace& trace;
  const RankTimeline& timeline;
  const HostActivity& activity;
  const Loops& loops;
  const GpuRoofs& roofs;
  OperatorUses uses;
  std::vector<AccumulateGrad> accumulate_grads = {};
  std::vector<char> in_accumulate_grad = {};  // by work: launched in one of these
  CountedWorks counted = {};                  // what hardware counters said of works like these
  std::vector<WorkSplit> alone = {};          // by work: what each would be if there were no others

  std::size_t works() const { return timeline.works.size(); }
  const Work& work(uint32_t i) const { return timeline.works[i]; }
  double ns(uint32_t i) const { return static_cast<double>(work(i).ns()); }
  bool has_operator(uint32_t i) const { return work(i).op != kNothing; }
  // Only works that have an operator may be asked.
  const trace::Operator& operator_of(uint32_t i) const { return trace.operators[work(i).op]; }
  const OperatorUse& use_of(uint32_t i) const { return uses.rows[work(i).op]; }
  const Inputs& inputs_of(uint32_t i) const { return use_of(i).inputs; }
  // The work's part of its operator's floor and roof.
  double part_of(uint32_t i) const { return uses.part(work(i)); }
  const trace::KernelFamily& kernel(uint32_t i) const { return trace.kernel(work(i).span); }
  // Null: it is none, or nothing is known of it.
  const trace::Collective* collective(uint32_t i) const {
    return work(i).kind == WorkKind::kCollective ? trace::find_detail(trace.collectives, work(i).span)
                                                 : nullptr;
  }
  // Blocks of its grid; 0: not known.
  double blocks(uint32_t i) const {
    const trace::Launch* launch = trace::find_detail(trace.launches, work(i).span);
    return launch == nullptr ? 0 : static_cast<double>(launch->grid[0]) * launch->grid[1] * launch->grid[2];
  }
};

}  // namespace hone::analyze::device
