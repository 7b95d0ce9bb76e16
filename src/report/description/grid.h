// A table of an analysis made ready for people: columns with headings, cells as text. Made of a description
// (table.h), drawn by each form in its own way (markdown/, terminal/, html/); it knows nothing of either.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyze/findings.h"

namespace hone::report {

// The forms in which people read a report.
enum class Form : unsigned { kTerminal = 1, kMarkdown = 2, kPage = 4 };
using Forms = unsigned;  // several of them
constexpr Forms operator|(Form a, Form b) { return static_cast<Forms>(a) | static_cast<Forms>(b); }
constexpr Forms operator|(Forms a, Form b) { return a | static_cast<Forms>(b); }
constexpr Forms only(Form form) { return static_cast<Forms>(form); }
inline constexpr Forms kAllForms = Form::kTerminal | Form::kMarkdown | Form::kPage;

enum class ColumnKind {
  kName,    // of an operator, a kernel, a file: in code type
  kText,    // words
  kNumber,  // to the right
  kShare,   // a number with a bar under it where a form can draw one
  kMark,    // one word that says whether it is well
};

struct GridColumn {
  std::string heading;
  std::string narrow;  // stands before the value on a page too narrow for columns; empty: nothing does
  ColumnKind kind = ColumnKind::kText;
  bool wide_only = false;  // left out on a narrow terminal: names need the room
};

struct GridCell {
  std::string text;
  std::optional<double> value = {};                  // what a reader sorts by; none: the text
  std::vector<std::string> under = {};               // smaller, below a name
  std::string whole = {};                            // a name that is shown shortened
  std::string css = {};                              // of a share's bar, of a mark
  std::optional<analyze::TimelinePlace> place = {};  // to which a name leads on the page
};

struct GridRow {
  std::vector<GridCell> cells;  // one a column
  std::string note = {};        // below the row, as wide as the table
};

struct Grid {
  std::vector<GridColumn> columns;
  std::vector<GridRow> rows;
  bool empty() const { return rows.empty(); }
};

}  // namespace hone::report
