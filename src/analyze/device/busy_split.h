// What the device's busy time went to: every work divided into its operator's floor and what precision,
// layout, avoidable traffic and inefficiency cost on top, each with what the work would take without it. The
// numbers behind the division are in busy_rules.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/gpu_roofs.h"
#include "analyze/device/rank_timeline.h"
#include "trace/call_inputs.h"
#include "trace/trace.h"

namespace hone::analyze::device {

inline constexpr int kBusyCauses = 5;  // floor to kernel_inefficiency, as in Cause

// Why a work costs more than its floor: what evidence and fixes are chosen by.
enum class Reason : uint8_t {
  kNone,
  kVectorMath,   // a product in f32 without matrix units
  kDouble,       // arithmetic in f64
  kTransform,    // channels-first images: a kernel that converts them, or one that is slow on them
  kStridedCopy,  // a copy between two orders of elements
  kChain,        // one of several passes over the same elements
  kCast,         // a conversion of type on its own
  kAttention,    // passes over the T×T scores of attention written by hand
  kOptimizer,    // an optimizer that goes over the parameters many times
  kOddSize,      // sizes that matrix units cannot load well
  kSmallGrid,    // fewer blocks than the device has multiprocessors
  kSlow,         // far below its roof, for reasons that a trace does not show
  kAppend,       // copies a large tensor to put a little at its end
  kPatches,      // a convolution of patches that do not overlap: a matrix product written otherwise
  kRepeated,     // a reduction of gradients that a later one repeats (reductions.h)
  kOtherDevice,  // another device of the same process works
  kLoop,         // launched in a loop of the program (loops.h)
};
inline constexpr int kReasonCount = 17;

constexpr double kGone = -1;  // the work is not launched at all

struct WorkSplit {
  std::array<double, kBusyCauses> share = {1, 0, 0, 0, 0};  // of the work's time; they add up to 1
  Reason reason = Reason::kNone;
  Cause cause = Cause::kFloor;  // that `target_ns` removes; kFloor: none
  double target_ns = 0;         // what the work takes without that cause; kGone
};

// What is known of an operator row on this rank.
struct OperatorUse {
  double executions = 0;
  double work_ns = 0;
  uint32_t works = 0;
  uint32_t ledger_works = 0;  // of them on the ledger's device
  double floor_ns = 0;        // of one execution; 0: unknown
  double roof_ns = 0;         // of one execution, by the arithmetic that ran
  MatrixMath math = MatrixMath::kBf16;
  bool is_product = false;  // matrix product or convolution
  bool memory_bound = false;
  double elements = 0;  // of its largest tensor
  std::vector<trace::CallInput> inputs;

  // Executions whose works the ledger's device ran.
  double ledger_executions() const { return works > 0 ? executions * ledger_works / works : 0; }
};

struct BusySplit {
  std::vector<WorkSplit> works;        // as RankTimeline::works
  std::vector<OperatorUse> operators;  // by row of the operator table
};

BusySplit split_busy(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs);

}  // namespace hone::analyze::device
