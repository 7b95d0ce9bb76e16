#include "analyze/without_recorder.h"

#include <algorithm>
#include <utility>

namespace hone::analyze {
namespace {

void scale_all(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

// What of an operator's time may be the recorder's.
double above_floor(const OperatorProfile& op) { return std::max(0.0, op.ms.median - op.floor.ms()); }

void shorten(OperatorProfile& op, double ms) {
  const double before = op.ms.median, least = op.split.floor_ms;
  if (before <= 0) return;
  const double factor = (before - ms) / before;
  for (double* value : {&op.ms.median, &op.ms.low, &op.ms.high}) *value *= factor;
  scale_all(op.samples_ms, factor);
  // The floor stays; where all of it is floor, as no roof is known, that shrinks.
  const double rest = before - least;
  const double of_rest = rest > 0 ? std::max(0.0, rest - ms) / rest : 1;
  op.split.floor_ms -= std::max(0.0, ms - rest);
  for (double* part : {&op.split.layout_ms, &op.split.avoidable_ms, &op.split.inefficiency_ms,
                       &op.split.unjudged_ms, &op.split.algorithm_ms, &op.split.recoverable_inefficiency_ms})
    *part *= of_rest;
}

class RecorderRemover {
 public:
  explicit RecorderRemover(StepProfile& profile) : profile_(profile) {}

  void remove(double ms) {
    double records = profile_.gaps;
    for (const OperatorProfile& op : profile_.operators) records += op.executions;
    if (records <= 0) return scale_to(profile_.step_ms - ms);
    const double wanted = profile_.step_ms - ms, each = ms / records;
    double& launch = profile_.waiting_ms[static_cast<std::size_t>(Cause::kLaunch)];
    shorten_wait(Cause::kLaunch, std::min(launch, each * profile_.gaps));
    for (OperatorProfile& op : profile_.operators) {
      const double part =
          std::min(each * op.executions, profile_.judged ? above_floor(op) : op.ms.median / 2);
      shorten(op, part);
      profile_.step_ms -= part;
    }
    scale_to(wanted);
  }

 private:
  void shorten_wait(Cause cause, double ms) {
    double& wait = profile_.waiting_ms[static_cast<std::size_t>(cause)];
    if (wait <= 0) return;
    scale_all(profile_.waiting_samples_ms[static_cast<std::size_t>(cause)], (wait - ms) / wait);
    wait -= ms;
    profile_.step_ms -= ms;
  }

  void scale_to(double step_ms) {
    if (profile_.step_ms <= step_ms || profile_.step_ms <= 0) return;
    const double part = 1 - step_ms / profile_.step_ms;
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
      shorten_wait(static_cast<Cause>(cause), part * profile_.waiting_ms[cause]);
    for (OperatorProfile& op : profile_.operators) shorten(op, part * op.ms.median);
    profile_.step_ms = step_ms;
  }

  StepProfile& profile_;
};

}  // namespace

void take_out_recorder(const MeasuredSteps& measured, StepProfile& profile, StepTime& step,
                       std::vector<std::string>& warnings) {
  const double recorded = step.ms.median, alone = measured.unrecorded.median;
  if (std::string longer = longer_alone(measured, recorded); !longer.empty())
    warnings.push_back(std::move(longer));
  if (alone >= recorded || alone <= 0) return;
  RecorderRemover(profile).remove(recorded - alone);
  profile.without_recorder = true;
  step.recorded_ms = step.ms;
  step.ms = measured.unrecorded;
  scale_all(step.samples_ms, alone / recorded);
}

}  // namespace hone::analyze
