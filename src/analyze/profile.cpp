#include "analyze/profile.h"

#include <algorithm>

#include "analyze/attribution.h"
#include "analyze/estimate.h"

namespace hone::analyze {
namespace {

std::vector<Attribution> attribute_all(const trace::Trace& trace, std::span<const StepWindow> steps,
                                       int64_t long_gap_ns) {
  std::vector<Attribution> all;
  all.reserve(steps.size());
  for (const StepWindow& step : steps) all.push_back(attribute(trace, step, long_gap_ns));
  return all;
}

std::vector<double> samples_ms(const std::vector<Attribution>& all, std::size_t op) {
  std::vector<double> samples;
  samples.reserve(all.size());
  for (const Attribution& step : all) samples.push_back(step.operator_ns[op] * 1e-6);
  return samples;
}

double executions(const std::vector<Attribution>& all, const std::vector<std::size_t>& central,
                  std::size_t op) {
  double runs = 0;
  for (std::size_t k : central) runs += all[k].operator_runs[op];
  return runs / static_cast<double>(std::max<std::size_t>(1, central.size()));
}

void scale(Bound& bound, double factor) {
  bound.compute_ms *= factor;
  bound.memory_ms *= factor;
}

void scale(Split& split, double factor) {
  for (double* part : {&split.floor_ms, &split.layout_ms, &split.avoidable_ms, &split.inefficiency_ms,
                       &split.unjudged_ms, &split.algorithm_ms, &split.recoverable_inefficiency_ms})
    *part *= factor;
}

// Costs and roofs are of one execution: which cache holds its bytes does not depend on how often it runs.
void judge(const trace::Operator& op, double ms, const CostContext& context, OperatorProfile& entry) {
  if (entry.executions <= 0) {  // its work is that of the operators within it
    trace::Operator shell;
    shell.op_class = op.op_class;
    entry.split = split_time(ms, shell, context);
    return;
  }
  entry.floor = operator_floor(op, context, Bytes::kAll);
  entry.roof = kernel_roof(op, context, Bytes::kAll);
  entry.split = split_time(ms / entry.executions, op, context);
  scale(entry.floor, entry.executions);
  scale(entry.roof, entry.executions);
  scale(entry.split, entry.executions);
}

// Sums the central steps into the profile's averages; returns the operators' averages.
std::vector<double> average(const std::vector<Attribution>& all, const std::vector<std::size_t>& central,
                            std::size_t operator_count, StepProfile& profile) {
  std::vector<double> operator_ms(operator_count);
  double total_ns = 0, busy_ns = 0;
  for (std::size_t k : central) {
    total_ns += all[k].total_ns;
    busy_ns += all[k].busy_ns;
  }
  if (total_ns <= 0) return operator_ms;
  auto count = static_cast<double>(central.size());
  profile.scale = profile.step_ms * count / (total_ns * 1e-6);
  profile.busy_share = busy_ns / total_ns;
  double to_ms = 1e-6 / count * profile.scale;
  for (std::size_t k : central) {
    profile.gaps += all[k].gaps / count;
    for (std::size_t op = 0; op < operator_count; ++op) operator_ms[op] += all[k].operator_ns[op] * to_ms;
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
      profile.waiting_ms[cause] += all[k].waiting_ns[cause] * to_ms;
  }
  return operator_ms;
}

}  // namespace

trace::Operator step_operator(const trace::Trace& trace, const OperatorProfile& entry) {
  trace::Operator op = trace.operators[entry.op];
  for (double* cost : {&op.flops, &op.least_flops, &op.executed_flops, &op.bytes_read, &op.bytes_written,
                       &op.constant_bytes, &op.avoidable_bytes})
    *cost *= entry.executions;
  return op;
}

StepProfile profile_steps(const trace::Trace& trace, std::span<const StepWindow> steps,
                          const CostContext& context, const Stalls& stalls) {
  StepProfile profile;
  if (steps.empty()) return profile;
  // Plans have no work of their own between operators.
  const int64_t long_gap_ns = context.repeated ? kLongGapNs : std::numeric_limits<int64_t>::max();
  std::vector<Attribution> all = attribute_all(trace, steps, long_gap_ns);
  std::vector<std::size_t> central = central_steps(steps, stalls);
  profile.step_ms = step_time(steps, stalls).ms.median;
  profile.judged = !context.roofs.compute.empty() || !context.roofs.memory.empty();
  profile.central_steps = static_cast<int>(central.size());
  for (const Attribution& step : all)
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
      profile.waiting_samples_ms[cause].push_back(step.waiting_ns[cause] * 1e-6);
  std::vector<double> operator_ms = average(all, central, trace.operators.size(), profile);
  for (std::size_t op = 0; op < operator_ms.size(); ++op) {
    if (operator_ms[op] <= 0) continue;
    OperatorProfile entry;
    entry.op = static_cast<uint32_t>(op);
    entry.samples_ms = samples_ms(all, op);
    entry.ms = median_estimate(entry.samples_ms);
    entry.ms.median = operator_ms[op];
    entry.ms.low = std::min(entry.ms.low, entry.ms.median);
    entry.ms.high = std::max(entry.ms.high, entry.ms.median);
    if (context.repeated) entry.executions = executions(all, central, op);
    judge(trace.operators[op], operator_ms[op], context, entry);
    profile.floor_ms += step_floor_ms(trace.operators[op], context) * entry.executions;
    profile.operators.push_back(std::move(entry));
  }
  std::stable_sort(
      profile.operators.begin(), profile.operators.end(),
      [](const OperatorProfile& a, const OperatorProfile& b) { return a.ms.median > b.ms.median; });
  return profile;
}

}  // namespace hone::analyze
