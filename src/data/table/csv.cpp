#include "data/table/csv.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"

namespace hone::data {
namespace {

constexpr std::size_t kMostCells = 4096;  // in a row: more is no table of labels

// Cells in quotes may hold separators, line ends and doubled quotes.
class TableParser {
 public:
  TableParser(std::string_view text, char separator) : text_(text), separator_(separator) {}

  bool at_end() const { return at_ >= text_.size(); }

  Result<Table::Row> row() {
    Table::Row row{line_, {}};
    while (true) {
      HONE_ASSIGN(std::string cell, parse_cell());
      row.cells.push_back(std::move(cell));
      if (row.cells.size() > kMostCells)
        return corrupt(
            fmt::format("line {}: more than {} cells in a row: this is no table", row.line, kMostCells));
      if (at_end() || text_[at_] != separator_) break;
      ++at_;
    }
    if (!at_end()) end_line();
    return row;
  }

 private:
  Result<std::string> parse_cell() {
    std::string cell;
    if (at_end() || text_[at_] != '"') {
      const std::size_t start = at_;
      while (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      return std::string(text_.substr(start, at_ - start));
    }
    const int64_t line = line_;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '"')
          ++at_;
        else
          break;
      }
      if (text_[at_] == '\n') ++line_;
      cell += text_[at_];
    }
    if (at_end()) return corrupt(fmt::format("line {}: a quote is opened and never closed", line));
    ++at_;
    if (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
      return corrupt(fmt::format("line {}: something follows the closing quote of a cell", line_));
    return cell;
  }

  void end_line() {
    if (text_[at_] == '\r') ++at_;
    if (!at_end() && text_[at_] == '\n') ++at_;
    ++line_;
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  int64_t line_ = 1;
};

char separator_of(std::string_view text) {
  const std::string_view heading = text.substr(0, text.find_first_of("\r\n"));
  char best = ',';
  for (const char candidate : {';', '\t'})
    if (std::count(heading.begin(), heading.end(), candidate) >
        std::count(heading.begin(), heading.end(), best))
      best = candidate;
  return best;
}

}  // namespace

Result<std::size_t> Table::column(std::string_view name) const {
  const auto found = std::find(heading.begin(), heading.end(), name);
  if (found == heading.end())
    return invalid(
        fmt::format("the table has no column '{}'; its columns are {}", name, fmt::join(heading, ", ")));
  return static_cast<std::size_t>(found - heading.begin());
}

Result<Table> parse_table(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // spreadsheets mark UTF-8 so
  if (text.empty()) return corrupt("the table is empty: its first line names the columns");
  if (text.find('\0') != std::string_view::npos) return corrupt("this is no text: it holds bytes of 0");
  TableParser parser(text, separator_of(text));
  Table table;
  HONE_ASSIGN(Table::Row heading, parser.row());
  table.heading = std::move(heading.cells);
  while (!parser.at_end()) {
    HONE_ASSIGN(Table::Row row, parser.row());
    if (row.cells.size() == 1 && row.cells[0].empty()) continue;  // an empty line
    if (row.cells.size() != table.heading.size())
      return corrupt(fmt::format("line {}: {} cells, but the heading has {}", row.line, row.cells.size(),
                                 table.heading.size()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<Table> read_table(const std::filesystem::path& path) {
  HONE_ASSIGN(const auto file, MappedFile::open(path));
  auto table = parse_table(file->text());
  if (!table.ok()) return table.error().within(path.string());
  return table;
}

}  // namespace hone::data
