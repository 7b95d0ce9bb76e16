#include "analyze/device/kernels/kernel_study.h"

#include <algorithm>

#include "analyze/device/kernels/kernel_faults.h"

namespace hone::analyze::device {
namespace {

using trace::Counter;

struct StallRow {
  Counter counter;
  std::string_view reason, waits_for;
};

// In the words of NVIDIA's "Warp Stall Reasons" (Nsight Compute's kernel profiling guide).
constexpr StallRow kStalls[] = {
    {Counter::kStallLongScoreboard, "long_scoreboard", "data from global or local memory"},
    {Counter::kStallShortScoreboard, "short_scoreboard", "data from shared memory or special functions"},
    {Counter::kStallBarrier, "barrier", "other warps of the block at a barrier"},
    {Counter::kStallMemoryBarrier, "membar", "a memory barrier"},
    {Counter::kStallMathPipe, "math_pipe_throttle", "a free arithmetic pipe"},
    {Counter::kStallMioQueue, "mio_throttle", "room in the queue to shared memory and special functions"},
    {Counter::kStallLsuQueue, "lg_throttle", "room in the queue to global memory"},
    {Counter::kStallTextureQueue, "tex_throttle", "room in the queue of textures"},
    {Counter::kStallWait, "wait", "the fixed latency of an instruction before"},
    {Counter::kStallNoInstruction, "no_instruction", "instructions to be fetched"},
    {Counter::kStallConstants, "imc_miss", "constants to be fetched"},
    {Counter::kStallBranch, "branch_resolving", "the target of a branch"},
    {Counter::kStallDispatch, "dispatch_stall", "the dispatcher"},
    {Counter::kStallDrain, "drain", "stores to be done at the end"},
    {Counter::kStallGmma, "gmma", "matrix units that run asynchronously"},
    {Counter::kStallSleeping, "sleeping", "a time that the program chose"},
    {Counter::kStallMisc, "misc", "something else"},
    {Counter::kStallNotSelected, "not_selected", "their turn: another warp issued"},
    {Counter::kStallSelected, "selected", "nothing: they issued"},
};

std::vector<Stall> stalls_of(const CounterGroup& group) {
  std::vector<Stall> stalls;
  double all = 0;
  for (const StallRow& row : kStalls) all += group.value(row.counter);
  // Where only some reasons were counted, all warps that were there are the whole.
  all = std::max(all, group.value(Counter::kWarpsPerIssue));
  for (const StallRow& row : kStalls)
    if (all > 0 && group.value(row.counter) > 0)
      stalls.push_back({row.reason, row.waits_for, group.value(row.counter) / all});
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.share > b.share; });
  return stalls;
}

bool knows_compute(const CounterGroup& group) {
  return group.has(Counter::kSmThroughput) || group.has(Counter::kIssueOfPeak);
}

// Of the busiest unit of the multiprocessors; where that was not counted as a whole, of those of its parts that ever are it.
double compute_demand(const CounterGroup& group) {
  if (group.has(Counter::kSmThroughput)) return group.share(Counter::kSmThroughput);
  constexpr Counter kParts[] = {Counter::kIssueOfPeak,  Counter::kPipeFma,    Counter::kPipeFmaHeavy,
                                Counter::kPipeAlu,      Counter::kPipeF64,    Counter::kPipeTensor,
                                Counter::kPipeXu,       Counter::kPipeLsu,    Counter::kPipeTexture,
                                Counter::kPipeBranches, Counter::kPipeUniform};
  double most = 0;
  for (const Counter part : kParts) most = std::max(most, group.share(part));
  return most;
}

UnitDemand demand_of(const CounterGroup& group) {
  UnitDemand demand;
  demand.compute = compute_demand(group);
  demand.l1 = group.has(Counter::kL1Throughput)
                  ? group.share(Counter::kL1Throughput)
                  : group.share(Counter::kL1ThroughputActive) * group.active_share().value_or(1);
  demand.l2 = group.share(Counter::kL2Throughput);
  demand.dram = group.share(Counter::kDramThroughput);
  return demand;
}

KernelBound bound_of(const UnitDemand& demand) {
  if (demand.most() < kBusyUnit) return KernelBound::kLatency;
  // What comes from DRAM passes L2, too.
  constexpr double kAlike = 0.05;
  if (demand.dram >= demand.most() - (demand.most() == demand.l2 ? kAlike : 0)) return KernelBound::kDram;
  if (demand.most() == demand.l2) return KernelBound::kL2;
  // Loads and stores are instructions, too: what keeps L1 busy keeps the multiprocessor busy.
  return demand.l1 >= demand.compute - 0.01 ? KernelBound::kL1 : KernelBound::kCompute;
}

}  // namespace

std::string_view stall_words(std::string_view reason) {
  for (const StallRow& row : kStalls)
    if (row.reason == reason) return row.waits_for;
  if (reason == "warpgroup_arrive")
    return "the other warps of its group, before an operation of the matrix units";
  return reason;
}

double UnitDemand::most() const { return std::max({compute, l1, l2, dram}); }

std::string_view kernel_bound_name(KernelBound bound) {
  switch (bound) {
    case KernelBound::kDram:
      return "DRAM";
    case KernelBound::kL2:
      return "L2";
    case KernelBound::kL1:
      return "L1 and shared memory";
    case KernelBound::kCompute:
      return "compute";
    case KernelBound::kLatency:
      return "latency";
    case KernelBound::kUnknown:
      break;
  }
  return "unknown";
}

bool KernelStudy::near_roof() const { return knows_units && demand.most() >= kNearPeak; }

KernelStudy study_kernel(const CounterGroup& group, const trace::DeviceInfo* device) {
  KernelStudy study;
  study.group = &group;
  if (device != nullptr) {
    study.multiprocessors = device->multiprocessors;
    study.occupancy =
        warp_occupancy(group.launch, multiprocessor_limits(device->compute_major, device->compute_minor));
    if (study.multiprocessors > 0) study.waves = study.occupancy.waves(group.launch, study.multiprocessors);
  }
  study.knows_units =
      knows_compute(group) && (group.has(Counter::kDramThroughput) || group.has(Counter::kMemoryThroughput));
  if (study.knows_units) {
    study.demand = demand_of(group);
    study.bound = bound_of(study.demand);
  }
  study.stalls = stalls_of(group);
  study.faults = find_kernel_faults(study);
  return study;
}

}  // namespace hone::analyze::device
