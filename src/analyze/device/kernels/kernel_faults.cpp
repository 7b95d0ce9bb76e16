#include "analyze/device/kernels/kernel_faults.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze::device {
namespace {

using trace::Counter;
using Found = std::optional<KernelFault>;

constexpr double kLeastGain = 0.10;   // of the kernel's time: less is not worth an author's day
constexpr double kMuchInVain = 0.30;  // of sectors, wavefronts: less is how kernels are
constexpr double kFullWarp = 32;
constexpr double kDividedWarp = 0.80;      // of a warp's threads that work: below it branches divide it
constexpr double kEnoughOccupancy = 0.60;  // a share of warps with which latency is usually hidden
constexpr double kShortNs = 5'000;         // shorter kernels are ruled by their start

// What it takes when the units need no more than that, and are kept as busy as they are now, but for the last
// fifth, which few kernels reach. Where they are hardly busy the kernel waits for something else, and sparing
// them wins nothing.
double share_with(const KernelStudy& study, const UnitDemand& after) {
  constexpr double kHardlyBusy = 0.4;
  if (study.demand.most() < kHardlyBusy) return 1;
  return std::min(1.0, after.most() / std::min(study.demand.most(), kNearPeak));
}

// What it takes with `factor` of its waiting, but never less than its units need.
double share_of_waiting(const KernelStudy& study, double factor, double reached = kNearPeak) {
  return std::min(1.0, std::max(factor, study.demand.most() / reached));
}

std::string percent(double share) { return format_percent(share); }

// What a kernel fetches from global memory in vain, because its threads lie apart.
struct VainSectors {
  double sectors = 0;
  double in_vain = 0;  // share of them
};

VainSectors vain_sectors(const CounterGroup& group) {
  const double sectors = group.value(Counter::kGlobalLoadSectors) + group.value(Counter::kGlobalStoreSectors);
  const double bytes = group.value(Counter::kGlobalLoadBytes) + group.value(Counter::kGlobalStoreBytes);
  if (sectors > 0 && bytes > 0) return {sectors, std::max(0.0, 1 - bytes / 32 / sectors)};
  const double source = group.value(Counter::kSourceSectors);
  return source > 0 ? VainSectors{source, group.value(Counter::kSourceSectorsInVain) / source}
                    : VainSectors{};
}

Found find_uncoalesced(const KernelStudy& study) {
  const CounterGroup& group = *study.group;
  const auto [sectors, in_vain] = vain_sectors(group);
  if (in_vain < kMuchInVain) return std::nullopt;
  const double useful = 32 * sectors * (1 - in_vain);
  UnitDemand after = study.demand;
  after.l1 *= 1 - in_vain;
  after.l2 *= 1 - in_vain;
  // DRAM moves no more than was asked for, unless caches are too small for what is used again.
  if (group.dram_bytes() > useful) after.dram *= std::max(useful / group.dram_bytes(), 1 - in_vain);
  KernelFault fault{Rule::kUncoalesced, share_with(study, after)};
  fault.evidence.push_back(
      fmt::format("{} of the bytes that it fetches from global memory are used: {} of {}",
                  percent(1 - in_vain), format_bytes(useful), format_bytes(32 * sectors)));
  const double requests = group.value(Counter::kGlobalLoads) + group.value(Counter::kGlobalStores);
  if (requests > 0)
    fault.evidence.push_back(fmt::format("{:.1f} sectors an access of a warp, where {:.1f} would do",
                                         sectors / requests, (1 - in_vain) * sectors / requests));
  return fault;
}

Found find_bank_conflicts(const KernelStudy& study) {
  const CounterGroup& group = *study.group;
  const double passes = group.value(Counter::kSharedWavefronts),
               conflicts = group.value(Counter::kSharedConflicts);
  if (passes <= 0 || conflicts / passes < kMuchInVain) return std::nullopt;
  const double all = std::max(passes, group.value(Counter::kL1Wavefronts));
  UnitDemand after = study.demand;
  after.l1 *= 1 - conflicts / all;
  after.compute *= 1 - conflicts / all;  // memory instructions are a part of it
  KernelFault fault{Rule::kBankConflicts, share_with(study, after)};
  fault.evidence.push_back(fmt::format(
      "{} of {} passes through shared memory repeat others because of conflicts: {:.1f} passes an access "
      "where 1 would do",
      format_count(conflicts), format_count(passes), passes / std::max(1.0, passes - conflicts)));
  return fault;
}

Found find_divergence(const KernelStudy& study) {
  const CounterGroup& group = *study.group;
  const double threads = group.value(Counter::kThreadsPerInstruction);
  if (threads <= 0 || threads / kFullWarp > kDividedWarp || study.group->launch.threads() < kFullWarp)
    return std::nullopt;
  UnitDemand after = study.demand;
  after.compute *= threads / kFullWarp;
  KernelFault fault{Rule::kDivergence, share_with(study, after)};
  fault.evidence.push_back(fmt::format("{:.1f} of the 32 threads of a warp work, on average", threads));
  if (group.has(Counter::kDivergentTargets) && group.value(Counter::kBranchTargets) > 0)
    fault.evidence.push_back(
        fmt::format("{} of its branches divide a warp",
                    percent(group.value(Counter::kDivergentTargets) / group.value(Counter::kBranchTargets))));
  return fault;
}

Found find_spills(const KernelStudy& study) {
  const CounterGroup& group = *study.group;
  const double local = group.value(Counter::kLocalLoadSectors) + group.value(Counter::kLocalStoreSectors);
  const double global = group.value(Counter::kGlobalLoadSectors) + group.value(Counter::kGlobalStoreSectors);
  if (local <= 0 || local / (local + global) < kMuchInVain) return std::nullopt;
  const double share = local / (local + global);
  UnitDemand after = study.demand;
  after.l1 *= 1 - share;
  after.l2 *= 1 - share;
  after.dram *= 1 - share;
  // A warp's access to a register that was spilled is one instruction and four sectors.
  const double instructions = group.value(Counter::kInstructions);
  if (instructions > 0) after.compute *= 1 - std::min(0.9, local / 4 / instructions);
  KernelFault fault{Rule::kRegisterSpills, share_with(study, after)};
  fault.evidence.push_back(fmt::format("{} of its memory accesses are to local memory: {} a launch",
                                       percent(share), format_bytes(32 * local)));
  if (group.launch.registers > 0)
    fault.evidence.push_back(fmt::format("{} registers a thread", group.launch.registers));
  return fault;
}

// Much of the arithmetic is in f64. It is named whatever it wins: seldom does anybody want it.
Found find_f64(const KernelStudy& study) {
  constexpr double kHalfRate = 0.5;  // of f64 against f32, at best (data-centre GPUs)
  constexpr double kMuch = 0.3;
  const CounterGroup& group = *study.group;
  const CountedFlops flops = group.flops();
  if (flops.vector_f64 <= 0 || flops.vector_f64 < kMuch * flops.all()) return std::nullopt;
  const double pipe = group.share(Counter::kPipeF64);
  UnitDemand after = study.demand;
  after.compute = std::min(after.compute, std::max(pipe * kHalfRate, after.compute - pipe));
  KernelFault fault{Rule::kF64Arithmetic, share_with(study, after)};
  fault.evidence.push_back(fmt::format("{} in f64 a launch, {} in f32; the f64 pipe is busy {} of the time",
                                       format_flops(flops.vector_f64), format_flops(flops.vector_f32),
                                       percent(pipe)));
  const double loads = group.value(Counter::kGlobalLoads) * kFullWarp;
  const double bytes = group.has(Counter::kGlobalLoadBytes) ? group.value(Counter::kGlobalLoadBytes)
                                                            : 32 * group.value(Counter::kGlobalLoadSectors);
  if (loads > 0 && bytes > 0)
    fault.evidence.push_back(fmt::format("a thread loads {:.0f} bytes at a time", bytes / loads));
  return fault;
}

Found find_small_grid(const KernelStudy& study) {
  const double blocks = study.group->launch.blocks();
  if (study.multiprocessors <= 0 || study.waves <= 0 || study.waves >= 0.75 ||
      study.demand.most() >= kBusyUnit)
    return std::nullopt;
  KernelFault fault{Rule::kSmallGrids, share_of_waiting(study, study.waves)};
  fault.evidence.push_back(fmt::format("{} on {} multiprocessors, each of which could hold {}",
                                       counted(blocks, "block"), study.multiprocessors,
                                       study.occupancy.blocks()));
  fault.evidence.push_back(fmt::format("multiprocessors have work {} of the time, on average",
                                       percent(study.group->active_share().value_or(1))));
  return fault;
}

Found find_tail(const KernelStudy& study) {
  const double idle = 1 - study.group->active_share().value_or(1);
  if (study.waves <= 1 || idle < kLeastGain) return std::nullopt;
  const double lost = 1 - study.waves / std::ceil(study.waves);
  if (lost < kLeastGain) return std::nullopt;
  KernelFault fault{Rule::kTail, share_of_waiting(study, 1 - std::min(lost, idle), 1)};
  fault.evidence.push_back(fmt::format("{:.2f} waves of blocks: {} of which {} fit on the device at a time",
                                       study.waves, counted(study.group->launch.blocks(), "block"),
                                       study.occupancy.blocks() * study.multiprocessors));
  fault.evidence.push_back(
      fmt::format("multiprocessors have no work {} of the time, on average", percent(idle)));
  return fault;
}

Found find_imbalance(const KernelStudy& study) {
  const double idle = 1 - study.group->active_share().value_or(1);
  if (study.waves < 1 || idle < 0.15 || study.demand.most() >= kBusyUnit || find_tail(study) ||
      study.group->ns() < kShortNs)
    return std::nullopt;
  KernelFault fault{Rule::kImbalance, share_of_waiting(study, 1 - idle)};
  fault.evidence.push_back(fmt::format(
      "multiprocessors have no work {} of the time, on average, though {:.1f} waves of blocks fill them",
      percent(idle), study.waves));
  return fault;
}

std::pair<Rule, std::string> limit_words(const KernelStudy& study) {
  const LaunchShape& launch = study.group->launch;
  switch (study.occupancy.limit) {
    case OccupancyLimit::kRegisters:
      return {Rule::kOccupancyByRegisters,
              fmt::format("{} registers × {} threads: {} a multiprocessor", launch.registers,
                          launch.threads(), counted(study.occupancy.blocks(), "block"))};
    case OccupancyLimit::kSharedMemory:
      return {Rule::kOccupancyBySharedMemory,
              fmt::format("{} of shared memory a block: {} a multiprocessor",
                          format_bytes(launch.shared_bytes), counted(study.occupancy.blocks(), "block"))};
    case OccupancyLimit::kBlocks:
    case OccupancyLimit::kWarps:
      break;
  }
  return {Rule::kOccupancyByBlocks, fmt::format("blocks of {} threads: {} a multiprocessor", launch.threads(),
                                                counted(study.occupancy.blocks(), "block"))};
}

// Too few warps to wait with: no unit is busy, and the launch allows no more.
Found find_low_occupancy(const KernelStudy& study) {
  const CounterGroup& group = *study.group;
  const double possible = study.occupancy.share();
  if (possible <= 0 || possible >= kEnoughOccupancy || study.waves < 0.75 ||
      study.demand.most() >= kBusyUnit || !group.has(Counter::kWarpsActive))
    return std::nullopt;
  const double without = study.occupancy.share_without_limit(group.launch);
  const auto [rule, words] = limit_words(study);
  KernelFault fault{rule, share_of_waiting(study, possible / std::max(possible, without))};
  fault.evidence.push_back(fmt::format("{} of the warps that there is room for are there, at most {} can be",
                                       percent(group.share(Counter::kWarpsActive)), percent(possible)));
  fault.evidence.push_back(words);
  return fault;
}

// Nothing else is known, and no unit is busy.
Found find_latency(const KernelStudy& study) {
  if (study.bound != KernelBound::kLatency || study.group->ns() < kShortNs) return std::nullopt;
  KernelFault fault{Rule::kLatency, share_of_waiting(study, 0), true};
  fault.evidence.push_back(fmt::format("no unit is busier than {}", percent(study.demand.most())));
  for (const Stall& stall : study.stalls) {
    if (stall.reason == "selected" || stall.reason == "not_selected") continue;
    fault.evidence.push_back(fmt::format("{} of the warps' time goes to waiting for {} ({})",
                                         percent(stall.share), stall.waits_for, stall.reason));
    break;
  }
  return fault;
}

struct FaultRow {
  Found (*find)(const KernelStudy& study);
  double least_gain = kLeastGain;  // of the kernel's time
};

constexpr FaultRow kFaults[] = {
    {find_uncoalesced}, {find_bank_conflicts}, {find_spills},        {find_f64, 0},    {find_divergence},
    {find_small_grid},  {find_tail},           {find_low_occupancy}, {find_imbalance},
};

}  // namespace

std::vector<KernelFault> find_kernel_faults(const KernelStudy& study) {
  std::vector<KernelFault> faults;
  if (!study.knows_units) return faults;
  for (const FaultRow& row : kFaults)
    if (Found fault = row.find(study); fault && fault->gain() >= row.least_gain)
      faults.push_back(std::move(*fault));
  if (faults.empty())
    if (Found fault = find_latency(study); fault && fault->gain() >= kLeastGain)
      faults.push_back(std::move(*fault));
  std::stable_sort(faults.begin(), faults.end(),
                   [](const KernelFault& a, const KernelFault& b) { return a.gain() > b.gain(); });
  return faults;
}

}  // namespace hone::analyze::device
