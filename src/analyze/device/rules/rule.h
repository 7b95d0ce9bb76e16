// The rules of device programs by their identifiers. What each does is in its row (device_rule.h).
#pragma once

#include <cstdint>

namespace hone::analyze::device {

enum class Rule : uint8_t {
  // What is said of a cause where nothing more specific is known: one each, in the order of Cause.
  kFloor,
  kWideArithmetic,
  kLayoutChanges,
  kUnfusedTraffic,
  kKernelsBelowRoof,
  kUnjudgedWork,
  kSlowLaunches,
  kHostWaits,
  kInputWaits,
  kFileWaits,
  kExposedCopies,
  kAllocatorWaits,
  kCompilationWaits,
  kHostWork,
  kExposedCommunication,
  kLateRank,
  kPipelineBubble,
  // What is known more closely. Where two have equal time, the first of them speaks for their row.
  kF32WithoutMatrixUnits,
  kTf32Products,
  kF32Among16Bits,
  kF64Arithmetic,
  kChannelsFirstImages,
  kStridedCopies,
  kUnfusedChain,
  kLoneCasts,
  kAttentionByHand,
  kUnfusedOptimizer,
  kOddSizes,
  kSmallGrids,
  kSlowKernels,
  kAppendByCopy,
  kPatchConvolutions,
  kWideSums,
  kRepeatedReductions,
  kDevicesInTurn,
  kLaunchesInLoops,
  kCopiesInLoops,
  kGapsInGraphs,
  kMixedOrders,
  kWholeGathers,
  kRowsAddedInTurn,
  kDenseAttentionMasks,
  kOneHotProducts,
  kMergedWeights,
  kManyMicroBatches,
  kSeriesConvolutionOfSize1,
  kProductsInTurn,
  kRepeatedWeightCasts,
  kHostChecks,
  kWrittenBroadcasts,
  kRepeatedHeads,
  kWidenedWeights,
  kLongConvolutionKernels,
  kRepeatedWeightGathers,
  kChannelsFirstBatchNorm,
  kWrittenMessages,
  // What is slow while no remedy is known.
  kFewBlocks,
  kGroupedConvolutions,
  // What only hardware counters tell of a kernel.
  kUncoalesced,
  kBankConflicts,
  kDivergence,
  kOccupancyByRegisters,
  kOccupancyBySharedMemory,
  kOccupancyByBlocks,
  kTail,
  kImbalance,
  kRegisterSpills,
  kLatency,
  kEnd,  // no rule: how many there are
};
inline constexpr int kRuleCount = static_cast<int>(Rule::kEnd);

}  // namespace hone::analyze::device
