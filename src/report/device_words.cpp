#include "report/device_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analyze/rules.h"
#include "analyze/unrecorded.h"
#include "core/units.h"
#include "report/code_text.h"
#include "report/text.h"

namespace hone::report {
namespace {

// Three significant digits, thousands set apart.
std::string plain_number(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (std::abs(value) >= 1e9) return fmt::format("{:.1e}", value);
  if (value > 0 && value < 0.01) return "<0.01";
  if (std::abs(value) < 1000) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3 + (value < 0 ? 1 : 0);) digits.insert(at -= 3, ",");
  return digits;
}

std::string with_unit(double value, const std::string& unit) {
  if (unit == "ms") return format_ms(value);
  if (unit == "us") return format_ms(value * 1e-3);
  if (unit == "1/ms") return plain_number(value) + " a ms";
  if (unit == "1/step") return plain_number(value) + " a step";
  if (unit == "%" && value > 999) return ">999 %";
  if (unit == "%" && value > 0 && value < 0.05) return "<0.1 %";
  if (unit == "%") return fmt::format("{:.3g} %", value);
  return plain_number(value) + (unit.empty() ? "" : " " + unit);
}

// ". That is the step when nobody records, measured in the same run; recording adds 0.31 ms", or what it takes then where
// recorded steps are not longer: empty where it was not measured.
// "0.31 ms", with its interval where that is wide; empty: it may be nothing.
std::string recorder_text(const analyze::StepTime& step) {
  constexpr double kTight = 0.5;
  if (!step.recorder_ms || !(step.recorder_ms->low > 0)) return "";
  const analyze::Estimate& cost = *step.recorder_ms;
  const std::string each = fixed_ms(cost.median, step.ms.median);
  if (cost.high - cost.low < kTight * cost.median) return each;
  return fmt::format("{} ({})", each, fixed_range(cost.low, cost.high, step.ms.median));
}

std::string measured_sentence(const analyze::StepTime& step) {
  if (!step.unrecorded_measured || !step.unrecorded_ms) return "";
  if (step.recorded_ms)
    return ". That is the step when nobody records, measured in the same run; " +
           (recorder_text(step).empty()
                ? "recorded it takes " + fixed_ms(step.recorded_ms->median, step.ms.median)
                : "recording adds " + recorder_text(step));
  const analyze::Estimate& alone = *step.unrecorded_ms;
  const double median = step.ms.median;
  const std::string each = fixed_ms(alone.median, median), range = fixed_range(alone.low, alone.high, median);
  if (alone.median > analyze::kLongerAlone * median)
    return fmt::format(
        ". Steps that nobody recorded took longer ({}), so that is what recorded ones took: see the warning",
        each);
  std::string text = fmt::format(". Without the recorder a step takes {}{}, measured in the same run", each,
                                 range == each ? "" : " (" + range + ")");
  // Where steps that nobody recorded took longer, medians of blocks do not tell what recording adds.
  const std::string cost = alone.median <= median ? recorder_text(step) : "";
  if (!cost.empty()) text += "; recording adds " + cost;
  return text;
}

}  // namespace

std::string metric_value(const analyze::Metric& metric) { return with_unit(metric.value, metric.unit); }

std::string_view metric_mark(const analyze::Metric& metric) {
  if (!metric.doubt.empty()) return "doubtful";
  if (!metric.target) return "";
  return metric.reached() ? "reached" : "missed";
}

std::string metric_target(const analyze::Metric& metric) {
  if (!metric.target) return "";
  return fmt::format("{} {}", metric.higher_is_better ? "≥" : "≤", with_unit(*metric.target, metric.unit));
}

std::string metric_detail(const analyze::Metric& metric) {
  std::string text = metric.doubt.empty() ? "" : metric.doubt + ". ";
  text += metric.formula;
  if (!metric.note.empty()) text += (metric.formula.empty() ? "" : "; ") + metric.note;
  return text;
}

std::string kernel_detail(const analyze::KernelTime& row, std::size_t name_columns) {
  std::string text = row.family;
  if (!row.precision.empty()) text += (text.empty() ? "" : ", ") + row.precision;
  if (!row.operators.empty())
    text += fmt::format("{}launched by {}", text.empty() ? "" : "; ",
                        clipped(clean_utf8(row.operators.front()), name_columns));
  if (row.operators.size() > 1) text += fmt::format(" and {} more", row.operators.size() - 1);
  if (!row.why.empty()) text += (text.empty() ? "" : "; ") + row.why;
  return text;
}

std::string coverage_sentence(const analyze::Coverage& coverage) {
  if (coverage.linked_share <= 0)
    return fmt::format(
        "the recording tells of no operators, so kernels stand by themselves; {} of the device's time has "
        "known "
        "costs.",
        format_percent(coverage.costed_share));
  std::string text =
      fmt::format("{} of the device's time is linked to the operator that launched it, {} has known costs",
                  format_percent(coverage.linked_share), format_percent(coverage.costed_share));
  if (coverage.unlinked_kernels > 0)
    text +=
        fmt::format("; {} a step without an operator",
                    coverage.unlinked_kernels < 1000 ? counted(coverage.unlinked_kernels, "kernel")
                                                     : plain_number(coverage.unlinked_kernels) + " kernels");
  for (const std::string& name : coverage.unknown)
    text += (&name == &coverage.unknown.front() ? "; measured by time only: " : ", ") +
            clipped(clean_utf8(name), 60);
  return text + ".";
}

std::string range_text(const analyze::StepTime& step) {
  const std::string steps = counted(step.count, "step");
  if (step.count == 1) return steps;
  return fmt::format("{} over {}", fixed_range(step.ms.low, step.ms.high, step.ms.median), steps);
}

std::string link_share(const analyze::CollectiveSummary& row) {
  if (!(row.bus_bytes_per_s > 0) || !(row.roof_bytes_per_s > 0)) return "";
  const double share = row.bus_bytes_per_s / row.roof_bytes_per_s;
  return share > 1.01 ? "above its roof" : format_percent(share) + " of roof";
}

std::string phases_text(const analyze::Analysis& analysis) {
  const bool device = analysis.subject == analyze::Subject::kDeviceProgram;
  std::string text;
  for (const analyze::PhaseShare& row : analysis.phases)
    text += fmt::format("{}{} {} ({})",
                        !text.empty() ? ", "
                        : device      ? "Device time by phase: "
                                      : "Operators' time by phase: ",
                        row.phase == trace::Phase::kUnknown ? "no phase" : trace::phase_name(row.phase),
                        fixed_ms(row.ms, analysis.step.ms.median), format_percent(row.share));
  return text;
}

std::string gains_note(const analyze::Analysis& analysis) {
  const auto gains = std::count_if(analysis.findings.begin(), analysis.findings.end(),
                                   [](const analyze::Finding& row) { return row.predicted_gain_ms > 0; });
  if (gains == 0) return "";
  if (analysis.subject != analyze::Subject::kDeviceProgram)
    return gains == 1 ? "" : "Each gain is for that change alone; together they win less than the sum";
  // bench/results/{fresh,everyday,field}-programs-*.json: the last programs that no rule had seen.
  constexpr std::string_view kTrial =
      "37 of the last 62 on programs new to hone came true within 25 %: measure";
  return gains == 1 ? fmt::format("The gain is a prediction; {} it (hone compare)", kTrial)
                    : fmt::format(
                          "Gains are predictions; {} each (hone compare). Each is for that change alone; "
                          "together they win less than the sum",
                          kTrial);
}

std::string steps_sentence(const analyze::StepTime& step) {
  const double median = step.ms.median;
  const std::string each = fixed_ms(median, median), range = fixed_range(step.ms.low, step.ms.high, median);
  std::string text = fmt::format("{} of {}", counted(step.count, "step"), each);
  if (step.stalls)
    text += fmt::format(" on average, of which {} stall (the median is {})", step.stalls->count,
                        fixed_ms(step.stalls->typical_ms, median));
  if (range != each) text += fmt::format(" ({})", range);
  if (!step.how_found.empty()) text += ", found by " + step.how_found;
  return text + measured_sentence(step);
}

std::string rank_text(const analyze::RankSummary& row) {
  return row.device_index < 0 ? fmt::format("{}", row.rank)
                              : fmt::format("{}, device {}", row.rank, row.device_index);
}

std::string latest_text(const analyze::RankSummary& row, double step_ms) {
  return row.collectives > 0 ? fixed_ms(row.latest_ms, step_ms) : "–";
}

std::string usually_late_text(const analyze::RankSummary& row) {
  return row.collectives > 0 ? format_ms(row.usually_late_us * 1e-3) : "–";
}

bool has_lateness(const analyze::Analysis& analysis) {
  return std::any_of(analysis.rank_summaries.begin(), analysis.rank_summaries.end(),
                     [](const analyze::RankSummary& row) { return row.collectives > 0; });
}

std::string_view lateness_note() {
  return "latest: its largest delay behind the first rank at any collective of a step; usually: its median "
         "delay at collectives; waits: its time a step in collectives that a later rank had not reached, "
         "while its device computed nothing";
}

std::string_view findings_heading(const analyze::Analysis& analysis) {
  return analysis.verdict.given ? "What to change" : "What to try once there is a verdict";
}

std::string gain_sentence(const analyze::Finding& row, const analyze::Analysis& analysis) {
  const double step_ms = gained_from_ms(analysis);
  const std::string gain = fixed_ms(row.predicted_gain_ms, step_ms);
  if (!(row.predicted_gain_ms > 0) || gain.front() == '<') return "";
  return fmt::format("{} {}, {} of the step{}", row.gain_is_bound ? "at most" : "about", gain,
                     format_percent(step_ms > 0 ? row.predicted_gain_ms / step_ms : 0),
                     step_ms < analysis.step.ms.median ? " without the recorder" : "");
}

double gained_from_ms(const analyze::Analysis& analysis) {
  const analyze::StepTime& step = analysis.step;
  const bool matters =
      step.unrecorded_ms && step.unrecorded_ms->median < analyze::kRecorderMatters * step.ms.median;
  return matters ? step.unrecorded_ms->median : step.ms.median;
}

std::string advice_text(const analyze::Advice& advice, double step_ms) {
  if (advice.fix.empty() || advice.is_all) return advice.fix;
  return fmt::format("{} ({} {} of that)", advice.fix, advice.gain_is_bound ? "at most" : "about",
                     fixed_ms(advice.predicted_gain_ms, step_ms));
}

std::string first_fix(const analyze::Analysis& analysis) {
  return advice_text(analyze::first_advice(analysis), analysis.step.ms.median);
}

namespace {

// The first clause of advice: what follows a colon or a semicolon says why, or what else.
std::string first_clause(const std::string& advice) {
  int depth = 0;
  for (std::size_t i = 0; i < advice.size(); ++i) {
    if (advice[i] == '(' || advice[i] == '[') ++depth;
    if (advice[i] == ')' || advice[i] == ']') --depth;
    const bool ends = advice[i] == ';' || (advice[i] == ':' && i + 1 < advice.size() && advice[i + 1] == ' ');
    if (ends && depth == 0) return advice.substr(0, i);
  }
  return advice;
}

}  // namespace

std::string headline_action(const analyze::Analysis& analysis) {
  const analyze::Advice advice = analyze::first_advice(analysis);
  if (advice.fix.empty()) return "";
  const std::string gain = fixed_ms(advice.predicted_gain_ms, analysis.step.ms.median);
  const bool wins = advice.predicted_gain_ms > 0 && gain.front() != '<';
  std::string action = capitalised(first_clause(advice.fix));
  if (!wins) return action;
  return fmt::format("{}: wins {} {} of the {} step", action, advice.gain_is_bound ? "at most" : "about",
                     gain, fixed_ms(gained_from_ms(analysis), analysis.step.ms.median));
}

}  // namespace hone::report
