// What only the page of a loop on somebody else's program has: its hero, the changes, the lines to write, the losses, how to
// repeat it.
#include <fmt/format.h>

#include "core/units.h"
#include "core/version.h"
#include "report/code_text.h"
#include "report/html/gains.h"
#include "report/html/parts.h"
#include "report/program_words.h"
#include "report/svg/curves.h"
#include "report/text.h"

namespace hone::report::html {
namespace {

using analyze::ChangeOutcome;
using analyze::ProgramChange;
using analyze::ProgramReport;

std::optional<double> foretold(double ms) { return ms > 0 ? std::optional(ms) : std::nullopt; }

Markup change_row(const ProgramChange& change, const GainScale& scale, double step_ms) {
  Markup name = tag(
      "td", Markup::text(change.title) + Markup::text(" ") + tag("code", {{"class", "tag"}}, change.name) +
                tag("span", {{"class", "kind"}}, with_code(change_words(change))) +
                (change.because.empty()
                     ? Markup()
                     : tag("span", {{"class", "kind"}}, with_code("advised by: " + change.because))));
  const bool kept = change.outcome == ChangeOutcome::kKept;
  return tag("tr", {{"class", kept ? "single" : "single dropped"}},
             name + gain_cells(foretold(change.predicted_gain_ms), change.measured_gain_ms, scale, step_ms) +
                 outcome_cell(kept, std::string(outcome_words(change.outcome))));
}

Markup together_row(const ProgramReport& report, const GainScale& scale, double step_ms) {
  return tag("tr", {{"class", "single"}},
             tag("td", tag("strong", "= all that was kept") +
                           tag("span", {{"class", "kind"}},
                               prose(fmt::format("against the unchanged program in {}; predictions added up",
                                                 pairs_text(report.together))))) +
                 gain_cells(foretold(predicted_gain_ms(report)), measured_gain_ms(report), scale, step_ms) +
                 tag("td", Markup()));
}

Markup copied(const std::string& text) {
  Markup lines;
  for (const std::string& line : lines_of_text(text)) {
    if (!lines.empty()) lines += Markup::literal("\n");
    lines += Markup::text(line);
  }
  return tag("div", {{"class", "command"}}, tag("code", lines));
}

}  // namespace

Section changes_part(const ProgramReport& report) {
  if (report.changes.empty()) return {};
  GainScale scale;
  const double step_ms = step_before(report).median;
  for (const ProgramChange& change : report.changes)
    scale.widen(change.predicted_gain_ms, change.measured_gain_ms);
  if (report.together.measured()) scale.widen(predicted_gain_ms(report), measured_gain_ms(report));
  Markup body;
  for (const ProgramChange& change : report.changes) body += change_row(change, scale, step_ms);
  if (report.together.measured()) body += together_row(report, scale, step_ms);
  return section(
      "changes", "What was tried",
      "Gain per step. Every change was measured against what was kept before it, in turn, with nothing "
      "recorded. It stays only if the steps got shorter for sure and what is computed stayed the same.",
      gain_legend() + tag("table", {{"class", "cards"}}, gain_heads("change") + tag("tbody", body)));
}

Section lines_part(const ProgramReport& report) {
  Markup content;
  if (!report.diff.empty()) content += copied(report.diff);
  if (!report.patch_file.empty())
    content += tag("p", {{"class", "notes"}}, prose("This writes it into your files:")) +
               copied(patch_command(report));
  Markup without;
  for (const ProgramChange& change : report.changes)
    if (change.outcome == ChangeOutcome::kKept && change.diff.empty())
      without += tag("li", with_code(change.title + ": " + change.did));
  if (!without.empty()) content += tag("ul", {{"class", "notes"}}, without);
  for (const ProgramChange& change : report.changes)
    if (change.outcome == ChangeOutcome::kOffered && !change.diff.empty())
      content += tag("p", {{"class", "notes"}},
                     with_code("Offered: " + change.title + ". " + capitalised(change.why) + ".")) +
                 copied(change.diff);
  if (content.empty()) return {};
  return section("lines", "What to write",
                 without.empty()       ? "All that was kept, as a patch."
                 : report.diff.empty() ? "What was kept could not be put into a patch: write it by hand."
                                       : "What was kept, as a patch, and what could not be put into it.",
                 content);
}

Section losses_part(const ProgramReport& report) {
  if (report.unchanged_losses.size() < 2) return {};
  const svg::LossCurves curves{report.unchanged_losses, report.unchanged_again_losses, report.changed_losses,
                               report.numbers.allowed};
  Markup legend = Markup::literal(
      "<div class=\"legend\"><span><i class=\"pale\"></i>allowed around the unchanged program</span>"
      "<span><i class=\"full\"></i>unchanged, two runs</span>");
  if (!report.changed_losses.empty())
    legend +=
        Markup::literal("<span><i style=\"background:var(--accent)\"></i>with all that was kept</span>");
  legend += Markup::literal("</div>");
  const Markup charts = chart([&](const svg::Canvas& canvas) { return svg::loss_curves(curves, canvas); });
  if (charts.empty()) return {};
  const std::string sentence = report.numbers.sentence.empty()
                                   ? "Losses of the first steps, from which the program goes backward."
                                   : capitalised(report.numbers.sentence) + ".";
  return section("losses", "Losses", sentence, tag("div", {{"class", "card"}}, legend + charts));
}

Section repeat_part(const ProgramReport& report) {
  Markup content = copied("hone lab -- " + command_text(report));
  Markup notes;
  for (const std::string& note : program_notes(report))
    notes += tag("li", with_code(capitalised(note) + "."));
  if (!report.baseline_page.empty())
    notes += tag("li", tag("a", {{"href", report.baseline_page}}, "the unchanged program's own report") +
                           prose(": operators, kernels, timeline, metrics"));
  notes += tag("li", prose(fmt::format("hone {}", kVersion)));
  return section("repeat", "What ran, and how to repeat it",
                 "Every run has a folder of its own beside this page.",
                 content + tag("ul", {{"class", "notes"}}, notes));
}

}  // namespace hone::report::html
