// The hardware counters that hone counts and reads, as one table for those who ask for them (observe) and those who say
// what they mean (analyze). A counter has other names on other chips and in other tools: the first name that CUPTI knows
// on a chip is counted, the first that was measured is read. Units are those of kernel_counters.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/kernel_counters.h"

namespace hone::trace {

enum class Counter : uint8_t {
  // How long, and how near to what the units can do.
  kDuration,
  kSmCyclesElapsed,
  kSmCyclesActive,      // mean over the multiprocessors
  kSmCyclesActiveMost,  // of the one that was longest active
  kSmThroughput,        // of the busiest unit in a multiprocessor, percent of what it can sustain
  kIssueOfPeak,         // instructions issued, likewise
  kMemoryThroughput,    // likewise of caches and DRAM
  kDramThroughput,
  kL2Throughput,
  kL1Throughput,
  kL1ThroughputActive,  // while the multiprocessors were active: from tools that count only that
  kSmClock,
  kDramClock,
  // Memory.
  kDramRead,
  kDramWritten,
  kL2SectorsRead,  // of 32 bytes, by multiprocessors
  kL2SectorsWritten,
  kL2HitRate,
  kL1HitRate,
  kGlobalLoads,  // requests: instructions of a warp
  kGlobalStores,
  kGlobalLoadSectors,
  kGlobalStoreSectors,
  kGlobalLoadBytes,  // that threads asked for
  kGlobalStoreBytes,
  kSourceSectors,  // of global memory, as Nsight Compute works them out by instruction, where nothing else is known
  kSourceSectorsInVain,  // of these, those that another order of the threads would spare
  kLocalLoadSectors,
  kLocalStoreSectors,
  kSharedWavefronts,  // passes through shared memory; one without conflicts
  kSharedConflicts,   // of these, those that conflicts between banks cost
  kL1Wavefronts,      // of shared memory and the cache beside it
  kAtomicSectors,
  // Arithmetic: instructions of threads that were not predicated off; operations of the matrix units.
  kF32Adds,
  kF32Multiplies,
  kF32Fused,
  kF64Adds,
  kF64Multiplies,
  kF64Fused,
  kF16Adds,
  kF16Multiplies,
  kF16Fused,
  kTensorBf16,
  kTensorF16,
  kTensorF16ToF16,  // of chips that count these two apart
  kTensorF16ToF32,
  kTensorTf32,
  kTensorF64,
  kTensorF8,
  kTensorI8,
  kPipeFma,  // busy, percent of the kernel's time
  kPipeFmaHeavy,
  kPipeAlu,
  kPipeF64,
  kPipeTensor,
  kPipeXu,
  kPipeLsu,
  kPipeTexture,
  kPipeBranches,
  kPipeUniform,
  // Warps.
  kInstructions,           // of warps
  kThreadsPerInstruction,  // 32: no warp was divided
  kThreadsNotPredicated,
  kBranchTargets,
  kDivergentTargets,
  kWarpsActive,    // percent of what a multiprocessor can hold, while it was active
  kIssueActive,    // instructions a cycle and scheduler
  kWarpsEligible,  // a cycle and scheduler
  kWarpsPerIssue,  // warps that were there for each instruction that was issued
  // For each instruction issued, so many warps waited for this reason.
  kStallBarrier,
  kStallBranch,
  kStallConstants,
  kStallDispatch,
  kStallDrain,
  kStallGmma,
  kStallLongScoreboard,
  kStallLsuQueue,
  kStallMathPipe,
  kStallMemoryBarrier,
  kStallMioQueue,
  kStallMisc,
  kStallNoInstruction,
  kStallNotSelected,
  kStallSelected,
  kStallShortScoreboard,
  kStallSleeping,
  kStallTextureQueue,
  kStallWait,
  kEnd,  // no counter: how many there are
};
inline constexpr int kCounterCount = static_cast<int>(Counter::kEnd);

// Which of them are counted: those of every kernel that a profile counts, or all, for one kernel.
enum class CounterSet : uint8_t { kUsual, kFull };

// What is counted in several passes runs several times, each after the memory that it wrote has been put back: caches hold
// what that leaves there. Counters that tell how well caches served the kernel are counted in launches of their own, which run once,
// as the program runs them (docs/decisions/0028-counters.md).
enum class CountedIn : uint8_t { kAnyPass, kOnlyPass };

struct CounterMetric {
  Counter counter = Counter::kEnd;
  CounterSet set = CounterSet::kUsual;
  std::array<std::string_view, 3> names = {};  // best first; empty: no more
  CountedIn counted_in = CountedIn::kAnyPass;
};

// One row a counter, in their order.
std::span<const CounterMetric> counter_metrics();

// By the first of its names that was measured.
std::optional<double> counter_value(const KernelCounters& counters, const StringTable& strings,
                                    Counter counter);

}  // namespace hone::trace
