// What an operator must cost at least on this machine (its floor), what the kernel that ran must (its own
// roof), and how measured time divides into causes. Roofs come as a table (core/roofs.h); costs as columns of
// the trace. Floors depend on the operator and the machine alone, never on what ran or how long it took
// (docs/decisions/0009-floor-of-the-cheapest-algorithm.md).
#pragma once

#include <string>

#include "analyze/cause.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze {

// The least time that some arithmetic and some traffic can take here.
struct Bound {
  double compute_ms = 0;     // FLOPs ÷ the compute roof of the dtype
  double memory_ms = 0;      // bytes ÷ the bandwidth roofs of the levels that can hold them
  std::string memory_level;  // that takes most of memory_ms: "DRAM", "L3", …; empty if none was measured
  double compute_roof = 0;   // FLOP/s

  double ms() const { return compute_ms > memory_ms ? compute_ms : memory_ms; }
  bool memory_bound() const { return memory_ms >= compute_ms; }
  bool known() const { return ms() > 0; }
};

// What holds for all operators of a step.
struct CostContext {
  const Roofs& roofs;
  int threads = 1;
  // Whether the step's weights are more than the last cache level holds: then each step reads them from DRAM,
  // however few a single operator has.
  bool weights_stream = false;
  // Whether operators run many times a step and their costs are of one run, as in foreign programs; in a plan
  // of ours each row runs once.
  bool repeated = false;
};
CostContext cost_context(const trace::Trace& trace, const Roofs& roofs, int threads);

// All compulsory bytes of an operator, or all but those that fusion would save.
enum class Bytes { kAll, kUnavoidable };
// The floor: by the known algorithm that needs the fewest FLOPs.
Bound operator_floor(const trace::Operator& op, const CostContext& context, Bytes bytes);
// An operator's part of the step's floor: without the bytes that fusion would save. Changes of layout and
// broadcasts that are written out have none.
double step_floor_ms(const trace::Operator& op, const CostContext& context);
// The kernel's own roof: by the FLOPs that its algorithm executes.
Bound kernel_roof(const trace::Operator& op, const CostContext& context, Bytes bytes);

// What sets the bound, as tables name it: "f32 compute", "DRAM", "L3"; "unknown" without one.
std::string roof_name(const trace::Operator& op, const Bound& bound);

// A copy that need not be: it makes a packed tensor of elements that are stored once
// (trace/link/repeats.h).
bool writes_out_broadcast(const trace::Operator& op);

// An operator's wall time divided by cause. The parts are not negative and add up to it.
struct Split {
  double floor_ms = 0;
  double layout_ms = 0;
  double avoidable_ms = 0;
  double inefficiency_ms = 0;
  double unjudged_ms = 0;  // of an operator of ours without known cost: nothing says what it needs
  // The part of inefficiency_ms that the kernel's own roof has above the floor: arithmetic that a faster
  // algorithm does without.
  double algorithm_ms = 0;
  // The part of inefficiency_ms that a good kernel would not need (rules.h: attainable fraction of the roof).
  double recoverable_inefficiency_ms = 0;

  Cause main_cause() const;
};
// Where the operator took less than its floor (roofs measured on a busy machine), all of it is floor; so it
// is where no roofs are known; what an operator of ours without known cost takes is not judged.
Split split_time(double ms, const trace::Operator& op, const CostContext& context);

}  // namespace hone::analyze
