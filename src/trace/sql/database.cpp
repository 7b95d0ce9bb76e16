#include "trace/sql/database.h"

#include <cmath>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

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
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return invalid(fmt::format("cannot write '{}': it is a folder", path.string()));
  Database database;
  database.path_ = path;
  database.temporary_ = path;
  database.temporary_ += fmt::format(".tmp-{}", getpid());
  std::filesystem::remove(database.temporary_, ignored);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(database.temporary_.c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database.database_.reset(opened);
  if (code != SQLITE_OK) return database.failure("cannot create it");
  // Nobody else sees the file before it is whole: it needs neither a journal nor syncs on the way.
  HONE_CHECK(
      database.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
                       "PRAGMA application_id=0x686f6e65; BEGIN"));
  return database;
}

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      database_(std::move(other.database_)) {}

Database::~Database() {
  database_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

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
  const int descriptor = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    const int synced = ::fsync(descriptor);
    const int error = errno;
    ::close(descriptor);
    if (synced != 0)
      return io_error(
          fmt::format("{}: cannot write to it: {}", path_.string(), std::generic_category().message(error)));
  }
  std::error_code failed;
  std::filesystem::rename(temporary_, path_, failed);
  if (failed) return io_error(fmt::format("cannot write '{}': {}", path_.string(), failed.message()));
  temporary_.clear();
  return {};
}

}  // namespace hone::trace::sql
