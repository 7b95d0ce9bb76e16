// The databases of these tests are made up from the documented schema.
#include "trace/import/nsys/reader.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "trace/import/import.h"
#include "trace/import/nvtx.h"

namespace hone::trace::nsys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t gid(int64_t pid, int64_t tid) { return (int64_t{1} << 48) | (pid << 24) | tid; }

class NsysFile {
 public:
  explicit NsysFile(const char* name) : path(scratch_path(name).string()) {
    std::filesystem::remove(path);
    sqlite3_open(path.c_str(), &handle_);
  }
  ~NsysFile() {
    close();
    std::filesystem::remove(path);
  }
  void run(const std::string& sql) {
    char* error = nullptr;
    ASSERT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  }
  void close() {
    sqlite3_close(handle_);
    handle_ = nullptr;
  }

  const std::string path;

 private:
  sqlite3* handle_ = nullptr;
};

constexpr const char* kStrings = R"sql(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),
    (4, 'cudaStreamSynchronize_v3020'), (5, 'cudaMalloc_v3020'), (6, 'train_step'), (7, 'python worker'),
    (8, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)');
)sql";

// One process (100) that launches a kernel from a range, copies and waits.
void one_process(NsysFile& file) {
  file.run(kStrings);
  file.run(R"sql(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
      streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
      registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
      blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
      correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
      endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER,
      computeMinor INTEGER);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
    CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 150109880320, 132, 9, 0);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790857026000000000, '', '');
  )sql");
  const std::string pid = std::to_string(gid(100, 0)), tid = std::to_string(gid(100, 101));
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5000, 0, 1, 7, 11, " + pid +
           ", 1, 2, 64, 132, 2, 1, 256, 1, 1, 1024, 2048, NULL)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6000, 7000, 0, 7, 12, " + pid +
           ", 4096, 1, 0, 2)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1200, 0, " + tid +
           ", 11, 3, 0), (5500, 7100, 0, " + tid + ", 13, 4, 0), (1010, 1020, 0, " + tid + ", 10, 5, 0)");
  file.run("INSERT INTO NVTX_EVENTS VALUES (1000, 8000, 59, NULL, " + tid +
           ", NULL, 6, 0), (1005, 1300, 59, " +
           "'aten::mm, seq = 17, op_id = 4, sizes = [[8, 4], [4, 2], []]', " + tid + ", NULL, NULL, 0), " +
           "(1400, NULL, 34, 'a mark', " + tid + ", NULL, NULL, 0)");
  file.run("INSERT INTO ThreadNames VALUES (7, 0, " + tid + ")");
  file.run("INSERT INTO PROCESSES VALUES (" + pid + ", 100, '/usr/bin/python3')");
}

Trace import_path(const std::string& path) {
  const std::vector<std::filesystem::path> paths = {path};
  Result<Trace> trace = import_trace(paths);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  if (!trace.ok()) return {};
  EXPECT_TRUE(trace->validate().ok());
  return std::move(*trace);
}

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) result.emplace_back(trace.name(trace.spans.row(i)));
  return result;
}

TEST(Nsys, TablesBecomeSpansOfThreadsAndStreams) {
  NsysFile file("one.sqlite");
  one_process(file);
  file.close();
  const Trace trace = import_path(file.path);
  EXPECT_THAT(names(trace), ElementsAre("train_step", "aten::mm", "cudaMalloc", "cudaLaunchKernel",
                                        "void gemm<float>(int)", "cudaStreamSynchronize", "Memcpy HtoD"));
  EXPECT_THAT(trace.spans.category,
              ElementsAre(Category::kRegion, Category::kOperator, Category::kAllocation, Category::kRuntime,
                          Category::kKernel, Category::kSynchronization, Category::kMemcpy));
  EXPECT_THAT(trace.spans.start_ns, ElementsAre(0, 5, 10, 100, 1000, 4500, 5000));
  EXPECT_EQ(trace.spans.correlation[3], trace.spans.correlation[4]);
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_THAT(trace.launches[0].grid, ElementsAre(132, 2, 1));
  EXPECT_EQ(trace.launches[0].shared_bytes, 3072u);
  ASSERT_EQ(trace.copies.size(), 1u);
  EXPECT_EQ(trace.copies[0].from, MemoryKind::kPageable);
  EXPECT_EQ(trace.copies[0].to, MemoryKind::kDevice);
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_EQ(trace.calls[0].sequence, 17);
  EXPECT_EQ(trace.strings.text(trace.calls[0].inputs), "undefined[8,4] undefined[4,2] -");
  EXPECT_EQ(trace.meta.devices.at(0).name, "NVIDIA H200");
  EXPECT_EQ(trace.meta.devices.at(0).multiprocessors, 132);
  const Track& thread = trace.tracks[trace.spans.track[0].index];
  EXPECT_EQ(thread.name, "python worker");
  EXPECT_EQ(thread.tid, 101);
  EXPECT_EQ(trace.tracks[thread.process.index].name, "python3");
  EXPECT_THAT(trace.meta.warnings, IsEmpty());
}

TEST(Nsys, EachProcessThatUsesADeviceIsARank) {
  NsysFile file("two.sqlite");
  one_process(file);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2500, 5500, 1, 1, 7, 11, " +
           std::to_string(gid(200, 0)) + ", 8, 8, 64, 24, 1, 1, 544, 1, 1, 0, 0, 5)");
  file.close();
  const Trace trace = import_path(file.path);
  ASSERT_EQ(trace.meta.ranks.size(), 2u);
  EXPECT_EQ(trace.meta.ranks[1].world_size, 2);
  ASSERT_EQ(trace.collectives.size(), 1u);
  EXPECT_EQ(trace.strings.text(trace.collectives[0].name), "allreduce");
  const Span span = trace.spans.row(trace.collectives[0].span);
  EXPECT_EQ(span.category, Category::kCommunication);
  EXPECT_EQ(span.start_ns, 1500);
  EXPECT_EQ(trace.tracks[span.track.index].rank, 1);
  EXPECT_EQ(trace.tracks[span.track.index].device, 1);
  EXPECT_EQ(trace.launches.back().graph_node, 5u);
  EXPECT_NE(span.correlation, trace.spans.correlation[4]);
}

// `nsys profile -o report%q{RANK}`: a report for each rank, each with one process.
TEST(Nsys, FilesOfOneProcessEachAreRanks) {
  NsysFile first("rank0.sqlite"), second("rank1.sqlite");
  one_process(first);
  one_process(second);
  second.run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 1");
  first.close();
  second.close();
  const std::vector<std::filesystem::path> paths = {first.path, second.path};
  const Result<Trace> trace = import_trace(paths);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->meta.ranks.size(), 2u);
  EXPECT_EQ(trace->meta.ranks[1].rank, 1);
}

// A few bytes can describe a table that never ends; no exporter does.
TEST(Nsys, WhatIsNoTableIsNotLookedAt) {
  NsysFile file("view.sqlite");
  file.run(
      R"sql(CREATE VIEW StringIds AS WITH RECURSIVE endless(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM endless)
    SELECT id, 'a' AS value FROM endless;)sql");
  file.close();
  const Result<std::vector<ImportedFile>> files = read_nsys(file.path);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().message, HasSubstr("not one of Nsight Systems"));
}

// Pages of a table that all lead to one page, level by level: more rows than could be read in a year.
TEST(Nsys, ATableThatIsReadAgainAndAgainEnds) {
  NsysFile file("again.sqlite");
  file.run(kStrings);
  file.run("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT)");
  file.run("INSERT INTO NVTX_EVENTS VALUES (1, 2, 'a range')");
  file.close();
  std::string bytes = *read_file(file.path);
  constexpr std::size_t kPage = 4096, kCell = 4080;
  const auto big_endian = [](std::string& page, std::size_t at, int size, std::size_t value) {
    for (int i = size - 1; i >= 0; --i, value >>= 8)
      page[at + static_cast<std::size_t>(i)] = static_cast<char>(value);
  };
  const auto leading_to = [&](std::size_t child) {
    constexpr std::size_t kCells = 600;
    std::string page(kPage, '\0');
    page[0] = 5;  // an inner page of a table
    big_endian(page, 3, 2, kCells);
    big_endian(page, 5, 2, kCell);
    big_endian(page, 8, 4, child);
    for (std::size_t i = 0; i < kCells; ++i) big_endian(page, 12 + 2 * i, 2, kCell);
    big_endian(page, kCell, 4, child);
    return page;
  };
  const std::size_t root = bytes.size() - kPage;
  bytes += bytes.substr(root);
  for (int level = 0; level < 3; ++level) bytes += leading_to(bytes.size() / kPage);
  bytes.replace(root, kPage, leading_to(bytes.size() / kPage));
  big_endian(bytes, 28, 4, bytes.size() / kPage);
  const Result<std::vector<ImportedFile>> files = read_nsys_bytes(bytes);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_LT(files->front().trace.spans.size(), bytes.size());
  EXPECT_THAT(files->front().trace.meta.warnings, ElementsAre(HasSubstr("NVTX_EVENTS is damaged")));
}

TEST(Nsys, MissingTablesAndColumnsAreNormal) {
  NsysFile file("few.sqlite");
  file.run(kStrings);
  file.run(R"sql(CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, shortName INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 2), (40, 30, 0, 7, 2, 2), (50, NULL, 0, 7, 3, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
      correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (60, 90, 0, 7, 4, 0, 42);
    CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);
    INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'fine'), (3, 'events were lost');)sql");
  file.close();
  const Trace trace = import_path(file.path);
  EXPECT_THAT(names(trace), ElementsAre("gemm", "CUDA graph 42"));
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("events were lost"), HasSubstr("2 rows left out"),
                                               HasSubstr("--cuda-graph-trace=node")));
}

TEST(Nsys, OtherDatabasesAreRefusedInOneLine) {
  NsysFile other("other.sqlite");
  other.run("CREATE TABLE people (name TEXT)");
  other.close();
  Result<std::vector<ImportedFile>> files = read_nsys(other.path);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().message, HasSubstr("not one of Nsight Systems"));

  NsysFile empty("empty.sqlite");
  empty.run(kStrings);
  empty.close();
  files = read_nsys(empty.path);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().message, HasSubstr("--trace=cuda,nvtx"));
}

TEST(Nsys, ADatabaseCutOrChangedAnywhereIsReadOrRefused) {
  NsysFile file("whole.sqlite");
  one_process(file);
  for (int i = 0; i < 400; ++i)
    file.run(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + " + std::to_string(i * 10000) + ", end + " +
        std::to_string(i * 10000) + ", deviceId, contextId, streamId, correlationId + 20, globalPid, " +
        "demangledName, shortName, 64, 1, 1, 1, 1, 1, 1, 0, 0, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1");
  file.close();
  std::ifstream in(file.path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const std::string damaged_path = scratch_path("damaged.sqlite").string();
  const auto try_bytes = [&](const std::string& bytes) {
    std::ofstream(damaged_path, std::ios::binary) << bytes;
    Result<std::vector<ImportedFile>> files = read_nsys(damaged_path);
    if (!files.ok()) {
      EXPECT_FALSE(files.error().message.empty());
      return;
    }
    for (const ImportedFile& each : *files) EXPECT_TRUE(each.trace.validate().ok());
  };
  for (std::size_t size = 0; size < whole.size(); size += 1000) try_bytes(whole.substr(0, size));
  const Result<std::vector<ImportedFile>> cut = read_nsys_bytes(whole.substr(0, whole.size() * 3 / 4));
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_TRUE(cut->front().trace.meta.cut_off);
  EXPECT_THAT(cut->front().trace.meta.warnings, testing::Contains(HasSubstr("damaged: some of its rows")));
  for (std::size_t at = 0; at + 64 < whole.size(); at += 997) {
    std::string bytes = whole;
    for (std::size_t i = 0; i < 64; ++i) bytes[at + i] = static_cast<char>(bytes[at + i] ^ 0x5a);
    try_bytes(bytes);
  }
  std::filesystem::remove(damaged_path);
}

TEST(NvtxRange, TextOfPyTorchNamesOperatorsTheirInputsAndSequences) {
  const NvtxRange call = nvtx_range("aten::addmm, seq = 17, op_id = 4, sizes = [[4], [8, 8], []]");
  EXPECT_EQ(call.name, "aten::addmm");
  EXPECT_TRUE(call.is_call);
  EXPECT_EQ(call.sequence, 17);
  EXPECT_EQ(call.inputs, "undefined[4] undefined[8,8] -");
  const NvtxRange plain = nvtx_range("forward, then backward");
  EXPECT_EQ(plain.name, "forward, then backward");
  EXPECT_FALSE(plain.is_call);
  EXPECT_EQ(nvtx_range("a, sizes = [[9999999999999999999999]").inputs, "");
}

}  // namespace
}  // namespace hone::trace::nsys
