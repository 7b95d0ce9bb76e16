#include "report/words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/text.h"

namespace hone::report {

namespace {

// " with simplify, fuse_pointwise and 3 more passes": by what a model became faster; empty where nothing was
// kept.
std::string kept_passes(const analyze::LabReport& report) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> kept;
  for (const analyze::PassRow& pass : report.passes)
    if (pass.kept) kept.push_back(shortened(clean_utf8(pass.name), 40));
  if (kept.empty()) return "";
  const std::size_t named = kept.size() <= kNamed + 1 ? kept.size() : kNamed;
  std::string text = " with ";
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == kept.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + kept[i];
  }
  if (kept.size() > named) text += fmt::format(" and {} more passes", kept.size() - named);
  return text;
}

// Two measurements of one thing would contradict each other.
bool has_paired_steps(const analyze::LabReport& report) {
  return report.result.pairs > 0 && report.result.paired_before_ms.median > 0;
}

LabHeadline partial_headline(const analyze::LabReport& report, const std::string& name) {
  const double step_ms = report.baseline.step.ms.median;
  const auto tried = std::count_if(report.passes.begin(), report.passes.end(), fired);
  const std::string kept = kept_passes(report);
  return {
      "Interrupted: a partial report.",
      fmt::format("{} takes {}. While {}, it was interrupted; {} by then{}. What they win together was not "
                  "measured.",
                  name, fixed_ms(step_ms, step_ms), report.interrupted,
                  tried == 1 ? std::string("1 group of passes had been tried")
                             : fmt::format("{} groups of passes had been tried", tried),
                  kept.empty() ? ", and none was kept" : ", and the model kept is the one" + kept),
      Tone::kBad};
}

// What a reader must know of the baseline, and of the result, before believing a ratio; each a sentence with a
// space before it.
std::string what_was_compared(const analyze::LabReport& report) {
  std::string text;
  if (report.baseline_on_reference > 0)
    text += fmt::format(
        " That is against a baseline of which {} of {} operators ran on the reference, which is correct and "
        "slow.",
        report.baseline_on_reference, report.baseline_operators);
  const double before = report.baseline_memory.weights_bytes, after = report.optimised_memory.weights_bytes;
  constexpr double kTellingGrowth = 1.5;  // f16 written as f32 doubles them
  if (before > 0 && after > kTellingGrowth * before)
    text += fmt::format(" Its weights take {} instead of {}.", format_bytes(after), format_bytes(before));
  return text;
}

}  // namespace

bool has_result(const analyze::LabReport& report) {
  return report.interrupted.empty() && report.result.pairs > 0;
}

std::string largest_error_text(const analyze::LabReport& report) {
  const std::string error = fmt::format("largest relative error {}", error_text(report.result.max_rel_err));
  const auto nearest = std::max_element(report.numerics.begin(), report.numerics.end(),
                                        [](const analyze::NumericCheck& a, const analyze::NumericCheck& b) {
                                          return a.max_rel_err * b.limit < b.max_rel_err * a.limit;
                                        });
  if (nearest == report.numerics.end()) return error;
  if (nearest->max_rel_err < report.result.max_rel_err)
    return fmt::format("{}; output '{}' comes nearest to its limit: {} of {}", error,
                       shortened(clean_utf8(nearest->output), 40), error_text(nearest->max_rel_err),
                       error_text(nearest->limit));
  return fmt::format("{} (limit {})", error, error_text(nearest->limit));
}

std::string reference_rows_text(const analyze::LabReport& report) {
  const analyze::ReferenceRows& of = report.reference_rows;
  if (of.batch == 0) return "";
  const bool precision = std::any_of(report.passes.begin(), report.passes.end(),
                                     [](const analyze::PassRow& pass) { return !pass.precision.empty(); });
  if (!of.why_all.empty())
    return fmt::format(
        "Numbers: the reference computed the whole batch of {}, which takes it long. Its rows could not be "
        "shown to be independent of each other: {}.",
        of.batch, shortened(clean_utf8(of.why_all), 240));
  if (of.all_given)
    return fmt::format("Numbers: all {} rows that were given are compared with the reference{}.", of.batch,
                       precision
                           ? fmt::format("; what narrow types cost was measured on the first {}", of.rows)
                           : std::string());
  return fmt::format(
      "Numbers: the reference computed {0} rows. The batch of {1} holds these over again in scattered order, "
      "and all {1} that the plans give are compared{2}. Give inputs, to have as many rows of your own "
      "compared.",
      of.rows, of.batch,
      precision ? fmt::format("; what narrow types cost was measured on the {}", of.rows) : std::string());
}

analyze::Estimate step_before(const analyze::LabReport& report) {
  return has_paired_steps(report) ? report.result.paired_before_ms : report.baseline.step.ms;
}

analyze::Estimate step_after(const analyze::LabReport& report) {
  const analyze::Estimate& speedup = report.result.speedup;
  if (!has_paired_steps(report) || speedup.low <= 0) return report.optimised.step.ms;
  const double before = report.result.paired_before_ms.median;
  return {before / speedup.median, before / speedup.high, before / speedup.low};
}

std::vector<CauseTimes> causes_before_and_after(const analyze::LabReport& report) {
  if (!has_result(report)) return {};
  std::vector<CauseTimes> rows;
  double before_ms = 0, after_ms = 0;
  for (const analyze::CauseChange& change : analyze::compare_ledgers(report.baseline, report.optimised)) {
    rows.push_back({change.cause, change.a_ms, change.b_ms});
    before_ms += change.a_ms;
    after_ms += change.b_ms;
  }
  if (before_ms <= 0 || after_ms <= 0) return {};
  for (CauseTimes& row : rows) {
    row.before_ms *= step_before(report).median / before_ms;
    row.after_ms *= step_after(report).median / after_ms;
  }
  return rows;
}

std::string_view causes_note() {
  return "The step before is that of the paired, interleaved runs, and the step after is it divided by their "
         "speed-up, which pairs tell more exactly than either time; the parts of a step are the "
         "shares that the steps recorded between those runs had.";
}

std::string roofs_origin_text(const analyze::RoofsOrigin& origin) {
  if (origin.measured_at.empty()) return "";
  const double hours = origin.age_hours;
  const std::string age = hours < 1    ? "less than an hour ago"
                          : hours < 48 ? fmt::format("{:.0f} hours ago", hours)
                                       : fmt::format("{:.0f} days ago", hours / 24);
  return fmt::format("measured {} in {:.0f} s; {} of {} repetitions were disturbed by other programs", age,
                     origin.seconds, origin.disturbed, origin.repetitions);
}

std::string roofs_doubt(const analyze::RoofsOrigin& origin) {
  if (origin.doubtful.empty()) return "";
  return fmt::format(
      "the machine was busy when its roofs were measured, and these may be too low, floors and gains with "
      "them: {}; hone ceilings --refresh measures them again",
      fmt::join(origin.doubtful, ", "));
}

// Whether the result still means what the baseline does.
std::string numbers_clause(const analyze::LabReport& report) {
  const bool passed = report.result.passed;
  const std::string error = error_text(report.result.max_rel_err);
  if (is_training(report)) {
    const std::size_t steps = report.curves.front().unchanged.size();
    return passed
               ? fmt::format("loss and gradients take the same course over {} steps, within {}", steps, error)
               : fmt::format("loss or gradients take another course over {} steps (relative difference {})",
                             steps, error);
  }
  return passed ? fmt::format("its outputs agree with the reference to {}", error)
                : fmt::format("its outputs do not agree with the reference (relative error {})", error);
}

// What passes won against one kernel for each operator.
LabHeadline passes_headline(const analyze::LabReport& report) {
  const analyze::LabResult& result = report.result;
  std::string name = shortened(clean_utf8(report.model.name), 48);
  const double before_ms = step_before(report).median, after_ms = step_after(report).median;
  const std::string before = fixed_ms(before_ms, before_ms), after = fixed_ms(after_ms, after_ms);
  const std::string numbers = numbers_clause(report);
  if (is_training(report)) name = "A step of " + name;
  if (!result.passed)
    return {"Not accepted.",
            fmt::format("{} would take {} instead of {}, but {}.", name, after, before, numbers), Tone::kBad};
  if (result.pairs == 0)
    return {
        "Nothing was kept.",
        fmt::format(
            "{} takes {}; no pass that was tried is known to make it faster. The {} is as it was: there is "
            "no result to measure against it.",
            name, before, is_training(report) ? "step" : "model"),
        Tone::kNeutral};
  if (result.speedup.low > 1)
    return {fmt::format("{:.2f}× faster{}.", result.speedup.median, kept_passes(report)),
            fmt::format("{} takes {} instead of {} ({}), and {}.{}", name, after, before,
                        ratio_text(result.speedup), numbers, what_was_compared(report)),
            Tone::kGood};
  if (result.speedup.high < 1)
    return {fmt::format("{:.2f}× slower.", 1 / result.speedup.median),
            fmt::format("{} takes {} instead of {}.", name, after, before), Tone::kBad};
  return {"No difference.",
          fmt::format("{} takes {} after and {} before; {} paired runs cannot tell the two apart.", name,
                      after, before, result.pairs),
          Tone::kNeutral};
}

// What the recipe that the lab wrote wins against hone train as it was.
LabHeadline tuned_headline(const analyze::LabReport& report) {
  const analyze::TrainingGain& gain = *report.training;
  const double before_ms = gain.step_ms.median;
  const std::string name = "A step of " + shortened(clean_utf8(report.model.name), 48);
  const std::string before = fixed_ms(before_ms, before_ms);
  if (!gain.speedup)
    return {
        "As fast as hone train was before.",
        fmt::format("{} takes {} as hone train runs it; no setting of the recipe that was tried is known to "
                    "make it faster.",
                    name, before),
        Tone::kNeutral};
  const analyze::Estimate& speedup = *gain.speedup;
  const std::string with = fmt::format("{}", fmt::join(gain.changes, " "));
  if (speedup.low <= 1)
    return {"No difference.",
            fmt::format("{} takes {} as hone train runs it; with {} it cannot be told apart.", name, before,
                        with),
            Tone::kNeutral};
  return {fmt::format("{:.2f}× faster than hone train was, with {}.", speedup.median, with),
          fmt::format("{} takes {} instead of {} as hone train runs it ({}), and {}.", name,
                      fixed_ms(before_ms / speedup.median, before_ms), before, ratio_text(speedup),
                      numbers_clause(report)),
          Tone::kGood};
}

LabHeadline lab_headline(const analyze::LabReport& report) {
  if (!report.interrupted.empty())
    return partial_headline(report, shortened(clean_utf8(report.model.name), 48));
  if (report.training && report.result.passed) return tuned_headline(report);
  return passes_headline(report);
}

std::string passes_sentence(const analyze::LabReport& report) {
  if (!report.training || !report.interrupted.empty() || !report.result.passed) return "";
  const LabHeadline passes = passes_headline(report);
  return fmt::format(
      "Passes, those that hone train makes by itself and lossy ones that were asked for, against "
      "one kernel for each operator: {} {}",
      passes.headline, passes.rest);
}

std::vector<std::string> lab_warnings(const analyze::LabReport& report) {
  std::vector<std::string> all = report.warnings;
  if (const std::string doubt = roofs_doubt(report.roofs_origin); !doubt.empty())
    all.push_back("roofs: " + doubt);
  const auto& before = report.baseline.warnings;
  const auto& after = report.optimised.warnings;
  for (const std::string& warning : before) {
    const bool both =
        !report.interrupted.empty() || std::find(after.begin(), after.end(), warning) != after.end();
    all.push_back(both ? warning : "before: " + warning);
  }
  for (const std::string& warning : after) {
    if (std::find(before.begin(), before.end(), warning) == before.end()) all.push_back("after: " + warning);
  }
  return all;
}

std::string phases_sentence(const analyze::LabReport& report) {
  double total = 0;
  for (const analyze::PhaseTime& phase : report.phases) total += phase.seconds;
  std::string text = fmt::format("The experiment took {:.0f} s:", total);
  for (const analyze::PhaseTime& phase : report.phases)
    text +=
        fmt::format("{} {} {:.1f} s", &phase == &report.phases.front() ? "" : ",", phase.name, phase.seconds);
  return report.phases.empty() ? "" : text + ".";
}

namespace {

// "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad" is called AccumulateGrad.
std::string_view without_namespaces(std::string_view name) {
  const std::string_view head = name.substr(0, name.find_first_of("<("));
  const std::size_t colon = head.rfind(':');
  return colon == std::string_view::npos || colon + 1 >= head.size()
             ? name
             : name.substr(head.find_first_not_of(" :", colon));
}

}  // namespace

OperatorName operator_name(std::string_view name, std::string_view kind) {
  const std::string_view title = without_namespaces(kind);
  for (const std::string_view start : {kind, title})
    if (!start.empty() && name.starts_with(start) && name.size() > start.size() && name[start.size()] == ' ')
      return {std::string(title), std::string(name.substr(start.size() + 1))};
  return {std::string(name == kind ? title : name), ""};
}

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " + ") + name;
  return out;
}

// Operators of one kind that only their inputs tell apart.
bool of_kind(const std::vector<std::string>& names, const std::string& kind) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return !operator_name(name, kind).inputs.empty(); });
}

}  // namespace

std::string rule_change_name(const analyze::RuleChange& change) {
  std::string name = change.rule;
  std::replace(name.begin(), name.end(), '_', ' ');
  if (change.b_ms <= 0) return name + " (gone)";
  return change.a_ms <= 0 ? name + " (new)" : name;
}

std::string_view rule_changes_note() {
  return "What was found in either run (docs/rules.md has each by its name): the time that it takes, largest "
         "change first.";
}

ChangeName change_name(const analyze::OperatorChange& change) {
  const std::string before = joined(change.a), after = joined(change.b);
  const std::string mark = change.a.empty() ? "(new) " : "", end = change.b.empty() ? " (gone)" : "";
  if (of_kind(change.a, change.kind) && of_kind(change.b, change.kind)) {
    const std::size_t shapes = std::max(change.a.size(), change.b.size());
    const std::string several = shapes > 1 ? fmt::format(" ({} shapes)", shapes) : "";
    const OperatorName first = operator_name(change.a.empty() ? change.b[0] : change.a[0], change.kind);
    if (shapes > 1) return {mark + first.head + several + end, ""};
    const bool resized = change.a.size() == 1 && change.b.size() == 1 && change.a != change.b;
    const std::string second = resized ? " → " + operator_name(change.b[0], change.kind).inputs : "";
    return {mark + first.head + end, first.inputs + second};
  }
  if (before == after) return {before, ""};
  if (change.a.empty() || change.b.empty()) return {mark + before + after + end, ""};
  return {before + " → " + after, ""};
}

std::string_view row_label(const analyze::Analysis& analysis, analyze::Cause cause) {
  return cause == analyze::Cause::kFloor && !analysis.floor_known ? "busy, not judged"
                                                                  : analyze::cause_label(cause);
}

std::string roof_share(const analyze::TopOperator& row) {
  if (row.roof == "unknown") return "–";
  if (row.fraction_of_roof > 9.99) return ">999 %";
  constexpr double kOneDigit = 0.1;  // below, a digit more: 0.5 % of a roof is not nothing
  return row.fraction_of_roof < kOneDigit ? format_percent(row.fraction_of_roof)
                                          : fmt::format("{:.0f} %", row.fraction_of_roof * 100);
}

std::size_t changed_operators(const analyze::Comparison& comparison) {
  constexpr double kNothing = 1e-3;  // of the step
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  const auto end =
      std::find_if(comparison.operators.begin(), comparison.operators.end(),
                   [&](const auto& row) { return std::abs(row.b_ms - row.a_ms) < kNothing * step; });
  return static_cast<std::size_t>(end - comparison.operators.begin());
}

std::string_view top_noun(const analyze::Analysis& analysis) {
  if (analysis.top.empty() || analysis.top.front().of == analyze::TopKind::kOperator) return "operator";
  return analysis.top.front().of == analyze::TopKind::kRange ? "range" : "";
}

std::string most_time(std::size_t shown, std::string_view noun) {
  return shown == 1 ? fmt::format("The {} that takes the most time", noun)
                    : fmt::format("The {} {}s that take the most time", shown, noun);
}

std::string most_time(std::size_t shown, std::string_view noun, const analyze::Analysis& analysis) {
  const std::string heading = most_time(shown, noun);
  return analysis.ranks.size() > 1 ? fmt::format("{} on rank {}", heading, analysis.ledger_rank) : heading;
}

std::string_view certainty_words(analyze::Certainty certainty) {
  return certainty == analyze::Certainty::kNone ? "" : analyze::certainty_name(certainty);
}

std::string signed_ms(double ms, double largest) {
  const std::string text = fixed_ms(ms, largest);
  return ms > 0 && text.front() != '<' ? "+" + text : text;
}

std::string pass_outcome(const analyze::PassRow& pass) {
  if (pass.undecided) return "undecided";
  if (pass.kept) return "kept";
  return fired(pass) ? "dropped" : "did not fire";
}

bool fired(const analyze::PassRow& pass) { return pass.changed || pass.measured_gain_ms; }

std::optional<double> predicted_gain(const analyze::PassRow& pass) {
  return fired(pass) && pass.is_predicted ? std::optional(pass.predicted_gain_ms) : std::nullopt;
}

const analyze::PassCombination* combination_after(const analyze::LabReport& report,
                                                  const analyze::PassRow& pass) {
  const auto ends = [&](const analyze::PassCombination& one) {
    return !one.passes.empty() && one.passes.back() == pass.name;
  };
  const auto found = std::find_if(report.combinations.begin(), report.combinations.end(), ends);
  return found == report.combinations.end() ? nullptr : &*found;
}

std::string combination_text(const analyze::PassCombination& combination) {
  std::string names;
  const std::size_t count = combination.passes.size();
  for (std::size_t i = 0; i < count; ++i)
    names += (i == 0           ? ""
              : i + 1 == count ? " and "
                               : ", ") +
             shortened(clean_utf8(combination.passes[i]), 48);
  return fmt::format("{}, measured as one; {}", names, combination.reason);
}

bool has_kept_gain(const analyze::LabReport& report) {
  return report.result.pairs > 0 && std::any_of(report.passes.begin(), report.passes.end(),
                                                [](const analyze::PassRow& pass) { return pass.kept; });
}

std::string_view kept_gain_note() {
  return "predictions added up; measured: the result against the baseline, in paired runs";
}

std::string gain_text(const analyze::LedgerRow& row, double step_ms) {
  constexpr double kWorthShowing = 0.002;  // of the step
  if (row.predicted_gain_ms <= kWorthShowing * step_ms) return "";
  const std::string gain = fixed_ms(row.predicted_gain_ms, step_ms);
  if (gain.front() == '<') return "";
  return row.gain_is_bound ? "≤ " + gain : gain;
}

std::string peak_text(const analyze::LabReport& report) {
  const double peak = std::max(report.baseline_memory.peak_bytes, report.optimised_memory.peak_bytes);
  const std::string& device = report.baseline_memory.device;
  const double on_device =
      std::max(report.baseline_memory.device_peak_bytes, report.optimised_memory.device_peak_bytes);
  return fmt::format(
      "The process of this experiment, which holds several plans at once, took {}{} at its peak.",
      device.empty() ? ""
                     : fmt::format("{} of {}'s memory and, of the host's, ", format_bytes(on_device), device),
      format_bytes(peak));
}

bool is_training(const analyze::LabReport& report) { return !report.curves.empty(); }

std::string_view baseline_note(const analyze::LabReport& report) {
  if (is_training(report))
    return "Before is the recipe's step with one kernel for each operator, in the plain layout, the fastest "
           "in timing. "
           "hone train itself makes every change below that is not lossy, unless the recipe says otherwise.";
  return "Before is the model as its file has it, run by hone: one kernel for each operator, in the plain "
         "layout, the fastest in timing. Other runtimes rewrite models, too: hone bench --against ort "
         "compares with one.";
}

std::string_view speedup_note() {
  return "The speed-up and the two steps are from paired, interleaved runs. The parts of a step are from "
         "steps "
         "recorded between those runs, under the same conditions.";
}

std::string quotient_note(const analyze::LabReport& report) {
  const analyze::LabResult& result = report.result;
  const analyze::Estimate &before = report.baseline.step.ms, &after = report.optimised.step.ms;
  if (result.pairs == 0 || !(after.low > 0)) return "";
  const analyze::Estimate recorded = {before.median / after.median, before.low / after.high,
                                      before.high / after.low};
  if (recorded.low <= result.speedup.high && result.speedup.low <= recorded.high) return "";
  const double step_ms = step_before(report).median;
  return fmt::format(
      "The steps recorded between the paired runs are {} apart; by the paired runs they take {} and {}.",
      ratio_text(recorded), fixed_ms(step_ms, step_ms), fixed_ms(step_after(report).median, step_ms));
}

std::string_view kernel_flops_note() {
  return "Work is what the operator's definition takes. Intensity and the share of the roof count what its "
         "kernel executes, which is less with an algorithm such as Winograd's.";
}

}  // namespace hone::report
