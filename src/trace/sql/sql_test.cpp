// A trace as a database: every row of every table is there, the views answer, and a failure leaves nothing.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "trace/sql/writer.h"
#include "trace/testing/add_span.h"
#include "trace/testing/random_trace.h"

namespace hone::trace {
namespace {

class SqliteFile : public testing::Test {
 protected:
  std::filesystem::path path_ = scratch_path("hone_sql_test.sqlite");
  void TearDown() override { std::filesystem::remove(path_); }

  // The first value of the answer, as text; "error: …" where there is none.
  std::string answer(const std::string& query) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    if (code != SQLITE_OK) return "error: cannot open";
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(opened, query.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
      return std::string("error: ") + sqlite3_errmsg(opened);
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
    if (sqlite3_step(prepared) != SQLITE_ROW) return "error: no row";
    const unsigned char* text = sqlite3_column_text(prepared, 0);
    return text == nullptr ? "NULL" : reinterpret_cast<const char*>(text);
  }
  std::string count(const std::string& table) { return answer("SELECT count(*) FROM " + table); }
};

TEST_F(SqliteFile, HoldsEveryRow) {
  const Trace trace = random_trace(4, 500);
  const Status written = write_sqlite(trace, {}, path_);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(answer("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(count("spans"), "500");
  EXPECT_EQ(count("tracks"), std::to_string(trace.tracks.size()));
  EXPECT_EQ(count("strings"), std::to_string(trace.strings.size()));
  EXPECT_EQ(count("operators"), std::to_string(trace.operators.size()));
  EXPECT_EQ(count("calls"), std::to_string(trace.calls.size()));
  EXPECT_EQ(count("launches"), std::to_string(trace.launches.size()));
  EXPECT_EQ(count("copies"), std::to_string(trace.copies.size()));
  EXPECT_EQ(count("collectives"), std::to_string(trace.collectives.size()));
  EXPECT_EQ(count("counted_launches"), std::to_string(trace.counters.size()));
  EXPECT_EQ(count("kernel_samples"), std::to_string(trace.kernel_samples.size()));
  EXPECT_EQ(
      answer("SELECT source FROM kernel_samples JOIN kernel_stalls ON sample = id WHERE reason = 'selected'"),
      "  sum += in[index[i]];");
  EXPECT_EQ(answer("SELECT value FROM counters JOIN counted_launches l ON l.id = launch JOIN strings s ON "
                   "s.id = l.kernel WHERE metric = 'dram__bytes_read.sum' AND s.text = 'gemm'"),
            "4194304.0");
  EXPECT_EQ(count("device_samples"), "12");
  EXPECT_EQ(answer("SELECT value FROM device_samples WHERE start_ns = 301 AND metric LIKE 'dram__%'"),
            "250000000000.0");
  EXPECT_EQ(count("stack_samples"), "2");
  EXPECT_EQ(answer("SELECT group_concat(function || ' ' || line) FROM sampled_lines"), "collate 41");
  EXPECT_EQ(answer("SELECT major_faults FROM host_use WHERE rank = 1"), "3.0");
  EXPECT_EQ(count("devices"), "2");
  EXPECT_EQ(count("blocks"), "3");
  EXPECT_EQ(answer("SELECT name FROM marks WHERE kind = 'optimizer'"), "AdamW");
  EXPECT_EQ(answer("SELECT mean_ns FROM block_steps WHERE mode = 'left alone'"), "1000000.0");
  int64_t sum = 0;
  for (int64_t ns : trace.spans.duration_ns) sum += ns;
  EXPECT_EQ(answer("SELECT sum(duration_ns) FROM spans"), std::to_string(sum));
  const Launch& launch = trace.launches.front();
  EXPECT_EQ(answer("SELECT grid_x FROM launches WHERE span = " + std::to_string(launch.span)),
            std::to_string(launch.grid[0]));
  for (const char* view : {"slices", "device_work", "kernel_time", "operator_time", "synchronizations"})
    EXPECT_NE(count(view).substr(0, 5), "error") << view << ": " << count(view);
  EXPECT_EQ(count("slices"), "500");
}

TEST_F(SqliteFile, HasTheTablesOfAnAnalysisWhateverTheyAreCalled) {
  using Type = AddedTable::Type;
  const AddedTable ledger = {"ledger",
                             {{"cause", Type::kText}, {"ms", Type::kReal}, {"value", Type::kAny}},
                             {{"host_sync", 7.5, int64_t{3}}, {"select", std::monostate(), 0.5}}};
  const Status written = write_sqlite(random_trace(1, 10), {{ledger}, {}, {}}, path_);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(answer("SELECT ms FROM ledger WHERE cause = 'host_sync'"), "7.5");
  EXPECT_EQ(answer("SELECT typeof(value) FROM ledger WHERE cause = 'host_sync'"), "integer");
  EXPECT_EQ(answer("SELECT ms FROM ledger WHERE cause = 'select'"), "NULL");
}

TEST_F(SqliteFile, JoinsAKernelWithItsLaunch) {
  Trace trace;
  const TrackId process = add_process(trace);
  const TrackId host = add_thread(trace, process), stream = add_stream(trace, process);
  Operator add;
  add.kind = "aten::add";
  const OperatorId op = trace.add_operator(add);
  add_launch(trace, {.on = host, .from_us = 100, .us = 5},
             {.on = stream, .name = "add_kernel", .from_us = 130, .us = 50, .step = 0, .op = op});
  ASSERT_TRUE(write_sqlite(trace, {}, path_).ok());
  EXPECT_EQ(answer("SELECT queue_ns FROM device_work WHERE operator = 'aten::add'"), "30000");
  EXPECT_EQ(answer("SELECT launches FROM kernel_time WHERE full_name = 'add_kernel'"), "1");
  EXPECT_EQ(answer("SELECT short FROM kernels"), answer("SELECT name FROM device_work"));
  EXPECT_EQ(count("device_work"), "1");
}

TEST_F(SqliteFile, StepsHaveTheWindowsThatTheAnalysisFound) {
  Trace trace;
  const TrackId process = add_process(trace);
  const TrackId host = add_thread(trace, process), stream = add_stream(trace, process);
  add_span(trace, {.on = host, .category = Category::kStep, .name = "step 4", .us = 50, .step = 4});
  add_span(trace,
           {.on = host, .category = Category::kStep, .name = "step 5", .from_us = 50, .us = 50, .step = 5});
  add_span(trace,
           {.on = stream, .category = Category::kKernel, .name = "late", .from_us = 120, .us = 9, .step = 5});
  trace.meta.ranks.push_back({0, 2, "rank0.json", "nccl", {}});
  ASSERT_TRUE(write_sqlite(trace, {{}, {{0, 5, 60'000, 129'000}}, {{0, -7}}}, path_).ok());
  EXPECT_EQ(answer("SELECT window_start_ns FROM steps WHERE step = 4"), "NULL");
  EXPECT_EQ(answer("SELECT duration_ns || ' ' || window_ns FROM steps WHERE step = 5"), "50000 69000");
  EXPECT_EQ(answer("SELECT s.step FROM device_work w JOIN steps s ON s.rank = w.rank AND w.start_ns >= "
                   "s.window_start_ns AND w.start_ns < s.window_start_ns + s.window_ns"),
            "5");
  EXPECT_EQ(answer("SELECT clock_shift_ns FROM ranks"), "-7");
}

TEST_F(SqliteFile, ReplacesWhatWasThereAndLeavesNothingAfterAFailure) {
  ASSERT_TRUE(write_file(path_, "something else").ok());
  ASSERT_TRUE(write_sqlite(random_trace(1, 10), {}, path_).ok());
  EXPECT_EQ(count("spans"), "10");
  Trace broken = random_trace(1, 10);
  broken.spans.track[3] = {99};
  EXPECT_FALSE(write_sqlite(broken, {}, path_).ok());
  EXPECT_EQ(count("spans"), "10");
  const Status nowhere = write_sqlite(random_trace(1, 10), {}, "/nonexistent/trace.sqlite");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("/nonexistent/trace.sqlite"), std::string::npos);
  EXPECT_FALSE(write_sqlite(random_trace(1, 10), {}, std::filesystem::temp_directory_path()).ok());
}

// A device that is renamed over is gone until somebody makes it again.
TEST_F(SqliteFile, PutsNothingInThePlaceOfPipesAndLinks) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Status status = write_sqlite(random_trace(1, 10), {}, path_);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("a pipe or a device"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
  std::filesystem::remove(path_);
  const std::filesystem::path target = scratch_path("hone_sql_target.sqlite");
  std::filesystem::create_symlink(target, path_);
  ASSERT_TRUE(write_sqlite(random_trace(1, 10), {}, path_).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(count("spans"), "10");
  std::filesystem::remove(target);
}

}  // namespace
}  // namespace hone::trace
