// The typical step as numbers: what each operator and each kind of waiting takes, per step. The ledger and
// the top operators are read off this.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "analyze/cost.h"
#include "analyze/findings.h"
#include "analyze/steps.h"
#include "trace/trace.h"

namespace hone::analyze {

struct OperatorProfile {
  uint32_t op = 0;        // row of the operator table
  double executions = 1;  // a step
  Estimate ms;  // median: its part of StepProfile::step_ms; low and high: interval of its median over steps
  std::vector<double> samples_ms;  // one a step
  Bound floor;                     // with all its bytes
  Bound roof;                      // of the kernel that ran, with all its bytes
  Split split;

  // 1 where the roofs were measured lower than they are.
  double fraction_of_roof() const { return ms.median > roof.ms() ? roof.ms() / ms.median : 1; }
};

// The operator with the costs of all its executions of a step.
trace::Operator step_operator(const trace::Trace& trace, const OperatorProfile& entry);

struct StepProfile {
  double step_ms = 0;                      // of the step that is told: the median, or the mean
  double floor_ms = 0;                     // what its operators need at least, whatever they took
  std::vector<OperatorProfile> operators;  // those that ran, longest first
  std::array<double, kCauseCount> waiting_ms{};
  std::array<std::vector<double>, kCauseCount> waiting_samples_ms;  // one a step
  bool judged = true;             // against roofs; else busy time counts as floor
  double gaps = 0;                // per step
  double busy_share = 0;          // of the step in which at least one operator ran
  bool without_recorder = false;  // what recording costs was measured and taken out (without_recorder.h)
  int central_steps = 0;          // how many steps the parts were averaged over
  double scale =
      1;  // step_ms ÷ mean of those steps: parts were multiplied by it so that they add up to step_ms
};

// Parts are averaged over the central steps (steps.h), because averages of parts add up where medians do not.
StepProfile profile_steps(const trace::Trace& trace, std::span<const StepWindow> steps,
                          const CostContext& context, const Stalls& stalls = {});

}  // namespace hone::analyze
