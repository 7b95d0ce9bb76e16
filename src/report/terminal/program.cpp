// The report of a loop on somebody else's program for a terminal.
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/program_words.h"
#include "report/terminal/parts.h"
#include "report/text.h"

namespace hone::report {
namespace {

using namespace terminal;
using analyze::ChangeOutcome;

std::string program_headline_lines(const analyze::ProgramReport& report, const TerminalStyle& style) {
  const LabHeadline words = program_headline(report);
  const std::string headline = wrapped(words.headline, 0, style);
  if (words.tone == Tone::kNeutral) return headline + wrapped(words.rest, 0, style);
  return paint(headline, words.tone == Tone::kGood ? Colour::kGreen : Colour::kRed, style) +
         wrapped(words.rest, 0, style);
}

std::string changes_table(const analyze::ProgramReport& report, const TerminalStyle& style) {
  std::vector<GainLine> lines;
  const auto predicted = [](double ms) { return ms > 0 ? std::optional(ms) : std::nullopt; };
  for (const analyze::ProgramChange& change : report.changes)
    lines.push_back({change.title, predicted(change.predicted_gain_ms), change.measured_gain_ms,
                     std::string(outcome_words(change.outcome)), change_words(change),
                     change.outcome == ChangeOutcome::kKept});
  if (report.together.measured())
    lines.push_back({"= all that was kept", predicted(predicted_gain_ms(report)), measured_gain_ms(report),
                     "", fmt::format("against the unchanged program in {}", pairs_text(report.together)),
                     true});
  return gain_table("change", lines, step_before(report).median, style);
}

// Lines to write are for copying: they are never broken.
std::string diff_lines(const std::string& diff, const TerminalStyle& style) {
  std::string out;
  for (const std::string& line : lines_of_text(diff)) {
    const bool head = line.starts_with("+++") || line.starts_with("---");
    out += head || (!line.starts_with('+') && !line.starts_with('-'))
               ? paint(line, Colour::kFaint, style)
               : paint(line, line.starts_with('+') ? Colour::kGreen : Colour::kRed, style);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string program_terminal(const analyze::ProgramReport& report, const TerminalStyle& style) {
  std::string out = "\n" + program_headline_lines(report, style);
  out += wrapped("Before: " + report.baseline.verdict.sentence, 0, style);
  for (const std::string& note : program_notes(report))
    out += paint(wrapped(capitalised(note) + ".", 0, style), Colour::kFaint, style);
  if (!report.baseline.ledger.empty())
    out += heading("Before: where the time went", style) + ledger_table(report.baseline, style);
  if (!report.changes.empty())
    out += heading("What was tried (gain per step)", style) + changes_table(report, style);
  if (!report.diff.empty()) out += heading("What to write", style) + diff_lines(report.diff, style);
  if (!report.patch_file.empty()) out += "\nThis writes it into your files:\n" + patch_command(report) + "\n";
  for (const analyze::ProgramChange& change : report.changes)
    if (change.outcome == ChangeOutcome::kOffered && !change.diff.empty())
      out += heading("Offered: " + change.title, style) + diff_lines(change.diff, style);
  return out;
}

}  // namespace hone::report
