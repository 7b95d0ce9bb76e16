#include "report/markdown.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/counter_words.h"
#include "report/device_words.h"
#include "report/markdown/parts.h"
#include "report/precision_words.h"
#include "report/rank_words.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace markdown;
using analyze::Analysis;

std::string passes(const analyze::LabReport& report) {
  const double step = report.baseline.step.ms.median;
  std::vector<Cells> rows;
  const auto add = [&](const analyze::PassRow& row) {
    rows.push_back({code(row.name), plain(row.numerics), pass_outcome(row), plain(row.reason),
                    predicted_gain(row) ? fixed_ms(*predicted_gain(row), step) : "",
                    row.measured_gain_ms ? estimate_ms(*row.measured_gain_ms) : "",
                    error_text(row.max_rel_err)});
  };
  for (const analyze::PassRow& pass : report.passes) {
    add(pass);
    if (const analyze::PassCombination* all = combination_after(report, pass))
      rows.push_back({"= together", "", all->kept ? "kept" : "dropped", plain(combination_text(*all)),
                      fixed_ms(all->predicted_gain_ms, step), estimate_ms(all->measured_gain_ms), ""});
  }
  if (has_kept_gain(report))
    rows.push_back({"= all that was kept", "", "", std::string(kept_gain_note()),
                    fixed_ms(report.result.predicted_gain_ms, step),
                    estimate_ms(report.result.measured_gain_ms), error_text(report.result.max_rel_err)});
  for (const analyze::PassRow& setting : report.settings) add(setting);
  return table({"pass", "numerics", "outcome", "reason", "predicted gain", "measured gain", "error"}, 4,
               rows);
}

std::string precision(const analyze::LabReport& report) {
  constexpr std::size_t kMost = 40;
  std::string out;
  for (const analyze::PassRow& pass : report.passes) {
    if (pass.precision.empty()) continue;
    out += plain(precision_sentence(pass, kMost)) + ".\n\n" + table(precision_grid(pass, kMost));
  }
  return out.empty() ? out : fmt::format("## Precision\n\n{}\n\n", precision_note()) + out;
}

std::string before_and_after(const analyze::LabReport& report) {
  const double step = step_before(report).median;
  std::vector<Cells> rows;
  for (const CauseTimes& cause : causes_before_and_after(report))
    rows.push_back({std::string(analyze::cause_label(cause.cause)), fixed_ms(cause.before_ms, step),
                    fixed_ms(cause.after_ms, step), signed_ms(cause.after_ms - cause.before_ms, step)});
  if (rows.empty()) return "";
  rows.push_back({"**step**", estimate_ms(step_before(report)), estimate_ms(step_after(report)),
                  signed_ms(step_after(report).median - step, step)});
  return "## Before and after\n\n" + table({"cause", "before", "after", "change"}, 1, rows);
}

std::string memory(const analyze::LabReport& report) {
  const analyze::MemoryUse &a = report.baseline_memory, &b = report.optimised_memory;
  return table({"memory", "before", "after"}, 1,
               {{"activations (one arena)", format_bytes(a.arena_bytes), format_bytes(b.arena_bytes)},
                {"weights, prepacked", format_bytes(a.weights_bytes), format_bytes(b.weights_bytes)}}) +
         peak_text(report) + "\n\n";
}

std::string environment_markdown(const analyze::Environment& where) {
  std::string out = fmt::format("- {}, {} ({})\n- {}\n- hone {}, {}\n", plain(where.machine),
                                plain(where.device), counted(where.threads, "thread"), plain(where.os),
                                plain(where.hone_version), plain(where.compiler));
  for (const auto& [name, version] : where.libraries)
    out += fmt::format("- {} {}\n", plain(name), plain(version));
  for (const auto& [name, value] : where.settings)
    out += fmt::format("- {}: {}\n", plain(name), plain(value));
  return out + fmt::format("- {}\n\n", plain(where.when));
}

std::string numerics(const analyze::LabReport& report) {
  std::vector<Cells> rows;
  for (const analyze::NumericCheck& check : report.numerics)
    rows.push_back({code(check.output), check.passed ? "agrees" : "**differs**",
                    error_text(check.max_rel_err), error_text(check.limit)});
  const std::string of = reference_rows_text(report);
  return table({"output", "", "relative error", "limit"}, 2, rows) + (of.empty() ? "" : plain(of) + "\n\n");
}

std::string names(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& name : list) out += (out.empty() ? "" : ", ") + code(name);
  return out;
}

std::string compared_side(std::string_view which, const std::string& verdict, const analyze::Advice& advice,
                          double step_ms) {
  const std::string fix = advice_text(advice, step_ms);
  return fmt::format("{}: {}{}\n\n", which, plain(verdict), fix.empty() ? "" : " What to do: " + plain(fix));
}

}  // namespace

std::string lab_markdown(const analyze::LabReport& report) {
  LabHeadline words = lab_headline(report);
  std::string out = fmt::format("# {}\n\n**{}** {}\n\n", plain(report.model.name), with_code(words.headline),
                                plain(words.rest));
  if (const std::string second = passes_sentence(report); !second.empty()) out += plain(second) + "\n\n";
  if (const std::string note = quotient_note(report); !note.empty()) out += note + "\n\n";
  out += warnings(lab_warnings(report));
  const bool whole = has_result(report);
  if (whole)
    out += fmt::format("Speed-up {}{} from {} paired runs. Step {} before, {} after.\n\n{} {}\n\n",
                       report.training ? "of the passes " : "", ratio_text(report.result.speedup),
                       report.result.pairs, estimate_ms(step_before(report)), estimate_ms(step_after(report)),
                       baseline_note(report), speedup_note());
  out += before_and_after(report);
  out += "## Where the time went\n\n" + ledger(report.baseline) + "## Top operators before\n\n" +
         top(report.baseline);
  out += std::string(kernel_flops_note()) + "\n\n";
  out += "## What was tried\n\n" + passes(report) + precision(report);
  if (whole) {
    out +=
        "## What is left\n\n" + plain(report.optimised.verdict.sentence) + "\n\n" + ledger(report.optimised);
    out += "## Top operators after\n\n" + top(report.optimised);
  }
  if (const std::string counted = counted_kernels(counted_side(report)); !counted.empty())
    out += "## Kernels under the counters\n\n" + counted;
  if (report.interrupted.empty()) out += "## Numerics and memory\n\n" + numerics(report) + memory(report);
  out += "## Environment\n\n" + environment_markdown(report.environment);
  if (const std::string origin = roofs_origin_text(report.roofs_origin); !origin.empty())
    out += "Roofs: " + origin + ".\n\n";
  out += "## How to reproduce\n\n    " + clean_utf8(report.reproduce.command) + "\n\n";
  for (const std::string& note : report.reproduce.notes) out += fmt::format("- {}\n", plain(note));
  if (!report.phases.empty()) out += fmt::format("- {}\n", plain(phases_sentence(report)));
  return out;
}

std::string compare_markdown(const analyze::Comparison& comparison) {
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  std::vector<Cells> causes, findings, operators, elsewhere;
  for (const analyze::CauseChange& line : comparison.ledger)
    causes.push_back({std::string(analyze::cause_label(line.cause)), fixed_ms(line.a_ms, step),
                      fixed_ms(line.b_ms, step), signed_ms(line.b_ms - line.a_ms, step),
                      std::string(certainty_words(line.difference.certainty))});
  for (const analyze::RuleChange& line : comparison.findings)
    findings.push_back({rule_change_name(line), std::string(analyze::cause_label(line.cause)),
                        fixed_ms(line.a_ms, step), fixed_ms(line.b_ms, step),
                        signed_ms(line.b_ms - line.a_ms, step)});
  for (const analyze::OperatorChange& line : comparison.operators)
    operators.push_back({names(line.a), names(line.b),
                         std::string(certainty_words(line.difference.certainty)), fixed_ms(line.a_ms, step),
                         fixed_ms(line.b_ms, step), signed_ms(line.b_ms - line.a_ms, step)});
  for (const analyze::ElsewhereChange& line : comparison.elsewhere)
    elsewhere.push_back({code(line.name), elsewhere_ranks(line),
                         std::string(certainty_words(line.difference.certainty)), fixed_ms(line.a_ms, step),
                         fixed_ms(line.b_ms, step), signed_ms(line.b_ms - line.a_ms, step)});
  if (comparison.comparable)
    causes.push_back({"**step**", fixed_ms(comparison.a_ms.median, step),
                      fixed_ms(comparison.b_ms.median, step),
                      signed_ms(comparison.b_ms.median - comparison.a_ms.median, step),
                      std::string(certainty_words(comparison.difference.certainty))});
  return fmt::format("# {} against {}\n\n{}\n\n", plain(comparison.a), plain(comparison.b),
                     plain(comparison.sentence)) +
         warnings(comparison.caveats) +
         compared_side("First", comparison.a_verdict, comparison.a_advice, comparison.a_ms.median) +
         compared_side("Second", comparison.b_verdict, comparison.b_advice, comparison.b_ms.median) +
         table({"cause", "first", "second", "change", "difference"}, 1, causes) +
         (findings.empty() ? std::string()
                           : fmt::format("{}\n\n", rule_changes_note()) +
                                 table({"finding", "cause", "first", "second", "change"}, 2, findings)) +
         table({"first", "second", "difference", "first", "second", "change"}, 3, operators) +
         (elsewhere.empty()
              ? std::string()
              : fmt::format("{}. {}\n\n", elsewhere_title(), elsewhere_note(comparison)) +
                    table({"operator", "on", "difference", "first", "second", "change"}, 3, elsewhere));
}

}  // namespace hone::report
