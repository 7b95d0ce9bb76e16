// What an operator must cost at least on this machine (its floor), and how its measured time divides into
// causes. Roofs come as a table (core/roofs.h); costs as columns of the trace.
#pragma once

#include <string>

#include "analyze/cause.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze {

struct Floor {
  double compute_ms = 0;     // FLOPs ÷ the compute roof of the dtype
  double memory_ms = 0;      // bytes ÷ the bandwidth roof of the level that holds them
  std::string memory_level;  // "DRAM", "L3", …; empty if no bandwidth was measured
  double compute_roof = 0;   // FLOP/s
  double memory_roof = 0;    // bytes/s

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
};
CostContext cost_context(const trace::Trace& trace, const Roofs& roofs, int threads);

// The floor of an operator that moves all its compulsory bytes, or all but those that fusion would save.
enum class Bytes { kAll, kUnavoidable };
Floor operator_floor(const trace::Operator& op, const CostContext& context, Bytes bytes);

// The roof that sets the floor, as tables name it: "f32 compute", "DRAM", "L3"; "unknown" without a floor.
std::string roof_name(const trace::Operator& op, const Floor& floor);

// An operator's wall time divided by cause. The parts are not negative and add up to it.
struct Split {
  double floor_ms = 0;
  double layout_ms = 0;
  double avoidable_ms = 0;
  double inefficiency_ms = 0;
  // The part of inefficiency_ms that a good kernel would not need (rules.h: attainable fraction of the roof).
  double recoverable_inefficiency_ms = 0;

  Cause main_cause() const;
};
Split split_time(double ms, const trace::Operator& op, const CostContext& context);

}  // namespace hone::analyze
