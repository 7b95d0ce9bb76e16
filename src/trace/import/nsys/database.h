// SQLite for reading: a database whose tables and columns may be there or not, and whose contents nobody
// vouches for: what is no table is not looked at, and no file makes more rows than its size allows.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "core/result.h"

namespace hone::trace::nsys {

// The rows of one SELECT, one at a time.
class Query {
 public:
  Query(sqlite3_stmt* statement, std::size_t most_rows)
      : statement_(statement, &sqlite3_finalize), rows_left_(most_rows) {}
  bool next();  // false at the end, and where the file is damaged: ok() tells them apart
  bool ok() const { return ok_; }
  bool is_null(int column) const;
  int64_t integer(int column, int64_t missing = 0) const;  // `missing` for NULL
  std::string_view text(int column) const;                 // until the next row

 private:
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_;
  std::size_t rows_left_;
  bool ok_ = true;
};

class Database {
 public:
  // Read-only; nothing is written beside the file.
  static Result<Database> open(const std::filesystem::path& path);
  // A database's file held in memory.
  static Result<Database> of_bytes(std::string bytes);

  bool has(std::string_view table) const { return tables_.count(std::string(table)) > 0; }
  bool has(std::string_view table, std::string_view column) const;
  // The named columns of all rows; a column that the table does not have reads as NULL.
  Result<Query> select(const std::string& table, const std::vector<std::string>& columns) const;

 private:
  Status look_at_tables();
  Result<Query> prepare(const std::string& sql) const;

  std::unique_ptr<std::string> bytes_;  // of a database in memory: the handle reads them where they lie
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> handle_{nullptr, &sqlite3_close};
  std::set<std::string> tables_;
  std::size_t most_rows_ = 0;
};

}  // namespace hone::trace::nsys
