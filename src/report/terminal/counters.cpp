// Kernels under the hardware counters on a terminal: a table, then each of the first with what is wrong and its numbers.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/counter_words.h"
#include "report/description/grids.h"
#include "report/terminal/parts.h"
#include "report/text.h"

namespace hone::report::terminal {
namespace {

using analyze::CountedKernel, analyze::CounterFigure, analyze::KernelFinding;

constexpr std::size_t kCountedShown = 10;
constexpr std::size_t kStudied = 3;      // with all their numbers
constexpr double kWorthStudying = 0.05;  // of the step

std::string section_line(const CountedKernel& kernel, std::string_view section, const TerminalStyle& style) {
  std::string text;
  for (const CounterFigure& row : kernel.figures)
    if (row.section == section)
      text += fmt::format("{}{} {}", text.empty() ? "" : " · ", row.label, figure_text(row));
  return wrapped(fmt::format("{}: {}", section, text), 5, style, 2);
}

std::string what_is_wrong(const CountedKernel& kernel, const KernelFinding& row, const TerminalStyle& style) {
  // The kernel's sentence ends with what is wrong first.
  const bool told = kernel.sentence.ends_with(row.title);
  std::string out = wrapped(told ? "→ " + row.fix : row.title + ": " + row.fix, 5, style, 2);
  if (const std::string gain = kernel_gain_text(row); !gain.empty())
    out += paint(wrapped("wins " + gain, 7, style), Colour::kGreen, style);
  std::string details;
  for (const std::string& line : row.evidence) details += wrapped("- " + line, 7, style, 2);
  return out + paint(details, Colour::kFaint, style);
}

std::string hot_lines(const CountedKernel& kernel, const TerminalStyle& style) {
  if (kernel.lines.empty()) return {};
  std::string out = wrapped(lines_title(kernel) + ":", 5, style, 2);
  for (const analyze::HotLine& row : kernel.lines) {
    out += wrapped(
        fmt::format("{:>6}  {}  {}", format_percent(row.share), clean_utf8(place_text(row)), stall_text(row)),
        7, style, 8);
    if (!row.source.empty())
      out += paint(fmt::format("               {}\n", shortened(clean_utf8(row.source), 96)), Colour::kFaint,
                   style);
  }
  if (const std::string note = lines_note(kernel); !note.empty())
    out += wrapped("note: " + note, 7, style, 2);
  return out;
}

std::string studied(const CountedKernel& kernel, std::size_t number, const TerminalStyle& style) {
  std::string out =
      wrapped(fmt::format("{}. {}: {}", number, clean_utf8(kernel.name), kernel.sentence), 2, style, 3);
  for (const KernelFinding& row : kernel.findings) out += what_is_wrong(kernel, row, style);
  if (!kernel.disagreement.empty()) out += wrapped("note: " + kernel.disagreement, 5, style, 6);
  out += hot_lines(kernel, style);
  std::string sections;
  for (const std::string_view section : figure_sections(kernel))
    sections += section_line(kernel, section, style);
  return out + paint(sections, Colour::kFaint, style);
}

}  // namespace

std::string counted_kernels(const analyze::Analysis& analysis, const TerminalStyle& style) {
  if (analysis.counted_kernels.empty()) return "";
  Grid grid = counted_grid(analysis, Form::kTerminal);
  const std::size_t all = grid.rows.size();
  grid.rows.resize(std::min(kCountedShown, all));
  for (GridRow& row : grid.rows) row.note.clear();
  const std::string title = all > grid.rows.size()
                                ? fmt::format("Kernels under the counters: {} of {}", grid.rows.size(), all)
                                : "Kernels under the counters";
  std::string out = heading(title, style) + table(grid, style, true);
  out += paint(wrapped(fmt::format("{}.", counters_note(analysis)), 2, style), Colour::kFaint, style);
  // Of kernels that hardly matter to the step the table says enough, unless somebody asked for them.
  const auto matters = [&](const CountedKernel& kernel) {
    return kernel.in_full || kernel.share <= 0 || kernel.share >= kWorthStudying ||
           analysis.counted_kernels.size() == 1;
  };
  for (std::size_t i = 0; i < std::min(kStudied, all); ++i)
    if (matters(analysis.counted_kernels[i]))
      out += "\n" + studied(analysis.counted_kernels[i], i + 1, style);
  return out;
}

}  // namespace hone::report::terminal
