// Databases of Nsight Systems written as text, for fuzzing: a line a row, cells between tabs, the table
// first.
//
//   CUPTI_ACTIVITY_KIND_RUNTIME<tab>start=1100<tab>end=1200<tab>nameId=3
//   StringIds<tab>id=3<tab>value="cudaLaunchKernel_v7000
//
// A value is a whole number, a text after ", a real after ~, bytes after x, or NULL (nothing). A table has
// the columns that its rows name, so tables and columns may be missing, and any value may have any type.
// tests/fuzz/nsys_rows.py makes such a text of a real export. Not part of the product.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sqlite3.h>

namespace hone::trace::nsys {

struct Cell {
  std::string column, value;
};
struct TableRow {
  std::string table;
  std::vector<Cell> cells;
};

inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

inline std::vector<TableRow> rows_of(std::string_view text) {
  std::vector<TableRow> rows;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = split(line, '\t');
    TableRow& row = rows.emplace_back(TableRow{std::string(cells[0]), {}});
    for (const std::string_view cell : std::span(cells).subspan(1)) {
      const std::size_t equals = std::min(cell.find('='), cell.size());
      row.cells.push_back(
          {std::string(cell.substr(0, equals)), std::string(cell.substr(std::min(equals + 1, cell.size())))});
    }
  }
  return rows;
}

inline std::string text_of(const std::vector<TableRow>& rows) {
  std::string text;
  for (const TableRow& row : rows) {
    text += row.table;
    for (const Cell& cell : row.cells) text += "\t" + cell.column + "=" + cell.value;
    text += "\n";
  }
  return text;
}

// The rows of a database's file.
inline std::vector<TableRow> rows_of_database(const std::string& path) {
  std::vector<TableRow> rows;
  sqlite3* handle = nullptr;
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) std::abort();
  const auto each_row = [](void* into, int count, char** values, char** names) {
    TableRow& row = static_cast<std::vector<TableRow>*>(into)->emplace_back();
    for (int i = 0; i < count; ++i) {
      const std::string value = values[i] == nullptr ? "" : values[i];
      int64_t number = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool is_number = failed == std::errc() && end == value.data() + value.size();
      row.cells.push_back({names[i], values[i] == nullptr || is_number ? value : '"' + value});
    }
    return 0;
  };
  std::vector<TableRow> tables;
  sqlite3_exec(handle, "SELECT name FROM sqlite_master WHERE type = 'table'", each_row, &tables, nullptr);
  for (const TableRow& table : tables) {
    const std::size_t first = rows.size();
    const std::string name = table.cells[0].value.substr(1);
    sqlite3_exec(handle, ("SELECT * FROM \"" + name + "\"").c_str(), each_row, &rows, nullptr);
    for (std::size_t i = first; i < rows.size(); ++i) rows[i].table = name;
  }
  sqlite3_close(handle);
  return rows;
}

// The bytes of a database's file. What SQLite does not take is left out.
class DatabaseOfRows {
 public:
  explicit DatabaseOfRows(const std::vector<TableRow>& rows) {
    sqlite3* handle = nullptr;
    if (sqlite3_open(":memory:", &handle) != SQLITE_OK) std::abort();
    handle_.reset(handle);
    std::map<std::string, std::vector<std::string>> tables;
    for (const TableRow& row : rows) {
      std::vector<std::string>& columns = tables[row.table];
      for (const Cell& cell : row.cells)
        if (std::find(columns.begin(), columns.end(), cell.column) == columns.end())
          columns.push_back(cell.column);
    }
    run("PRAGMA page_size = 512");  // small inputs make small files
    run("BEGIN");
    for (const auto& [table, columns] : tables) run("CREATE TABLE " + quoted(table) + list(columns));
    for (const TableRow& row : rows) insert(row);
    run("COMMIT");
  }

  std::string bytes() const {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> data(
        sqlite3_serialize(handle_.get(), "main", &size, 0), &sqlite3_free);
    return data == nullptr
               ? std::string()
               : std::string(reinterpret_cast<const char*>(data.get()), static_cast<std::size_t>(size));
  }

 private:
  static std::string quoted(std::string_view name) {
    std::string result = "\"";
    for (const char c : name)
      if (c != '"' && c != '\0') result += c;
    return result + "\"";
  }
  static std::string list(const std::vector<std::string>& columns) {
    std::string result;
    for (const std::string& column : columns) result += (result.empty() ? "(" : ", ") + quoted(column);
    return result + ")";
  }
  void run(const std::string& sql) { sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr); }

  void insert(const TableRow& row) {
    std::vector<std::string> columns;
    std::string marks;
    for (const Cell& cell : row.cells) {
      columns.push_back(cell.column);
      marks += marks.empty() ? "?" : ", ?";
    }
    const std::string sql = "INSERT INTO " + quoted(row.table) + list(columns) + " VALUES (" + marks + ")";
    auto [at, added] = statements_.try_emplace(sql, nullptr, &sqlite3_finalize);
    sqlite3_stmt* prepared = nullptr;
    if (added && sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &prepared, nullptr) == SQLITE_OK)
      at->second.reset(prepared);
    if (at->second == nullptr) return;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      bind(at->second.get(), static_cast<int>(i) + 1, row.cells[i].value);
    sqlite3_step(at->second.get());
    sqlite3_reset(at->second.get());
  }
  static void bind(sqlite3_stmt* statement, int at, const std::string& value) {
    const int size = static_cast<int>(value.size()) - 1;
    int64_t number = 0;
    if (value.starts_with('"'))
      sqlite3_bind_text(statement, at, value.data() + 1, size, SQLITE_STATIC);
    else if (value.starts_with('x'))
      sqlite3_bind_blob(statement, at, value.data() + 1, size, SQLITE_STATIC);
    else if (value.starts_with('~'))
      sqlite3_bind_double(statement, at, std::strtod(value.c_str() + 1, nullptr));
    else if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
      sqlite3_bind_int64(statement, at, number);
    else
      sqlite3_bind_null(statement, at);
  }

  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> handle_{nullptr, &sqlite3_close};
  std::map<std::string, std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>>
      statements_;  // by their SQL
};

}  // namespace hone::trace::nsys
