#include "trace/sql/database.h"

#include <cmath>

#include <fmt/format.h>
#include <sqlite3.h>

namespace hone::trace::sql {

void Insert::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Insert::Insert(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

void Insert::check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || !status_.ok()) return;
  status_ = io_error(fmt::format("cannot write a row: {}", sqlite3_errmsg(database_)));
}

Insert& Insert::integer(int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++column_, value));
  return *this;
}

Insert& Insert::real(double value) {
  if (!std::isfinite(value)) return null();
  check(sqlite3_bind_double(statement_.get(), ++column_, value));
  return *this;
}

Insert& Insert::text(std::string_view value) {
  // The text outlives run(), so SQLite need not copy it; an empty view may have no address.
  const char* data = value.empty() ? "" : value.data();
  check(sqlite3_bind_text(statement_.get(), ++column_, data, static_cast<int>(value.size()), SQLITE_STATIC));
  return *this;
}

Insert& Insert::null() {
  check(sqlite3_bind_null(statement_.get(), ++column_));
  return *this;
}

Status Insert::run() {
  column_ = 0;
  if (!status_.ok()) return status_;
  check(sqlite3_step(statement_.get()));
  check(sqlite3_reset(statement_.get()));
  return status_;
}

Result<Database> Database::create(const std::filesystem::path& path) {
  std::error_code ignored;  // asked first: opening a pipe waits for its reader
  if (std::filesystem::is_other(path, ignored))
    return invalid(
        fmt::format("cannot write '{}': it is a pipe or a device; a database needs a file", path.string()));
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  Database database;
  database.path_ = path;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file.temporary().c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  database.file_ = std::move(file);
  database.database_.reset(opened);
  if (code != SQLITE_OK) return database.failure("cannot create it");
  // Nobody else sees the file before it is whole: it needs neither a journal nor syncs on the way.
  HONE_CHECK(
      database.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
                       "PRAGMA application_id=0x686f6e65; BEGIN"));
  return database;
}

Database::~Database() { database_.reset(); }  // before its file goes

Error Database::failure(const std::string& doing) const {
  return io_error(fmt::format("{}: {}: {}", path_.string(), doing,
                              database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_.get())));
}

Status Database::execute(const std::string& statements) {
  if (sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure("cannot write to it");
  return {};
}

Result<Insert> Database::insert_into(const std::string& table, int columns) {
  std::string statement = "INSERT INTO " + table + " VALUES(?";
  for (int i = 1; i < columns; ++i) statement += ",?";
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database_.get(), (statement + ")").c_str(), -1, &prepared, nullptr) != SQLITE_OK)
    return failure("cannot prepare to write " + table);
  return Insert(database_.get(), prepared);
}

Status Database::commit() {
  HONE_CHECK(execute("COMMIT"));
  database_.reset();
  HONE_CHECK(file_->commit());
  file_.reset();
  return {};
}

}  // namespace hone::trace::sql
