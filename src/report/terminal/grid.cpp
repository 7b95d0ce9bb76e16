// Tables of an analysis on a terminal: every column as wide as what stands in it, names in what that leaves.
#include <algorithm>

#include <fmt/format.h>

#include "report/terminal/parts.h"
#include "report/text.h"

namespace hone::report::terminal {
namespace {

constexpr std::size_t kIndent = 2, kNumbering = 3, kGap = 2;
constexpr std::size_t kWidestText = 24;
constexpr std::size_t kLeastName = 16;
constexpr std::size_t kWide = 90;  // of a terminal, from which there is room for all columns

bool is_number(ColumnKind kind) { return kind == ColumnKind::kNumber || kind == ColumnKind::kShare; }

// The column that takes what the others leave: names, else the first words.
std::size_t elastic_column(const Grid& grid) {
  for (const ColumnKind kind : {ColumnKind::kName, ColumnKind::kText})
    for (std::size_t i = 0; i < grid.columns.size(); ++i)
      if (grid.columns[i].kind == kind) return i;
  return 0;
}

struct Layout {
  std::vector<std::size_t> shown;  // columns
  std::vector<std::size_t> width;  // of each column of the grid
};

Layout lay_out(const Grid& grid, std::size_t room, const TerminalStyle& style) {
  Layout layout;
  layout.width.resize(grid.columns.size());
  const std::size_t elastic = elastic_column(grid);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    if (grid.columns[i].wide_only && style.width < kWide) continue;
    layout.shown.push_back(i);
    if (i == elastic) continue;
    std::size_t widest = columns(grid.columns[i].heading);
    for (const GridRow& row : grid.rows) widest = std::max(widest, columns(clean_utf8(row.cells[i].text)));
    layout.width[i] = std::min(widest, kWidestText);
    taken += layout.width[i] + kGap;
  }
  layout.width[elastic] = room > taken + kLeastName ? room - taken : kLeastName;
  return layout;
}

std::string aligned(std::string_view text, ColumnKind kind, std::size_t width) {
  const std::string shown = shortened(clean_utf8(text), width);
  return is_number(kind) ? right(shown, width) : left(shown, width);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string headings(const Grid& grid, const Layout& layout, bool numbered) {
  std::string line = numbered ? fmt::format("{:>{}}  ", "#", kNumbering) : std::string(kIndent, ' ');
  for (const std::size_t i : layout.shown)
    line += (i == layout.shown.front() ? "" : std::string(kGap, ' ')) +
            aligned(grid.columns[i].heading, grid.columns[i].kind, layout.width[i]);
  return without_trailing_spaces(line);
}

}  // namespace

std::string table(const Grid& grid, const TerminalStyle& style, bool numbered) {
  if (grid.empty()) return "";
  const std::size_t indent = numbered ? kNumbering + kGap : kIndent;
  const Layout layout = lay_out(grid, style.width - indent, style);
  std::string out = paint(headings(grid, layout, numbered), Colour::kFaint, style) + "\n";
  int number = 0;
  for (const GridRow& row : grid.rows) {
    std::string line = numbered ? fmt::format("{:{}}  ", ++number, kNumbering) : std::string(kIndent, ' ');
    for (const std::size_t i : layout.shown) {
      const GridCell& cell = row.cells[i];
      const std::string text = aligned(cell.text, grid.columns[i].kind, layout.width[i]);
      if (i != layout.shown.front()) line += std::string(kGap, ' ');
      const bool mark = grid.columns[i].kind == ColumnKind::kMark && !cell.text.empty();
      line += mark ? paint(without_trailing_spaces(text),
                           cell.css == "fail" ? Colour::kYellow : Colour::kGreen, style)
                   : text;
    }
    out += without_trailing_spaces(line) + "\n";
    for (const GridCell& cell : row.cells)
      for (const std::string& under : cell.under)
        out += paint(wrapped(under, indent, style), Colour::kFaint, style);
    if (!row.note.empty()) out += paint(wrapped(row.note, indent, style), Colour::kFaint, style);
  }
  return out;
}

}  // namespace hone::report::terminal
