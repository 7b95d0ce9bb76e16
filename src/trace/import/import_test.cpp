#include "trace/import/import.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::trace {
namespace {

namespace fs = std::filesystem;

fs::path recorded(const std::string& name) {
  return fs::path(HONE_SOURCE_DIR) / "tests/traces/recorded" / (name + ".json.gz");
}

Trace import_files(std::vector<fs::path> paths) {
  Result<Trace> trace = import_trace(paths);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return trace.ok() ? std::move(*trace) : Trace{};
}

std::map<Category, int> counts(const Trace& trace) {
  std::map<Category, int> result;
  for (const Category category : trace.spans.category) ++result[category];
  return result;
}

void expect_sound(const Trace& trace) {
  const Status valid = trace.validate();
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  EXPECT_TRUE(std::is_sorted(trace.spans.start_ns.begin(), trace.spans.start_ns.end()) ||
              trace.meta.ranks.size() > 1);
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span span = trace.spans.row(i);
    const Track& track = trace.tracks[span.track.index];
    const bool device = span.category == Category::kKernel || span.category == Category::kCommunication;
    const bool host = span.category == Category::kOperator || span.category == Category::kRuntime;
    ASSERT_FALSE(device && track.kind != TrackKind::kStream);
    ASSERT_FALSE(host && track.kind != TrackKind::kThread);
  }
}

TEST(Import, EveryRecordedTraceIsReadWithoutAWarning) {
  for (const auto& entry : fs::directory_iterator(fs::path(HONE_SOURCE_DIR) / "tests/traces/recorded")) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().string());
    const Trace trace = import_files({entry.path()});
    expect_sound(trace);
    EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
    EXPECT_GT(counts(trace)[Category::kKernel], 0);
    EXPECT_EQ(trace.meta.devices.at(0).name, "NVIDIA H200");
  }
}

TEST(Import, EveryEventThatPythonCountsBecomesASpan) {
  const Trace trace = import_files({recorded("allocator_emptied.fault")});
  auto count = counts(trace);
  EXPECT_EQ(count[Category::kOperator], 5289);
  EXPECT_EQ(count[Category::kKernel], 756);
  EXPECT_EQ(count[Category::kMemset], 75);
  EXPECT_EQ(count[Category::kMemcpy], 3);
  EXPECT_EQ(count[Category::kRegion], 15);
  EXPECT_EQ(count[Category::kRuntime] + count[Category::kSynchronization] + count[Category::kAllocation],
            817 + 201);
  EXPECT_GT(count[Category::kAllocation], 0);
  EXPECT_GT(count[Category::kSynchronization], 0);
  EXPECT_EQ(trace.calls.size(), 5289u);
  EXPECT_EQ(trace.launches.size(), 756u);
  EXPECT_EQ(trace.copies.size(), 78u);
}

TEST(Import, TwoRanksBecomeOneTraceWithIdsThatDoNotMeet) {
  const Trace trace =
      import_files({recorded("healthy_ddp.fault.rank0"), recorded("healthy_ddp.fault.rank1")});
  expect_sound(trace);
  ASSERT_EQ(trace.meta.ranks.size(), 2u);
  EXPECT_EQ(trace.meta.ranks[1].rank, 1);
  EXPECT_EQ(trace.meta.ranks[1].world_size, 2);
  EXPECT_EQ(trace.meta.ranks[1].backend, "nccl");
  EXPECT_EQ(trace.meta.ranks[1].source, "healthy_ddp.fault.rank1.json.gz");
  EXPECT_THAT(trace.meta.ranks[1].groups.at(0).ranks, testing::ElementsAre(0, 1));
  EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
  std::map<uint64_t, int> rank_of;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span span = trace.spans.row(i);
    if (span.correlation == 0) continue;
    const int rank = trace.tracks[span.track.index].rank;
    EXPECT_EQ(rank_of.try_emplace(span.correlation, rank).first->second, rank);
  }
  int described = 0;  // what was launched before the recording began carries its kernel's name only
  for (const Collective& collective : trace.collectives) {
    EXPECT_EQ(trace.strings.text(collective.name), "allreduce");
    if (collective.group_size == 0) continue;
    ++described;
    EXPECT_EQ(collective.group_size, 2u);
    EXPECT_EQ(collective.dtype, DType::kF32);
    EXPECT_GT(collective.elements_in, 0);
  }
  EXPECT_EQ(described, 42);
}

// More real traces, where somebody put them.
TEST(Import, SharedTracesAreReadWithoutAWarning) {
  const char* folder = std::getenv("HONE_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "HONE_TRACES names no folder of traces";
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().string());
    const Trace trace = import_files({entry.path()});
    expect_sound(trace);
    EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
  }
}

}  // namespace
}  // namespace hone::trace
