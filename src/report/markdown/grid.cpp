// Tables of an analysis as Markdown.
#include "report/markdown/parts.h"

namespace hone::report::markdown {
namespace {

std::string cell_text(const GridCell& cell, ColumnKind kind) {
  if (cell.text.empty()) return "";
  return kind == ColumnKind::kName ? code(cell.text) : plain(cell.text);
}

bool is_number(ColumnKind kind) { return kind == ColumnKind::kNumber || kind == ColumnKind::kShare; }

std::string line_of(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

}  // namespace

std::string table(const Grid& grid, const std::vector<Cells>& more) {
  if (grid.empty()) return "";
  Cells head, rule;
  for (const GridColumn& column : grid.columns) {
    head.push_back(plain(column.heading));
    rule.push_back(is_number(column.kind) ? "---:" : "---");
  }
  std::string out = line_of(head) + line_of(rule);
  for (const GridRow& row : grid.rows) {
    Cells cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      cells.push_back(cell_text(row.cells[i], grid.columns[i].kind));
    out += line_of(cells);
  }
  for (const Cells& cells : more) out += line_of(cells);
  return out + "\n";
}

}  // namespace hone::report::markdown
