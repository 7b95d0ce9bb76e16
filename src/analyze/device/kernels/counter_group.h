// The counted launches of one kernel with one geometry on one device, their counters as means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/device/kernels/warp_occupancy.h"
#include "core/dtype.h"
#include "trace/counted_costs.h"
#include "trace/counter_metrics.h"
#include "trace/trace.h"

namespace hone::analyze::device {

using trace::CountedFlops;

struct CounterGroup {
  int rank = 0;
  int device = 0;
  trace::StringId kernel = {};
  LaunchShape launch;
  uint32_t launches = 0;  // that were counted
  uint32_t passes = 0;    // most of them
  bool once = false;      // traffic to DRAM was counted in launches that ran once
  std::array<std::optional<double>, trace::kCounterCount> means = {};

  bool has(trace::Counter counter) const { return means[static_cast<std::size_t>(counter)].has_value(); }
  double value(trace::Counter counter) const { return means[static_cast<std::size_t>(counter)].value_or(0); }
  double share(trace::Counter percent) const { return value(percent) / 100; }
  double ns() const { return value(trace::Counter::kDuration); }
  bool has_flops() const { return has(trace::Counter::kF32Fused) || has(trace::Counter::kF64Fused); }
  CountedFlops flops() const;
  // Of the kernel's time, what a multiprocessor had work in, on average; nothing if that was not counted.
  std::optional<double> active_share() const;
  double dram_bytes() const { return value(trace::Counter::kDramRead) + value(trace::Counter::kDramWritten); }
  // 32 bytes each.
  double l2_bytes() const {
    return 32 * (value(trace::Counter::kL2SectorsRead) + value(trace::Counter::kL2SectorsWritten));
  }
};

// All of a trace, by their time, longest first; launches without a time are left out.
class CounterGroups {
 public:
  // O(n log n) in the counted launches.
  explicit CounterGroups(const trace::Trace& trace);

  const std::vector<CounterGroup>& rows() const { return rows_; }
  // Whose launch that is, as an index: by name and geometry, of that rank or, where it counted none like it, of
  // another; nothing if it was not counted.
  std::optional<std::size_t> find(int rank, trace::StringId kernel, const trace::Launch& launch) const;

 private:
  std::vector<CounterGroup> rows_;
  std::unordered_map<uint32_t, std::vector<std::size_t>> by_kernel_;  // indices by the name's id
};

}  // namespace hone::analyze::device
