// Tables of an analysis on the page. Each cell carries what its column is sorted by (script.cpp), and its
// heading for pages too narrow for columns.
#include <fmt/format.h>

#include "report/html/parts.h"
#include "report/svg/bars.h"
#include "report/text.h"

namespace hone::report::html {
namespace {

constexpr std::size_t kCellNames = 90, kCellUnder = 300, kCellNumbers = 24;
constexpr std::string_view kRankHeading = "#";

bool is_number(ColumnKind kind) {
  return kind == ColumnKind::kNumber || kind == ColumnKind::kShare || kind == ColumnKind::kMark;
}

std::string sort_value(const GridCell& cell) {
  return cell.value ? fmt::format("{:.6g}", *cell.value) : std::string();
}

Markup name_markup(const GridCell& cell, ColumnKind kind) {
  const std::string name = clean_utf8(cell.text);
  const std::string whole = cell.whole.empty() ? title_of(name, kCellNames) : title_of(cell.whole, 0);
  Markup shown = kind == ColumnKind::kName
                     ? tag("code", {{"title", whole}}, prose(shortened(name, kCellNames)))
                     : prose(shortened(name, kCellNames));
  if (cell.place) shown = place_link(*cell.place, shown);
  for (const std::string& under : cell.under)
    shown += tag("span", {{"class", "kind"}}, prose(shortened(clean_utf8(under), kCellUnder)));
  return shown;
}

Markup cell_markup(const GridCell& cell, const GridColumn& column) {
  const std::string value = sort_value(cell);
  const std::string text = shortened(clean_utf8(cell.text), kCellNumbers);
  switch (column.kind) {
    case ColumnKind::kName:
    case ColumnKind::kText: {
      const bool labelled = !column.narrow.empty();
      return tag("td", {{"data-value", value}, {"data-name", labelled ? column.narrow : ""}},
                 name_markup(cell, column.kind));
    }
    case ColumnKind::kShare:
      return tag("td", {{"class", "sharecell"}, {"data-value", value}},
                 Markup::text(text) + svg::share(cell.value.value_or(0), cell.css));
    case ColumnKind::kMark:
      return tag("td", {{"class", "n"}}, text.empty() ? Markup() : tag("span", {{"class", cell.css}}, text));
    case ColumnKind::kNumber:
      return tag("td",
                 {{"class", column.heading == kRankHeading ? "n rank" : "n"},
                  {"data-name", text.empty() ? "" : column.narrow},
                  {"data-value", value}},
                 text);
  }
  return {};
}

}  // namespace

Markup table(const Grid& grid) {
  if (grid.empty()) return {};
  Markup heads;
  for (const GridColumn& column : grid.columns)
    heads += tag("th", {{"class", is_number(column.kind) && column.kind != ColumnKind::kShare ? "n" : ""}},
                 column.heading);
  Markup bodies, single;
  for (const GridRow& row : grid.rows) {
    Markup cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i) cells += cell_markup(row.cells[i], grid.columns[i]);
    if (row.note.empty()) {
      single += tag("tr", {{"class", "single"}}, cells);
      continue;
    }
    const bool ranked = grid.columns.front().heading == kRankHeading;
    Markup note = ranked ? tag("td", {{"class", "rank"}}, Markup()) : Markup();
    note +=
        tag("td", {{"colspan", fmt::format("{}", grid.columns.size() - (ranked ? 1 : 0))}}, prose(row.note));
    // A body of its own keeps the note below its row when the table is sorted.
    bodies += tag("tbody", tag("tr", {{"class", "main"}}, cells) + tag("tr", {{"class", "why"}}, note));
  }
  if (!single.empty()) bodies += tag("tbody", single);
  return tag("table", {{"class", "cards sortable"}}, tag("thead", tag("tr", heads)) + bodies);
}

}  // namespace hone::report::html
