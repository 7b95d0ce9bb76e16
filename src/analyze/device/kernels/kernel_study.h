// What the counters of a kernel mean: how near its units come to what they can do, what bounds it, and what is wrong with it.
// Each fault is found by what was measured, and is promised no more than the roofs allow once it is gone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/device/kernels/counter_group.h"
#include "analyze/device/kernels/warp_occupancy.h"
#include "analyze/device/rules/rule.h"

namespace hone::analyze::device {

// How much of the kernel's time each unit would need at its peak, 0 to 1: the longest bounds the kernel.
struct UnitDemand {
  double compute = 0;  // the busiest pipe of the multiprocessors, or the issue of instructions
  double l1 = 0;       // with shared memory
  double l2 = 0;
  double dram = 0;

  double most() const;
};

enum class KernelBound : uint8_t { kUnknown, kDram, kL2, kL1, kCompute, kLatency };
std::string_view kernel_bound_name(KernelBound bound);  // "DRAM", "L1 and shared memory", "latency"

struct KernelFault {
  Rule rule = Rule::kLatency;
  double target_share = 1;  // of the kernel's time that it takes once repaired
  bool is_bound = false;    // it takes no less than that; how much less than now cannot be told
  std::vector<std::string> evidence = {};  // measured, with what it should be

  double gain() const { return 1 - target_share; }
};

// For each instruction issued, so many of the warps that were there waited for it.
struct Stall {
  std::string_view reason;  // "long_scoreboard": as CUPTI names it
  std::string_view waits_for;
  double share = 0;  // of the warps' time, 0 to 1
};

// In words what a warp waits for that is stalled for a reason as CUPTI names it; the reason itself where it is a new one.
std::string_view stall_words(std::string_view reason);

struct KernelStudy {
  const CounterGroup* group = nullptr;
  int multiprocessors = 0;
  WarpOccupancy occupancy;
  double waves = 0;
  bool knows_units = false;  // how busy they were was measured
  UnitDemand demand;
  KernelBound bound = KernelBound::kUnknown;
  std::vector<Stall> stalls;        // largest first
  std::vector<KernelFault> faults;  // largest gain first; empty: nothing is known that would help

  bool near_roof() const;
};

// A unit that is busier than this bounds the kernel; below it, and with nothing else wrong, warps wait for latency.
inline constexpr double kBusyUnit = 0.60;
// Nearer to its peak no unit comes in real kernels than within a tenth or so.
inline constexpr double kNearPeak = 0.80;

// `group` must outlive it. `device` may be null.
KernelStudy study_kernel(const CounterGroup& group, const trace::DeviceInfo* device);

}  // namespace hone::analyze::device
