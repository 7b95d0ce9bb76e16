// Damaged files: whatever was cut off or changed, the rest is read, or an error says why not.
#include <chrono>
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "trace/import/kineto/reader.h"

namespace hone::trace::kineto {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string recorded(const char* name) {
  const auto path = source_folder() / "tests/traces/recorded" / name;
  auto source = open_bytes(path);
  EXPECT_TRUE(source.ok());
  std::string text(std::size_t{64} << 20, '\0');
  text.resize((*source)->read(text).value());
  return text;
}

Result<ImportedFile> read_damaged(std::string_view text) {
  const auto source = bytes_in_memory(text);
  ReadOptions options;
  options.chunk_bytes = std::size_t{16} << 10;
  return read_kineto(*source, options);
}

// The number of events that `text` holds whole, by another rule than the reader's: PyTorch ends each with
// "\n  }" on a line of its own.
std::size_t whole_events(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("\"ph\": \"X\""); at != std::string_view::npos;
       at = text.find("\"ph\": \"X\"", at + 1)) {
    const std::size_t end = text.find("\n  }", at);
    if (end == std::string_view::npos) break;
    if (text.substr(at, 60).find("\"cat\": \"Trace\"") == std::string_view::npos) ++count;
  }
  return count;
}

TEST(DamagedTrace, CutAtEveryKilobyteItGivesWhatCameBefore) {
  const std::string whole = recorded("healthy_cuda_graph.fault.json.gz");
  ASSERT_GT(whole.size(), 50'000u);
  for (std::size_t size = 0; size < whole.size(); size += 1000) {
    SCOPED_TRACE(size);
    const std::string_view part = std::string_view(whole).substr(0, size);
    const std::size_t events = whole_events(part);
    Result<ImportedFile> file = read_damaged(part);
    ASSERT_EQ(file.ok(), events > 0);
    if (!file.ok()) continue;
    EXPECT_EQ(file->trace.spans.size(), events);
    EXPECT_TRUE(file->trace.validate().ok());
    EXPECT_THAT(file->trace.meta.warnings, testing::Contains(HasSubstr("the file ends")));
  }
}

TEST(DamagedTrace, CutAtAnyByteOfAnEventItGivesWhatCameBefore) {
  const std::string whole = recorded("healthy_cuda_graph.fault.json.gz");
  for (std::size_t size = 30'000; size < 31'500; ++size) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    Result<ImportedFile> file = read_damaged(part);
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(file->trace.spans.size(), whole_events(part)) << size;
  }
}

// Overwrites, removes, repeats or inserts up to 20 bytes somewhere.
std::string mutated(std::string text, std::mt19937& random) {
  const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  constexpr std::string_view kOdd = "\"\\{}[],:\0\n\x01\xff-e.N09 ";
  for (std::size_t i = 0, edits = 1 + pick(4); i < edits; ++i) {
    const std::size_t at = pick(text.size());
    const std::size_t length = 1 + pick(20);
    switch (pick(5)) {
      case 0:
        text[at] = kOdd[pick(kOdd.size())];
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size()), length));
        break;
      default:
        text.insert(at, length, kOdd[pick(kOdd.size())]);
        break;
    }
  }
  return text;
}

TEST(DamagedTrace, TwoThousandMutationsLoseNoMoreThanTheyTouch) {
  const std::string whole = recorded("healthy_cuda_graph.fault.json.gz");
  const std::size_t events = read_damaged(whole)->trace.spans.size();
  std::mt19937 random(7);
  std::size_t unread = 0;
  for (int i = 0; i < 2000; ++i) {
    Result<ImportedFile> file = read_damaged(mutated(whole, random));
    if (!file.ok()) {  // the edit hit "traceEvents"
      ++unread;
      continue;
    }
    ASSERT_TRUE(file->trace.validate().ok());
    ASSERT_GE(file->trace.spans.size() + 12, events) << i;
    ASSERT_LE(file->trace.spans.size(), events + 4) << i;
  }
  EXPECT_LE(unread, 10u);
}

TEST(DamagedTrace, OtherWritersLayoutsGiveTheSameTrace) {
  const std::string whole = recorded("healthy_ddp.fault.rank0.json.gz");
  const auto json = nlohmann::json::parse(whole);  // which sorts members by name
  Result<ImportedFile> expected = read_damaged(whole);
  ASSERT_TRUE(expected.ok());
  EXPECT_THAT(expected->trace.meta.warnings, IsEmpty());
  for (const std::string& text : {json.dump(), json.dump(1), json.dump(4)}) {
    Result<ImportedFile> file = read_damaged(text);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->trace.spans.start_ns, expected->trace.spans.start_ns);
    EXPECT_EQ(file->trace.spans.duration_ns, expected->trace.spans.duration_ns);
    EXPECT_EQ(file->trace.spans.name, expected->trace.spans.name);
    EXPECT_EQ(file->trace.calls, expected->trace.calls);
    EXPECT_EQ(file->trace.launches, expected->trace.launches);
    EXPECT_EQ(file->trace.collectives, expected->trace.collectives);
    EXPECT_THAT(file->trace.meta.warnings, IsEmpty());
  }
}

TEST(DamagedTrace, EventsInAnyOrderGiveTheSameTrace) {
  auto json = nlohmann::json::parse(recorded("healthy_cuda_graph.fault.json.gz"));
  Result<ImportedFile> expected = read_damaged(json.dump());
  std::mt19937 random(3);
  std::shuffle(json["traceEvents"].begin(), json["traceEvents"].end(), random);
  Result<ImportedFile> file = read_damaged(json.dump());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->trace.spans.start_ns, expected->trace.spans.start_ns);
  EXPECT_EQ(file->trace.spans.duration_ns, expected->trace.spans.duration_ns);
  EXPECT_EQ(file->trace.launches.size(), expected->trace.launches.size());
}

TEST(DamagedTrace, CompressedDataThatEndEarlyGiveWhatCameBefore) {
  Result<std::string> packed =
      read_file(source_folder() / "tests/traces/recorded/copy_pageable.fault.json.gz");
  ASSERT_TRUE(packed.ok());
  std::size_t before = 0;
  for (std::size_t size = 10'000; size < packed->size(); size += 5'000) {
    const auto source = bytes_in_memory(std::string_view(*packed).substr(0, size));
    Result<ImportedFile> file = read_kineto(*source, {});
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_GE(file->trace.spans.size(), before);
    before = file->trace.spans.size();
    EXPECT_THAT(file->trace.meta.warnings, testing::Contains(HasSubstr("gzip data end early")));
  }
  EXPECT_GT(before, 1000u);
  std::string damaged = *packed;
  for (std::size_t i = 30'000; i < 30'050; ++i) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
  const auto source = bytes_in_memory(damaged);
  Result<ImportedFile> file = read_kineto(*source, {});
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->trace.meta.warnings, testing::Contains(HasSubstr("damaged")));
}

// Events that overlap on a stream (programmatic dependent launch) and kernels whose launch is missing are
// kept as they are: what they mean is not the reader's to say.
TEST(DamagedTrace, ZerosAfterAGoodBeginningCostLittle) {
  std::string text = recorded("healthy_cuda_graph.fault.json.gz").substr(0, 40'000);
  const std::size_t events = read_damaged(text)->trace.spans.size();
  text.append(std::size_t{40} << 20, '\0');
  const auto start = std::chrono::steady_clock::now();
  Result<ImportedFile> file = read_damaged(text);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->trace.spans.size(), events);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace hone::trace::kineto
