#include "report/terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/units.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using analyze::Analysis;

constexpr std::size_t kMinWidth = 80, kMaxWidth = 100;
constexpr std::size_t kNamedChanges = 10;

// ANSI colours of the 16-colour set, which every theme keeps legible.
enum class Colour { kBold = 1, kFaint = 2, kGreen = 32, kYellow = 33, kBlue = 34, kRed = 31 };

std::string paint(std::string_view text, Colour colour, const TerminalStyle& style) {
  if (!style.colour) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(colour), text);
}

Colour colour_of(analyze::Cause cause) {
  if (cause == analyze::Cause::kFloor) return Colour::kBlue;
  return analyze::is_busy(cause) ? Colour::kYellow : Colour::kRed;
}

std::string heading(std::string_view text, const TerminalStyle& style) {
  return "\n" + paint(text, Colour::kBold, style) + "\n";
}

std::string spaces_for_no_break(std::string text) {
  constexpr std::string_view kNoBreak = "\u00a0";
  for (std::size_t at = text.find(kNoBreak); at != std::string::npos; at = text.find(kNoBreak, at))
    text.replace(at, kNoBreak.size(), " ");
  return text;
}

// Text broken between words (not between a number and its unit): the first line after `indent` spaces, the
// others after `hang` more.
std::string wrapped(std::string_view text, std::size_t indent, const TerminalStyle& style,
                    std::size_t hang = 0) {
  std::string bound = bind_units(clean_utf8(text)), result, line;
  std::size_t room = style.width - indent - hang;
  auto flush = [&] {
    result += std::string(result.empty() ? indent : indent + hang, ' ') + spaces_for_no_break(line) + "\n";
    line.clear();
  };
  for (std::size_t at = 0; at <= bound.size();) {
    std::size_t end = std::min(bound.find(' ', at), bound.size());
    std::string word = shortened(std::string_view(bound).substr(at, end - at), room);
    if (!line.empty() && columns(line) + 1 + columns(word) > room) flush();
    line += line.empty() ? word : " " + word;
    at = end + 1;
  }
  flush();
  return result;
}

std::string name_cell(const std::string& name, std::size_t width) {
  return left(shortened(clean_utf8(name), width), width);
}

std::string ledger_table(const Analysis& side, const TerminalStyle& style) {
  constexpr std::size_t kLabel = 20, kMs = 11, kShare = 8, kGain = 18;
  const double step = side.step.ms.median;
  std::size_t bar_width = style.width - 2 - kLabel - kMs - kShare - kGain - 2;
  std::string out;
  for (const analyze::LedgerRow& row : side.ledger) {
    std::string gain = gain_text(row, step);
    if (!gain.empty()) gain = "  can win " + gain;
    std::string drawn = bar(row.share, bar_width);
    if (gain.empty()) drawn.erase(drawn.find_last_not_of(' ') + 1);
    out += "  " + left(analyze::cause_label(row.cause), kLabel) + right(fixed_ms(row.ms, step), kMs) +
           right(format_percent(row.share), kShare) + "  " + paint(drawn, colour_of(row.cause), style) +
           paint(gain, Colour::kFaint, style) + "\n";
  }
  out += "  " + left("step", kLabel) + right(fixed_ms(step, step), kMs) + right("100 %", kShare) +
         fmt::format("  {} to {} over {} steps\n", format_ms(side.step.ms.low), format_ms(side.step.ms.high),
                     side.step.count);
  return out;
}

std::string top_table(const Analysis& side, const TerminalStyle& style) {
  const std::size_t traffic = style.width >= 90 ? 11 : 0;  // on a narrow terminal names need the room
  const std::size_t name_width = style.width - 5 - (11 + 8 + 12 + traffic + 13 + 8);
  auto line = [&](const std::string& start, std::string_view ms, std::string_view share,
                  std::string_view work, std::string_view bytes, std::string_view roof,
                  std::string_view fraction) {
    return start + right(ms, 11) + right(share, 8) + right(work, 12) +
           (traffic > 0 ? right(bytes, traffic) : "") + right(roof, 13) + right(fraction, 8);
  };
  std::string head =
      line("  #  " + left("operator", name_width), "time", "share", "work", "traffic", "roof", "of it");
  std::string out = paint(head, Colour::kFaint, style) + "\n";
  for (const analyze::TopOperator& row : side.top) {
    out += line(fmt::format("{:3}  ", row.rank) + name_cell(row.name, name_width),
                fixed_ms(row.ms, side.step.ms.median), format_percent(row.share),
                row.flops > 0 ? format_flops(row.flops) : "–", row.bytes > 0 ? format_bytes(row.bytes) : "–",
                shortened(clean_utf8(row.roof), 12), fmt::format("{:.0f} %", row.fraction_of_roof * 100)) +
           "\n";
    out += paint(wrapped(row.why, 5, style), Colour::kFaint, style);
  }
  return out;
}

// A line of the table of passes.
struct GainLine {
  std::string name;
  std::optional<double> predicted_ms;
  std::optional<analyze::Estimate> measured_ms;
  std::string outcome, reason;
  bool kept = false;
};

std::string gain_lines(const std::vector<GainLine>& lines, double step, const TerminalStyle& style) {
  const std::size_t name_width = style.width - 2 - 12 - 11 - 2 - 23 - 12;
  std::string out = paint("  " + left("pass", name_width) + right("predicted", 12) + right("measured", 11) +
                              "  " + left("interval", 23) + "outcome",
                          Colour::kFaint, style) +
                    "\n";
  for (const GainLine& line : lines) {
    const std::string interval = line.measured_ms
                                     ? fmt::format("{} to {}", fixed_number(line.measured_ms->low, step),
                                                   fixed_ms(line.measured_ms->high, step))
                                     : "";
    out += "  " + name_cell(line.name, name_width) +
           right(line.predicted_ms ? fixed_ms(*line.predicted_ms, step) : "–", 12) +
           right(line.measured_ms ? fixed_ms(line.measured_ms->median, step) : "–", 11) + "  " +
           left(interval, 23) + paint(line.outcome, line.kept ? Colour::kGreen : Colour::kFaint, style) +
           "\n";
    out += paint(wrapped(line.reason, 4, style), Colour::kFaint, style);
  }
  return out;
}

std::string pass_table(const analyze::LabReport& report, const TerminalStyle& style) {
  std::vector<GainLine> lines;
  for (const analyze::PassRow& pass : report.passes) {
    const bool fired = pass.measured_gain_ms.has_value();
    lines.push_back({pass.name, fired ? std::optional(pass.predicted_gain_ms) : std::nullopt,
                     pass.measured_gain_ms, pass_outcome(pass), pass.reason, pass.kept});
    if (const analyze::PassCombination* all = combination_after(report, pass))
      lines.push_back({"= together", all->predicted_gain_ms, all->measured_gain_ms,
                       all->kept ? "kept" : "dropped", combination_text(*all), all->kept});
  }
  if (has_kept_gain(report))
    lines.push_back({"= all that was kept", report.result.predicted_gain_ms, report.result.measured_gain_ms,
                     "", std::string(kept_gain_note()), true});
  return gain_lines(lines, report.baseline.step.ms.median, style);
}

// Before and after of every cause that either side has.
std::string before_after(const analyze::LabReport& report, const TerminalStyle& style) {
  analyze::Comparison sides = analyze::compare(report.baseline, report.optimised);
  std::string out =
      paint("  " + left("", 20) + right("before", 12) + right("after", 12) + right("change", 13),
            Colour::kFaint, style) +
      "\n";
  const double step = report.baseline.step.ms.median;
  auto line = [&](std::string_view label, double a, double b) {
    return "  " + left(label, 20) + right(fixed_ms(a, step), 12) + right(fixed_ms(b, step), 12) +
           right(fixed_ms(b - a, step), 13) + "\n";
  };
  for (const analyze::CauseChange& row : sides.ledger)
    out += line(analyze::cause_label(row.cause), row.a_ms, row.b_ms);
  return out + line("step", report.baseline.step.ms.median, report.optimised.step.ms.median);
}

std::string warnings(const std::vector<std::string>& list, const TerminalStyle& style) {
  std::string out;
  for (const std::string& warning : list)
    out += paint(wrapped("warning: " + warning, 2, style), Colour::kYellow, style);
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " + ") + name;
  return out;
}

std::string change_name(const analyze::OperatorChange& change) {
  if (change.a == change.b) return joined(change.a);
  if (change.a.empty()) return "(new) " + joined(change.b);
  if (change.b.empty()) return joined(change.a) + " (gone)";
  return joined(change.a) + " → " + joined(change.b);
}

}  // namespace

TerminalStyle terminal_style(int descriptor) {
  TerminalStyle style;
  const char* term = std::getenv("TERM");
  bool is_terminal = isatty(descriptor) == 1;
  style.colour = is_terminal && std::getenv("NO_COLOR") == nullptr &&
                 !(term != nullptr && std::string_view(term) == "dumb");
  winsize size{};
  if (is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<std::size_t>(size.ws_col, kMinWidth, kMaxWidth);
  return style;
}

std::string lab_terminal(const analyze::LabReport& report, const TerminalStyle& style) {
  LabVerdict words = lab_verdict(report);
  std::string out = "\n" + paint(words.headline, words.good ? Colour::kGreen : Colour::kRed, style) + "\n";
  out += wrapped(words.rest, 0, style);
  out += paint(wrapped(std::string(baseline_note()), 0, style), Colour::kFaint, style);
  out += warnings(report.warnings, style);
  out += heading("Before: where the time went", style) + ledger_table(report.baseline, style);
  out += heading(fmt::format("Before: the {} operators that took the most time", report.baseline.top.size()),
                 style) +
         top_table(report.baseline, style);
  out += heading("What was tried (gain per step)", style) + pass_table(report, style);
  out += heading("Before and after", style) + before_after(report, style);
  out += fmt::format("  speed-up {}, {} paired runs; largest relative error {}\n",
                     ratio_text(report.result.speedup), report.result.pairs,
                     error_text(report.result.max_rel_err));
  out += heading("After: what is left", style) + ledger_table(report.optimised, style);
  out += wrapped(report.optimised.verdict.sentence, 2, style);
  if (!report.phases.empty())
    out += "\n" + paint(wrapped(phases_sentence(report), 0, style), Colour::kFaint, style);
  return out;
}

std::string explain_terminal(const Analysis& analysis, const TerminalStyle& style) {
  std::string out = "\n" + paint(wrapped(analysis.verdict.sentence, 0, style), Colour::kBold, style);
  out += warnings(analysis.warnings, style);
  out += heading("Where the time goes", style) + ledger_table(analysis, style);
  out += heading(fmt::format("The {} operators that take the most time", analysis.top.size()), style) +
         top_table(analysis, style);
  if (!analysis.findings.empty()) out += heading("What to do", style);
  for (const analyze::Finding& finding : analysis.findings) {
    out += wrapped(fmt::format("{}: {}", analyze::cause_label(finding.cause), finding.title), 2, style);
    for (const std::string& line : finding.evidence) out += wrapped("- " + line, 4, style, 2);
    if (!finding.fix.empty()) out += wrapped("fix: " + finding.fix, 4, style, 5);
    if (!finding.caveat.empty()) out += wrapped("mind: " + finding.caveat, 4, style, 6);
  }
  return out;
}

std::string compare_terminal(const analyze::Comparison& comparison, const TerminalStyle& style) {
  std::string out = "\n" + paint(wrapped(comparison.sentence, 0, style), Colour::kBold, style);
  out += warnings(comparison.caveats, style);
  out += heading("By cause", style);
  out += paint("  " + left("", 20) + right("first", 12) + right("second", 12) + right("change", 13) + "\n",
               Colour::kFaint, style);
  const double step = comparison.a_ms.median;
  for (const analyze::CauseChange& row : comparison.ledger)
    out += "  " + left(analyze::cause_label(row.cause), 20) + right(fixed_ms(row.a_ms, step), 12) +
           right(fixed_ms(row.b_ms, step), 12) + right(fixed_ms(row.b_ms - row.a_ms, step), 13) + "\n";
  out += heading("By operator, largest change first", style);
  std::size_t shown = std::min(kNamedChanges, comparison.operators.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::OperatorChange& row = comparison.operators[i];
    out += "  " + name_cell(change_name(row), style.width - 46) + right(fixed_ms(row.a_ms, step), 12) +
           right(fixed_ms(row.b_ms, step), 12) + right(fixed_ms(row.b_ms - row.a_ms, step), 12) +
           (row.sure ? "  sure" : "") + "\n";
  }
  if (comparison.operators.size() > shown)
    out += fmt::format("  and {} more\n", comparison.operators.size() - shown);
  return out;
}

}  // namespace hone::report
