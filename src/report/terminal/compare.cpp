// What changed between two runs, for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;

constexpr std::size_t kNamedChanges = 10;
constexpr std::size_t kMs = 12, kMark = 15;

std::string line(const std::string& name, double a_ms, double b_ms, double step,
                 analyze::Certainty certainty) {
  std::string text = "  " + name + right(fixed_ms(a_ms, step), kMs) + right(fixed_ms(b_ms, step), kMs) +
                     right(signed_ms(b_ms - a_ms, step), kMs);
  const std::string_view mark = certainty_words(certainty);
  return text + (mark.empty() ? "" : fmt::format("  {}", mark)) + "\n";
}

std::string advice(const analyze::Advice& advice, double step_ms, const TerminalStyle& style) {
  const std::string text = advice_text(advice, step_ms);
  return text.empty() ? "" : paint(wrapped("→ " + text, 4, style, 2), Colour::kGreen, style);
}

}  // namespace

std::string compare_terminal(const analyze::Comparison& comparison, const TerminalStyle& style) {
  const std::size_t name_width = style.width - 2 - 3 * kMs - kMark;
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  const std::string head = paint(
      "  " + left("", name_width) + right("first", kMs) + right("second", kMs) + right("change", kMs) + "\n",
      Colour::kFaint, style);
  std::string out = "\n" + paint(wrapped(comparison.sentence, 0, style), Colour::kBold, style);
  out += wrapped("first: " + clean_utf8(comparison.a) + ". " + comparison.a_verdict, 2, style, 2) +
         advice(comparison.a_advice, comparison.a_ms.median, style);
  out += wrapped("second: " + clean_utf8(comparison.b) + ". " + comparison.b_verdict, 2, style, 2) +
         advice(comparison.b_advice, comparison.b_ms.median, style);
  out += warnings(comparison.caveats, style);
  out += heading("By cause", style) + head;
  for (const analyze::CauseChange& row : comparison.ledger)
    out += line(left(analyze::cause_label(row.cause), name_width), row.a_ms, row.b_ms, step,
                row.difference.certainty);
  out += line(left("step", name_width), comparison.a_ms.median, comparison.b_ms.median, step,
              comparison.difference.certainty);
  const std::size_t shown = std::min(kNamedChanges, comparison.operators.size());
  if (shown > 0) out += heading("By operator, largest change first", style) + head;
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::OperatorChange& row = comparison.operators[i];
    const ChangeName name = change_name(row);
    const std::string title = titled(clean_utf8(name.head), clean_utf8(name.detail), name_width);
    out += line(left(title, name_width), row.a_ms, row.b_ms, step, row.difference.certainty);
  }
  if (comparison.operators.size() > shown)
    out += fmt::format("  and {} more\n", comparison.operators.size() - shown);
  return out;
}

}  // namespace hone::report
