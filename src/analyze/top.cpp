#include "analyze/top.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/rules.h"
#include "core/units.h"
#include "trace/source_line.h"

namespace hone::analyze {
namespace {

double intensity(const trace::Operator& op) { return op.bytes() > 0 ? op.kernel_flops() / op.bytes() : 0; }

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms * 1e-3) : 0; }

std::string avoidable_words(const trace::Operator& op) {
  double share = op.avoidable_bytes / op.bytes();
  std::string what = share > 0.95 ? "all" : format_bytes(op.avoidable_bytes);
  std::string partner = op.fuses_with.empty() ? "its neighbour" : op.fuses_with;
  return fmt::format("; {} of it is avoidable: fuse with {}", what, partner);
}

std::string memory_words(const trace::Operator& op, const OperatorProfile& profile) {
  std::string words = fmt::format("memory-bound at {}: moves {} at {}, {} of this machine's {} roof",
                                  format_intensity(intensity(op)), format_bytes(op.bytes()),
                                  format_byte_rate(per_second(op.bytes(), profile.ms.median)),
                                  format_percent(profile.fraction_of_roof()), profile.roof.memory_level);
  if (op.bytes() > 0 && op.avoidable_bytes > 0.3 * op.bytes())
    words += avoidable_words(op);
  else if (profile.fraction_of_roof() >= kNearRoof)
    words += "; only fewer bytes would make it faster";
  return words;
}

// What the algorithm that ran is worth, or what another would spare; empty where there is but one.
std::string algorithm_words(const trace::Operator& op, const OperatorProfile& profile) {
  if (!op.algorithm.empty())
    return fmt::format("; by {}: a direct kernel would need {}", op.algorithm,
                       format_flop_rate(per_second(op.flops, profile.ms.median)));
  double fewer = op.flops / std::max(1.0, op.fewest_flops());
  return fewer >= kFasterAlgorithm
             ? fmt::format("; {} needs {:.1f} times fewer FLOPs", faster_algorithm(op.op_class), fewer)
             : "";
}

std::string compute_words(const trace::Operator& op, const OperatorProfile& profile) {
  std::string subject = op.geometry.empty() ? "" : op.geometry + ": ";
  std::string words =
      fmt::format("{}compute-bound at {}, {} of the {} roof ({} of {})", subject,
                  format_intensity(intensity(op)), format_percent(profile.fraction_of_roof()),
                  dtype_name(op.dtype), format_flop_rate(per_second(op.kernel_flops(), profile.ms.median)),
                  format_flop_rate(profile.roof.compute_roof));
  std::string algorithm = algorithm_words(op, profile);
  words += algorithm;
  if (profile.fraction_of_roof() >= kNearRoof)
    return algorithm.empty() ? words + "; close to what this machine can do" : words;
  if (profile.roof.memory_ms > 0.5 * profile.roof.compute_ms)
    return words + fmt::format("; its {} alone take {} at the {} roof", format_bytes(op.bytes()),
                               format_ms(profile.roof.memory_ms), profile.roof.memory_level);
  if (!op.implementation.empty()) return words + fmt::format("; runs on {}", op.implementation);
  return words;
}

}  // namespace

namespace {

// How often an operator of a foreign program ran.
std::string calls_words(const OperatorProfile& profile) {
  if (profile.executions <= 0) return "its own part of what runs within it";
  return fmt::format("{} × {}", counted(profile.executions, "call"),
                     format_ms(profile.ms.median / profile.executions));
}

// What it achieved where no roof says what that is worth.
std::string rates_words(const trace::Operator& op, double ms) {
  std::string words;
  if (op.flops > 0 && op.op_class != trace::OperatorClass::kPointwise)
    words += "; " + format_flop_rate(per_second(op.flops, ms));
  if (op.bytes() > 0) words += "; " + format_byte_rate(per_second(op.bytes(), ms));
  return words.empty() ? "; its FLOPs and bytes are not known" : words;
}

std::string judged_words(const trace::Operator& op, const OperatorProfile& profile,
                         const CostContext& context) {
  if (op.op_class == trace::OperatorClass::kLayout)
    return fmt::format("moves {} at {} only to change the order of elements; no arithmetic",
                       format_bytes(op.bytes()), format_byte_rate(per_second(op.bytes(), profile.ms.median)));
  if (!profile.roof.known())
    return "its FLOPs and bytes are not known here, so there is no roof to compare it with";
  double region_ms = (context.roofs.thread_start.median + context.roofs.barrier.median) * 1e3;
  if (context.threads > 1 && profile.ms.median <= region_ms)
    return fmt::format("too small for {} threads: takes {}, less than starting and joining them would ({})",
                       context.threads, format_ms(profile.ms.median), format_ms(region_ms));
  if (context.threads > 1 && profile.ms.median < kSmallOperatorFactor * region_ms)
    return fmt::format("too small for {} threads: takes {}, of which starting and joining them is about {}",
                       context.threads, format_ms(profile.ms.median), format_ms(region_ms));
  return profile.roof.memory_bound() ? memory_words(op, profile) : compute_words(op, profile);
}

}  // namespace

std::string why(const trace::Operator& op, const OperatorProfile& profile, const CostContext& context) {
  if (!context.repeated) return judged_words(op, profile, context);
  const std::string_view line = trace::source_line(op.provenance);
  const std::string calls = calls_words(profile) + (line.empty() ? "" : fmt::format("; {}", line));
  if (profile.executions <= 0) return calls;
  if (!profile.roof.known()) return calls + rates_words(op, profile.ms.median);
  trace::Operator unnamed = op;
  unnamed.geometry.clear();  // the row's own name has it
  return calls + "; " + judged_words(unnamed, profile, context);
}

std::vector<OperatorTime> operator_times(const trace::Trace& trace, const StepProfile& profile) {
  std::vector<OperatorTime> rows;
  for (const OperatorProfile& entry : profile.operators) {
    const trace::Operator op = step_operator(trace, entry);
    OperatorTime row;
    row.op = entry.op;
    row.name = op.name;
    row.kind = op.kind;
    row.op_class = op.op_class;
    row.implementation = op.implementation;
    row.provenance = op.provenance;
    row.ms = entry.ms;
    row.samples_ms = entry.samples_ms;
    row.share = profile.step_ms > 0 ? entry.ms.median / profile.step_ms : 0;
    row.flops = op.flops;
    row.bytes = op.bytes();
    row.floor_ms = entry.floor.ms();
    row.roof = roof_name(op, entry.roof);
    row.fraction_of_roof = entry.fraction_of_roof();
    row.main_cause = entry.split.main_cause();
    row.calls = entry.executions;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TopOperator> top_operators(const trace::Trace& trace, const StepProfile& profile,
                                       const CostContext& context, int count) {
  std::vector<TopOperator> rows;
  std::size_t wanted = std::min(profile.operators.size(), static_cast<std::size_t>(std::max(0, count)));
  for (std::size_t i = 0; i < wanted; ++i) {
    const OperatorProfile& entry = profile.operators[i];
    const trace::Operator op = step_operator(trace, entry);
    TopOperator row;
    row.rank = static_cast<int>(i) + 1;
    row.op = entry.op;
    row.name = op.name;
    row.kind = op.kind;
    row.ms = entry.ms.median;
    row.share = profile.step_ms > 0 ? row.ms / profile.step_ms : 0;
    row.flops = op.flops;
    row.least_flops = op.fewest_flops();
    row.executed_flops = op.kernel_flops();
    row.algorithm = op.algorithm;
    row.bytes = op.bytes();
    row.intensity = intensity(op);
    row.roof = roof_name(op, entry.roof);
    row.floor_ms = entry.floor.ms();
    row.fraction_of_roof = entry.fraction_of_roof();
    row.why = why(op, entry, context);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<RooflinePoint> roofline_points(const trace::Trace& trace, const StepProfile& profile) {
  std::vector<RooflinePoint> points;
  for (const OperatorProfile& entry : profile.operators) {
    const trace::Operator op = step_operator(trace, entry);
    if (op.flops <= 0 || op.bytes() <= 0) continue;
    points.push_back({op.name, op.kind, op.op_class, intensity(op),
                      per_second(op.kernel_flops(), entry.ms.median), entry.ms.median,
                      entry.fraction_of_roof(), roof_name(op, entry.roof)});
  }
  return points;
}

}  // namespace hone::analyze
