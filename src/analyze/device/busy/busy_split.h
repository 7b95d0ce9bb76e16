// What the device's busy time went to: every work divided into its operator's floor and what precision,
// layout, avoidable traffic and inefficiency cost on top, each with what the work would take without it. The
// numbers behind the division are in busy_rules.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/busy/operator_uses.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

inline constexpr int kBusyCauses = 5;  // floor to kernel_inefficiency, as in Cause

// Why a work costs more than its floor: what evidence and fixes are chosen by.
enum class Reason : uint8_t {
  kNone,
  kVectorMath,       // a product in f32 without matrix units
  kTf32,             // a product in tf32, where bf16 would do
  kLeak,             // a product in f32 among products in 16 bits
  kDouble,           // arithmetic in f64
  kTransform,        // channels-first images: a kernel that converts them, or one that is slow on them
  kStridedCopy,      // a copy between two orders of elements
  kChain,            // one of several passes over the same elements
  kCast,             // a conversion of type on its own
  kAttention,        // passes over the T×T scores of attention written by hand
  kOptimizer,        // an optimizer that goes over the parameters many times
  kOddSize,          // sizes that matrix units cannot load well
  kSmallGrid,        // fewer blocks than the device has multiprocessors
  kSlow,             // far below its roof, for reasons that a trace does not show
  kAppend,           // copies a large tensor to put a little at its end
  kPatches,          // a convolution of patches that do not overlap: a matrix product written otherwise
  kWideSum,          // a reduction in f32 of what is in 16 bits before and after it (reductions.h)
  kRepeated,         // a reduction of gradients that a later one repeats (reductions.h)
  kOtherDevice,      // another device of the same process works
  kLoop,             // launched in a loop of the program (loops.h)
  kInGraph,          // between works that one call launched
  kMixedOrders,      // a pass over tensors that lie in different orders
  kWholeGather,      // a gather of what is reduced right after, and that reduction (gathers.h)
  kScatter,          // rows added up one after another, as the gradient of an index in brackets does
  kDenseMask,        // attention that reads a mask which is the same for all sequences
  kOneHot,           // a matrix of single ones that a product looks rows up by (one_hot.h)
  kMergedWeights,    // a weight put together anew for one product (merged_weights.h)
  kAccumulation,     // a sum of gradients over micro-batches (micro_batches.h)
  kPointwiseSeries,  // around a convolution of size 1 that could be a linear layer (pointwise_series.h)
  kProductsInTurn,   // one of many small products in a loop (products_in_turn.h)
  kRepeatedCast,     // converts a weight once more in the same step (micro_batches.h)
  kCheck,            // only makes a yes or no for the host to read (checks.h)
  kBroadcast,        // writes elements many times that are stored once
  kRepeatedHeads,    // the same of keys or values of attention (repeated_heads.h)
  kWidenedWeights,   // widens a weight stored in 8 bits, or reads it widened (widened_weights.h)
  kLongKernel,       // a convolution over so many taps that spectra take less (long_kernels.h)
  kRepeatedGather,   // a gather of weights that were gathered before and have not changed (weight_gathers.h)
};
inline constexpr int kReasonCount = static_cast<int>(Reason::kRepeatedGather) + 1;

constexpr double kGone = -1;  // the work is not launched at all

struct WorkSplit {
  std::array<double, kBusyCauses> share = {1, 0, 0, 0, 0};  // of the work's time; they add up to 1
  Reason reason = Reason::kNone;
  Cause cause = Cause::kFloor;  // that `target_ns` removes; kFloor: none
  double target_ns = 0;         // what the work takes without that cause; kGone

  double of(Cause which) const { return share[static_cast<std::size_t>(which)]; }
};

// Whether the works of a reason of communication say what they would take without it: others are what hiding
// or joining collectives wins.
constexpr bool carries_less(Reason reason) {
  return reason == Reason::kRepeated || reason == Reason::kWideSum || reason == Reason::kWholeGather ||
         reason == Reason::kRepeatedGather;
}

struct BusySplit {
  std::vector<WorkSplit> works;  // as RankTimeline::works
  OperatorUses uses;
};

// What removing the work, or a part of it, would be for; its shares stay, where they count at all.
void give_to(WorkSplit& split, Cause cause, Reason reason, double target_ns);
// Makes a split of one cause besides the floor.
void set_split(WorkSplit& split, Cause cause, double floor_share, Reason reason, double target_ns);

// Divides each work by itself. What only several works show together is marked afterwards
// (divide_busy.h).
BusySplit split_works(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                      TraitsByName& traits);

}  // namespace hone::analyze::device
