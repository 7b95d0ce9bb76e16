// Segments of programs that were killed, and bytes that no recorder wrote: each is read as far as it makes sense, or
// refused.
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/testing/scratch_path.h"
#include "trace/import/segments/reader.h"
#include "trace/import/segments/records.h"
#include "trace/link/link.h"
#include "trace/testing/observed_program.h"

namespace hone::trace::segments {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string whole_segment() {
  ObservedProgram program;
  program.block(Mode::kTimeline, 2).block(Mode::kLeftAlone, 2).block(Mode::kOperators, 1);
  SegmentWriter& writer = program.finish().writer;
  GraphNode node;
  node.node = 3, node.original = 4, node.tid = 101, node.time_ns = program.time_ns();
  Sample sample;
  sample.frames = 2;
  const std::array<uint32_t, 2> frames = {1, 2};
  Counters counters;
  counters.name = 1;
  counters.values = 2;
  const std::array<CounterValue, 2> values = {{{1, 0, 10}, {2, 0, 20.5}}};
  writer.add(node)
      .add(sample, {reinterpret_cast<const char*>(frames.data()), sizeof frames})
      .add(counters, {reinterpret_cast<const char*>(values.data()), sizeof values})
      .add(Memory{})
      .note("a note");
  return writer.bytes();
}

// Reads, links and validates; whether it was read.
bool reads(std::string_view bytes) {
  Result<SegmentFile> segment = read_segment(bytes);
  if (!segment.ok()) {
    EXPECT_FALSE(segment.error().message.empty());
    EXPECT_EQ(segment.error().code, ErrorCode::kInvalidArgument);
    return false;
  }
  Trace& trace = segment->file.trace;
  const Status valid = trace.validate();
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  EXPECT_TRUE(link_trace(trace).ok());
  EXPECT_TRUE(trace.validate().ok());
  return true;
}

Meta meta_of(std::string_view bytes) {
  Result<SegmentFile> segment = read_segment(bytes);
  EXPECT_TRUE(segment.ok()) << (segment.ok() ? "" : segment.error().message);
  return segment.ok() ? segment->file.trace.meta : Meta{};
}

TEST(DamagedSegments, CutAtAnyByteKeepEverythingBeforeTheLastWholeRecord) {
  const std::string whole = whole_segment();
  std::size_t most_spans = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string_view bytes = std::string_view(whole).substr(0, size);
    if (!reads(bytes)) {
      ASSERT_EQ(most_spans, 0u) << size;
      continue;
    }
    const Result<SegmentFile> segment = read_segment(bytes);
    const std::size_t spans = segment->file.trace.spans.size();
    ASSERT_GE(spans, most_spans) << size;
    most_spans = spans;
  }
  EXPECT_GT(most_spans, 20u);
}

TEST(DamagedSegments, ThatEndWithinARecordAreCutOff) {
  const std::string whole = whole_segment();
  EXPECT_FALSE(meta_of(whole).cut_off);
  EXPECT_TRUE(meta_of(std::string_view(whole).substr(0, whole.size() - 3)).cut_off);
}

// A hole: the file was made longer than what was written.
TEST(DamagedSegments, EndWhereZerosBegin) {
  const std::string whole = whole_segment();
  const Meta meta = meta_of(whole + std::string(4096, '\0'));
  EXPECT_TRUE(meta.cut_off);
  EXPECT_THAT(meta.warnings, testing::Not(Contains(HasSubstr("damaged"))));
  for (std::size_t from = 0; from < whole.size(); from += 7) {
    std::string zeros = whole;
    std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(from), zeros.end(), '\0');
    reads(zeros);
  }
}

TEST(DamagedSegments, WithRecordsOfUnknownKindsAreReadWithoutThem) {
  SegmentWriter writer;
  const Head unknown{static_cast<Kind>(999), 0, 24};
  writer.raw({reinterpret_cast<const char*>(&unknown), sizeof unknown}).raw(std::string(16, 'x'));
  writer.add(writer.kernel("gemm", 10, 10, 1));
  const Meta meta = meta_of(writer.bytes());
  EXPECT_THAT(meta.warnings, IsEmpty());
  EXPECT_FALSE(meta.cut_off);
}

TEST(DamagedSegments, OfALaterVersionAreReadWithoutWhatItAppended) {
  SegmentWriter writer;
  writer.header().version = kVersion + 1;
  Kernel kernel = writer.kernel("gemm", 10, 10, 1);
  kernel.head = {Kind::kKernel, 0, sizeof(Kernel) + 8};
  writer.raw({reinterpret_cast<const char*>(&kernel), sizeof kernel}).raw("appended");
  writer.add(writer.kernel("relu", 30, 10, 2));
  const Result<SegmentFile> segment = read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->file.trace.spans.size(), 2u);
  EXPECT_THAT(segment->file.trace.meta.warnings, IsEmpty());
}

TEST(DamagedSegments, WithRecordsOfWrongSizesSaySo) {
  SegmentWriter small;
  const Head short_kernel{Kind::kKernel, 0, 16};
  small.raw({reinterpret_cast<const char*>(&short_kernel), sizeof short_kernel}).raw(std::string(8, 'x'));
  small.add(small.kernel("gemm", 10, 10, 1));
  const Meta meta = meta_of(small.bytes());
  EXPECT_EQ(meta.lost, 1u);
  EXPECT_THAT(meta.warnings, Contains(HasSubstr("shorter than they can be")));
  for (const uint32_t bytes : {0u, 4u, 7u, 12u, 0xfffffff8u, 0xffffffffu}) {
    SegmentWriter writer;
    writer.add(writer.kernel("gemm", 10, 10, 1));
    const Head head{Kind::kKernel, 0, bytes};
    writer.raw({reinterpret_cast<const char*>(&head), sizeof head}).raw(std::string(64, 'x'));
    EXPECT_TRUE(meta_of(writer.bytes()).cut_off) << bytes;
    EXPECT_TRUE(reads(writer.bytes()));
  }
}

TEST(DamagedSegments, WithNamesThatWereNotWrittenKeepTheirSpans) {
  SegmentWriter writer;
  Kernel kernel = writer.kernel("gemm", 10, 10, 1);
  kernel.name = 77;
  Name name;
  name.id = 5;
  name.length = 1'000'000;  // of which nothing follows
  writer.add(kernel).add(name);
  const Result<SegmentFile> segment = read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->file.trace.spans.size(), 1u);
  EXPECT_THAT(segment->file.trace.meta.warnings, Contains(HasSubstr("names that were not written")));
}

TEST(DamagedSegments, WithTimesThatCannotBeAreReadWithoutThoseRecords) {
  SegmentWriter writer;
  writer.add(writer.kernel("gemm", 10, 10, 1));
  for (const auto& [start, end] : {std::pair{20, 10}, {-5, 10}, {0, -1}}) {
    Kernel kernel = writer.kernel("gemm", start, 0, 2);
    kernel.end_ns = end;
    writer.add(kernel);
  }
  Kernel endless = writer.kernel("gemm", 30, 0, 3);
  endless.end_ns = INT64_MAX;
  writer.add(endless).mark(MarkKind::kUser, "mark", INT64_MIN).mode(Mode::kTimeline, 1, INT64_MAX);
  writer.mode(Mode::kTimeline, 1, 500).mode(Mode::kLeftAlone, 2, 100).mode(Mode::kTimeline, 3, 50);
  const Result<SegmentFile> segment = read_segment(writer.bytes());
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->file.trace.spans.size(), 1u);
  EXPECT_THAT(segment->file.trace.meta.warnings, Contains(HasSubstr("6 records left out")));
  EXPECT_TRUE(reads(writer.bytes()));
}

TEST(DamagedSegments, WhateverTheirBytesAreReadOrRefused) {
  const std::string whole = whole_segment();
  std::mt19937 random(13);
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 1 + round % 6; ++change) {
      const std::size_t at = random() % bytes.size();
      bytes[at] = static_cast<char>(round % 2 == 0 ? random() : random() % 4 == 0 ? 0xff : 0);
    }
    reads(bytes);
  }
}

TEST(DamagedSegments, WithClocksThatCannotBeHaveNoEpoch) {
  for (const int64_t monotonic : {INT64_MIN, INT64_MAX, int64_t{-8'863'084'066'664'136'128}}) {
    SegmentWriter writer;
    writer.header().monotonic_ns = monotonic;
    writer.add(writer.kernel("gemm", 10, 10, 1));
    const Result<SegmentFile> segment = read_segment(writer.bytes());
    ASSERT_TRUE(segment.ok());
    EXPECT_FALSE(segment->file.has_epoch);
  }
}

TEST(DamagedSegments, ThatAreNoneAreRefused) {
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads("HONESEG1"));
  EXPECT_FALSE(reads(std::string(4096, '\0')));
  std::string header = whole_segment();
  header[12] = 8;  // header_bytes
  EXPECT_FALSE(reads(header));
}

TEST(SegmentRecords, SayHowFarTheyAreWhole) {
  SegmentWriter writer;
  writer.add(Memory{});
  const std::string bytes = writer.bytes() + std::string("\x0b\0\0\0\x40\0\0\0 part of", 16);
  Result<Records> records = Records::open(bytes);
  ASSERT_TRUE(records.ok());
  while (records->next()) {
  }
  EXPECT_EQ(records->end(), SegmentEnd::kInTheMiddle);
  EXPECT_EQ(records->whole_bytes(), writer.bytes().size());
}

// Files that end in a hole larger than memory, and names that are pipes.
TEST(Damage, OfAFolderIsPassedOver) {
  namespace fs = std::filesystem;
  const fs::path folder = scratch_path("damaged") / kFolder;
  fs::create_directories(folder);
  const std::string whole = whole_segment();
  std::ofstream(folder / "100-1.seg", std::ios::binary) << whole;
  for (const char* name : {"100-1.seg", "empty.seg", kHostFile}) {
    std::ofstream(folder / name, std::ios::binary | std::ios::app).flush();
    fs::resize_file(folder / name, uint64_t{20} << 30);
  }
  ASSERT_EQ(::mkfifo((folder / "pipe.seg").c_str(), 0600), 0);
  const auto read = read_segments(folder.parent_path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->size(), 1u);
  fs::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace hone::trace::segments
