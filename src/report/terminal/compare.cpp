// What changed between two runs, for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;

constexpr std::size_t kNamedChanges = 10;

}  // namespace

std::string compare_terminal(const analyze::Comparison& comparison, const TerminalStyle& style) {
  std::string out = "\n" + paint(wrapped(comparison.sentence, 0, style), Colour::kBold, style);
  out += wrapped("first: " + clean_utf8(comparison.a) + ". " + comparison.a_verdict, 2, style, 2);
  out += wrapped("second: " + clean_utf8(comparison.b) + ". " + comparison.b_verdict, 2, style, 2);
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
    const ChangeName name = change_name(row);
    out += "  " + name_cell(name.head + (name.detail.empty() ? "" : " " + name.detail), style.width - 52) +
           right(fixed_ms(row.a_ms, step), 12) + right(fixed_ms(row.b_ms, step), 12) +
           right(fixed_ms(row.b_ms - row.a_ms, step), 12) +
           (row.sure    ? "  sure"
            : row.apart ? "  every step"
                        : "") +
           "\n";
  }
  if (comparison.operators.size() > shown)
    out += fmt::format("  and {} more\n", comparison.operators.size() - shown);
  return out;
}

}  // namespace hone::report
