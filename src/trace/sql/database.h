// An SQLite database that is written once, in one transaction, and appears under its name only when it is
// whole. What is written into it is sqlite_writer's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::trace::sql {

class Database;

// A prepared INSERT: values are bound in order, run() takes a row and starts the next. After a failure every
// further call does nothing and run() returns the failure.
class Insert {
 public:
  Insert& integer(int64_t value);
  Insert& real(double value);  // not a number becomes NULL
  Insert& text(std::string_view value);
  Insert& null();
  // NULL where there is none.
  Insert& id(uint32_t index, bool valid) { return valid ? integer(index) : null(); }
  Status run();

 private:
  friend class Database;
  Insert(sqlite3* database, sqlite3_stmt* statement);
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code);

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int column_ = 0;
  Status status_;
};

class Database {
 public:
  // Errors: a folder that is not there or not writable, a pipe or a device.
  static Result<Database> create(const std::filesystem::path& path);
  ~Database();
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) = delete;

  Status execute(const std::string& statements);
  // INSERT INTO `table` with `columns` values.
  Result<Insert> insert_into(const std::string& table, int columns);
  // Ends the transaction and gives the file its name; an existing file is replaced.
  Status commit();

 private:
  Database() = default;
  Error failure(const std::string& doing) const;
  struct Closer {
    void operator()(sqlite3* database) const;
  };

  std::filesystem::path path_;
  std::optional<AtomicFile> file_;  // none once committed
  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace hone::trace::sql
