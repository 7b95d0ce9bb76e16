// What changed between two runs, for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/counter_words.h"
#include "report/device_words.h"
#include "report/rank_words.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;

constexpr std::size_t kNamedChanges = 10;
constexpr std::size_t kNamedElsewhere = 5;
constexpr std::size_t kMs = 12, kMark = 15;

std::string line(const std::string& name, double a_ms, double b_ms, double step,
                 analyze::Certainty certainty) {
  std::string text = "  " + name + right(fixed_ms(a_ms, step), kMs) + right(fixed_ms(b_ms, step), kMs) +
                     right(signed_ms(b_ms - a_ms, step), kMs);
  const std::string_view mark = certainty_words(certainty);
  return text + (mark.empty() ? "" : fmt::format("  {}", mark)) + "\n";
}

// The same with what tells the name apart: below it, where there is no room beside it.
std::string line(std::string_view name, std::string_view detail, std::size_t name_width, double a_ms,
                 double b_ms, double step, analyze::Certainty certainty, const TerminalStyle& style) {
  if (columns(name) + 1 + columns(detail) <= name_width)
    return line(left(titled(name, detail, name_width), name_width), a_ms, b_ms, step, certainty);
  std::string rest(detail);
  if (columns(name) > name_width)
    rest = detail.empty() ? std::string(name) : fmt::format("{} {}", name, detail);
  return line(left(shortened(name, name_width), name_width), a_ms, b_ms, step, certainty) +
         paint(wrapped(rest, 4, style), Colour::kFaint, style);
}

std::string head(std::size_t name_width, const TerminalStyle& style) {
  return paint(
      "  " + left("", name_width) + right("first", kMs) + right("second", kMs) + right("change", kMs) + "\n",
      Colour::kFaint, style);
}

std::string advised(const analyze::Advice& advice, double step_ms, const TerminalStyle& style) {
  const std::string text = advice_text(advice, step_ms);
  return text.empty() ? "" : paint(wrapped("→ " + text, 4, style, 2), Colour::kGreen, style);
}

std::string findings(const analyze::Comparison& comparison, std::size_t name_width,
                     const TerminalStyle& style) {
  if (comparison.findings.empty()) return "";
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  std::string out = heading("By finding, largest change first", style) + head(name_width, style);
  for (const analyze::RuleChange& row : comparison.findings)
    out += line(rule_change_name(row), analyze::cause_label(row.cause), name_width, row.a_ms, row.b_ms, step,
                analyze::Certainty::kNone, style);
  return out;
}

// What only ranks run that are not in the tables above.
std::string elsewhere(const analyze::Comparison& comparison, const TerminalStyle& style) {
  if (comparison.elsewhere.empty()) return "";
  const std::size_t name_width = style.width - 2 - 3 * kMs - kMark;
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  std::string out = heading(elsewhere_title(), style);
  out +=
      paint(wrapped(elsewhere_note(comparison), 2, style), Colour::kFaint, style) + head(name_width, style);
  const std::size_t shown = std::min(kNamedElsewhere, comparison.elsewhere.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::ElsewhereChange& row = comparison.elsewhere[i];
    const OperatorName name = operator_name(row.name, row.kind);
    out += line(elsewhere_ranks(row) + ": " + clean_utf8(name.head), clean_utf8(name.inputs), name_width,
                row.a_ms, row.b_ms, step, row.difference.certainty, style);
  }
  if (comparison.elsewhere.size() > shown)
    out += fmt::format("  and {} more\n", comparison.elsewhere.size() - shown);
  return out;
}

// Each counter of a kernel that changed.
std::string kernel_counters(const analyze::KernelChange& row, const TerminalStyle& style) {
  constexpr std::size_t kValue = 16;
  const std::size_t name_width = style.width - 4 - 3 * kValue;
  std::string out =
      wrapped(fmt::format("{}: {}", clean_utf8(row.name), kernel_change_text(row)), 2, style, 2);
  if (const std::string hottest = hot_line_change_text(row); !hottest.empty())
    out += wrapped(clean_utf8(hottest), 4, style, 2);
  std::string section;
  std::size_t same = 0;
  for (const analyze::FigureChange& figure : row.figures) {
    if (!has_changed(figure)) {
      ++same;
      continue;
    }
    if (figure.section != section) out += paint("    " + figure.section + "\n", Colour::kFaint, style);
    section = figure.section;
    out += "    " + left(shortened(figure.label, name_width), name_width) +
           right(figure_text(figure.a, figure.unit), kValue) +
           right(figure_text(figure.b, figure.unit), kValue) + right(figure_change_text(figure), kValue) +
           "\n";
  }
  if (same > 0)
    out += paint(fmt::format("    {} unchanged\n", counted(static_cast<double>(same), "counter")),
                 Colour::kFaint, style);
  return out;
}

std::string kernels(const analyze::Comparison& comparison, const TerminalStyle& style) {
  if (comparison.kernels.empty()) return "";
  constexpr std::size_t kShown = 3;
  std::string out = heading("Kernels under the counters", style);
  const std::size_t shown = std::min(kShown, comparison.kernels.size());
  for (std::size_t i = 0; i < shown; ++i)
    out += (i > 0 ? "\n" : "") + kernel_counters(comparison.kernels[i], style);
  for (std::size_t i = shown; i < comparison.kernels.size(); ++i)
    out += wrapped(fmt::format("{}: {}", clean_utf8(comparison.kernels[i].name),
                               kernel_change_text(comparison.kernels[i])),
                   2, style, 2);
  return out;
}

}  // namespace

std::string compare_terminal(const analyze::Comparison& comparison, const TerminalStyle& style) {
  const std::size_t name_width = style.width - 2 - 3 * kMs - kMark;
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  std::string out = "\n" + paint(wrapped(comparison.sentence, 0, style), Colour::kBold, style);
  out += wrapped("first: " + clean_utf8(comparison.a) + ". " + comparison.a_verdict, 2, style, 2) +
         advised(comparison.a_advice, comparison.a_ms.median, style);
  out += wrapped("second: " + clean_utf8(comparison.b) + ". " + comparison.b_verdict, 2, style, 2) +
         advised(comparison.b_advice, comparison.b_ms.median, style);
  out += warnings(comparison.caveats, style);
  if (!comparison.comparable) return out;
  out += heading("By cause", style) + head(name_width, style);
  for (const analyze::CauseChange& row : comparison.ledger)
    out += line(left(analyze::cause_label(row.cause), name_width), row.a_ms, row.b_ms, step,
                row.difference.certainty);
  out += line(left("step", name_width), comparison.a_ms.median, comparison.b_ms.median, step,
              comparison.difference.certainty);
  out += findings(comparison, name_width, style);
  const std::size_t changed = changed_operators(comparison);
  const std::size_t shown = std::min(kNamedChanges, changed);
  if (changed == 0 && !comparison.operators.empty())
    out += fmt::format("\nNo operator changes by 0.1 % of the step\n");
  if (shown > 0) out += heading("By operator, largest change first", style) + head(name_width, style);
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::OperatorChange& row = comparison.operators[i];
    const ChangeName name = change_name(row);
    out += line(clean_utf8(name.head), clean_utf8(name.detail), name_width, row.a_ms, row.b_ms, step,
                row.difference.certainty, style);
  }
  if (changed > shown) out += fmt::format("  and {} more\n", changed - shown);
  return out + kernels(comparison, style) + elsewhere(comparison, style);
}

}  // namespace hone::report
