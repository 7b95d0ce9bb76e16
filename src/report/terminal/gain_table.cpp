#include <fmt/format.h>

#include "core/units.h"
#include "report/terminal/parts.h"
#include "report/text.h"

namespace hone::report::terminal {

std::string gain_table(std::string_view what, const std::vector<GainLine>& lines, double step,
                       const TerminalStyle& style) {
  const std::size_t name_width = style.width - 2 - 12 - 11 - 2 - 23 - 12;
  std::string out = paint("  " + left(what, name_width) + right("predicted", 12) + right("measured", 11) +
                              "  " + left("interval", 23) + "outcome",
                          Colour::kFaint, style) +
                    "\n";
  for (const GainLine& line : lines) {
    const std::string interval = line.measured_ms && line.measured_ms->low < line.measured_ms->high
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

}  // namespace hone::report::terminal
