// What the terminal's reports are put together from: colour, headings, text broken at words, the tables that
// more than one of them shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/description/grid.h"
#include "report/terminal.h"

namespace hone::report::terminal {

// ANSI colours of the 16-colour set, which every theme keeps legible.
enum class Colour { kBold = 1, kFaint = 2, kGreen = 32, kYellow = 33, kBlue = 34, kRed = 31 };

std::string paint(std::string_view text, Colour colour, const TerminalStyle& style);
std::string heading(std::string_view text, const TerminalStyle& style);
// Text broken between words (not between a number and its unit): the first line after `indent` spaces, the
// others after `hang` more.
std::string wrapped(std::string_view text, std::size_t indent, const TerminalStyle& style,
                    std::size_t hang = 0);
std::string name_cell(std::string_view name, std::size_t width);

// A table of an analysis with its headings; `numbered`: its rows count from 1. Empty without rows.
std::string table(const Grid& grid, const TerminalStyle& style, bool numbered = false);
std::string ledger_table(const analyze::Analysis& side, const TerminalStyle& style);
std::string top_table(const analyze::Analysis& side, const TerminalStyle& style);
// A line of a table of what was tried.
struct GainLine {
  std::string name;
  std::optional<double> predicted_ms;
  std::optional<analyze::Estimate> measured_ms;
  std::string outcome, reason;
  bool kept = false;
};
// `what` is tried: the heading of the names. Of a step of `step` ms.
std::string gain_table(std::string_view what, const std::vector<GainLine>& lines, double step,
                       const TerminalStyle& style);
// Empty without counters.
std::string counted_kernels(const analyze::Analysis& analysis, const TerminalStyle& style);
std::string warnings(const std::vector<std::string>& list, const TerminalStyle& style);

}  // namespace hone::report::terminal
