#include "trace/import/nsys/database.h"

#include <fmt/format.h>

namespace hone::trace::nsys {
namespace {

constexpr std::size_t kLeastRowBytes = 4;  // a cell and the pointer to it: more rows are pages read again
constexpr int kMostValueBytes = 64 << 20;
constexpr std::size_t kVersions = 18;  // of the header: the versions of the format for writing and reading

}  // namespace

bool Query::next() {
  if (rows_left_ == 0) ok_ = false;
  if (!ok_) return false;
  --rows_left_;
  const int result = sqlite3_step(statement_.get());
  ok_ = result == SQLITE_ROW || result == SQLITE_DONE;
  return result == SQLITE_ROW;
}

bool Query::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

int64_t Query::integer(int column, int64_t missing) const {
  return is_null(column) ? missing : sqlite3_column_int64(statement_.get(), column);
}

std::string_view Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int length = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(length));
}

Result<Database> Database::open(const std::filesystem::path& path) {
  Database database;
  sqlite3* handle = nullptr;
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string())
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", static_cast<unsigned char>(c))
                                            : std::string(1, c);
  const int result = sqlite3_open_v2((uri + "?immutable=1").c_str(), &handle,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database.handle_.reset(handle);
  if (result != SQLITE_OK) return io_error(fmt::format("cannot be opened: {}", sqlite3_errstr(result)));
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed) return io_error(fmt::format("cannot be opened: {}", failed.message()));
  database.most_rows_ = size / kLeastRowBytes;
  HONE_CHECK(database.look_at_tables());
  return database;
}

Result<Database> Database::of_bytes(std::string bytes) {
  // Readers of a write-ahead log need the log, which a database in memory cannot have.
  if (bytes.size() > kVersions + 1) bytes[kVersions] = bytes[kVersions + 1] = 1;
  Database database;
  database.most_rows_ = bytes.size() / kLeastRowBytes;
  database.bytes_ = std::make_unique<std::string>(std::move(bytes));
  sqlite3* handle = nullptr;
  int result = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nullptr);
  database.handle_.reset(handle);
  if (result == SQLITE_OK) {
    const auto size = static_cast<sqlite3_int64>(database.bytes_->size());
    result = sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(database.bytes_->data()),
                                 size, size, SQLITE_DESERIALIZE_READONLY);
  }
  if (result != SQLITE_OK) return io_error(fmt::format("cannot be opened: {}", sqlite3_errstr(result)));
  HONE_CHECK(database.look_at_tables());
  return database;
}

Status Database::look_at_tables() {
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // Else a file that was cut off could not be read at all. Nothing can be written: the file is open for
  // reading.
  sqlite3_exec(handle_.get(), "PRAGMA writable_schema = ON", nullptr, nullptr, nullptr);
  HONE_ASSIGN(Query query, prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  while (query.next()) tables_.emplace(query.text(0));
  if (!query.ok()) return corrupt("the SQLite database is damaged: it has no list of tables");
  return {};
}

bool Database::has(std::string_view table, std::string_view column) const {
  if (!has(table)) return false;
  Result<Query> query = prepare(fmt::format("PRAGMA table_info(\"{}\")", table));
  while (query.ok() && query->next())
    if (query->text(1) == column) return true;
  return false;
}

Result<Query> Database::select(const std::string& table, const std::vector<std::string>& columns) const {
  std::string list;
  for (const std::string& column : columns) {
    if (!list.empty()) list += ", ";
    list += has(table, column) ? fmt::format("\"{}\"", column) : "NULL";
  }
  return prepare(fmt::format("SELECT {} FROM \"{}\"", list, table));
}

Result<Query> Database::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    return corrupt(fmt::format("the SQLite database cannot be read: {}", sqlite3_errmsg(handle_.get())));
  return Query(statement, most_rows_);
}

}  // namespace hone::trace::nsys
