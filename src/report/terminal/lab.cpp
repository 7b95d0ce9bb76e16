// The report of an experiment for a terminal.
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/counter_words.h"
#include "report/precision_words.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;

std::string pass_table(const analyze::LabReport& report, const TerminalStyle& style) {
  std::vector<GainLine> lines;
  const auto add = [&](const analyze::PassRow& row) {
    lines.push_back(
        {row.name, predicted_gain(row), row.measured_gain_ms, pass_outcome(row), row.reason, row.kept});
  };
  for (const analyze::PassRow& pass : report.passes) {
    add(pass);
    if (const analyze::PassCombination* all = combination_after(report, pass))
      lines.push_back({"= together", all->predicted_gain_ms, all->measured_gain_ms,
                       all->kept ? "kept" : "dropped", combination_text(*all), all->kept});
  }
  if (has_kept_gain(report))
    lines.push_back({"= all that was kept", report.result.predicted_gain_ms, report.result.measured_gain_ms,
                     "", std::string(kept_gain_note()), true});
  for (const analyze::PassRow& setting : report.settings) add(setting);
  return gain_table("pass", lines, report.baseline.step.ms.median, style);
}

// What passes that narrow types did to the numbers of each operator.
std::string precision_tables(const analyze::LabReport& report, const TerminalStyle& style) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (const analyze::PassRow& pass : report.passes) {
    if (pass.precision.empty()) continue;
    out +=
        "\n" + wrapped(precision_sentence(pass, kMost), 2, style) + table(precision_grid(pass, kMost), style);
  }
  if (!out.empty()) out += paint(wrapped(std::string(precision_note()), 2, style), Colour::kFaint, style);
  return out;
}

// Before and after of every cause that either side has, and of the step, with its interval.
std::string before_after(const analyze::LabReport& report, const TerminalStyle& style) {
  std::string out =
      paint("  " + left("", 20) + right("before", 12) + right("after", 12) + right("change", 13),
            Colour::kFaint, style) +
      "\n";
  const analyze::Estimate before = step_before(report), after = step_after(report);
  const double step = before.median;
  auto line = [&](std::string_view label, double a, double b) {
    return "  " + left(label, 20) + right(fixed_ms(a, step), 12) + right(fixed_ms(b, step), 12) +
           right(fixed_ms(b - a, step), 13) + "\n";
  };
  for (const CauseTimes& row : causes_before_and_after(report))
    out += line(analyze::cause_label(row.cause), row.before_ms, row.after_ms);
  out += line("step", before.median, after.median);
  const auto range = [&](const analyze::Estimate& ms) { return fixed_range(ms.low, ms.high, step); };
  if (report.result.pairs > 0) {
    out += wrapped(fmt::format("step before {}, after {}", range(before), range(after)), 2, style);
    out += paint(wrapped(std::string(causes_note()), 2, style), Colour::kFaint, style);
  }
  return out;
}

std::string result_line(const analyze::LabReport& report) {
  const analyze::LabResult& result = report.result;
  return fmt::format("speed-up {}{}, {} paired runs; {}", report.training ? "of the passes " : "",
                     ratio_text(result.speedup), result.pairs, largest_error_text(report));
}

std::string where_line(const analyze::Environment& where) {
  return fmt::format("On {}; device {}, {}.", clean_utf8(where.machine), clean_utf8(where.device),
                     where.threads == 1 ? std::string("1 thread") : fmt::format("{} threads", where.threads));
}

std::string after_parts(const analyze::LabReport& report, const TerminalStyle& style) {
  std::string out = heading("Before and after", style) + before_after(report, style);
  out += wrapped(result_line(report), 2, style);
  out += heading("After: what is left", style) + ledger_table(report.optimised, style);
  return out + wrapped(report.optimised.verdict.sentence, 2, style);
}

}  // namespace

std::string lab_terminal(const analyze::LabReport& report, const TerminalStyle& style) {
  const LabHeadline words = lab_headline(report);
  const std::string headline = wrapped(words.headline, 0, style);
  std::string out = "\n";
  if (words.tone == Tone::kNeutral)
    out += headline;
  else
    out += paint(headline, words.tone == Tone::kGood ? Colour::kGreen : Colour::kRed, style);
  out += wrapped(words.rest, 0, style);
  if (const std::string passes = passes_sentence(report); !passes.empty()) out += wrapped(passes, 0, style);
  if (const std::string note = quotient_note(report); !note.empty()) out += wrapped(note, 0, style);
  out += wrapped("Before: " + report.baseline.verdict.sentence, 0, style);
  out += paint(wrapped(where_line(report.environment), 0, style), Colour::kFaint, style);
  out += paint(wrapped(std::string(baseline_note(report)), 0, style), Colour::kFaint, style);
  if (has_result(report)) out += paint(wrapped(std::string(speedup_note()), 0, style), Colour::kFaint, style);
  out += warnings(lab_warnings(report), style);
  out += heading("Before: where the time went", style) + ledger_table(report.baseline, style);
  out += heading(fmt::format("Before: the {} operators that took the most time", report.baseline.top.size()),
                 style) +
         top_table(report.baseline, style);
  out += heading("What was tried (gain per step)", style) + pass_table(report, style);
  out += precision_tables(report, style);
  if (has_result(report))
    out += after_parts(report, style);
  else if (report.interrupted.empty() && !report.numerics.empty())
    out += "\n" + wrapped((is_training(report) ? "The step as it is: " : "The model as it is: ") +
                              largest_error_text(report) + ".",
                          0, style);
  out += counted_kernels(counted_side(report), style);
  if (const std::string rows = reference_rows_text(report); !rows.empty())
    out += "\n" + wrapped(rows, 0, style);
  if (const std::string origin = roofs_origin_text(report.roofs_origin); !origin.empty())
    out += "\n" + paint(wrapped("Roofs: " + origin + ".", 0, style), Colour::kFaint, style);
  if (!report.phases.empty())
    out += "\n" + paint(wrapped(phases_sentence(report), 0, style), Colour::kFaint, style);
  return out;
}

}  // namespace hone::report
