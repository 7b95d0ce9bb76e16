// Records and messages, byte by byte as the formats say.
#include "lab/training/event_file.h"

#include <cstring>

#include <gtest/gtest.h>

#include "core/crc32c.h"
#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::lab {
namespace {

TEST(EventFile, FramesRecordsAsTensorFlowDoes) {
  // The record of "abc": length, its masked checksum, data, their masked checksum.
  const std::string record = framed_record("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  const auto masked = [](std::string_view bytes) {
    const uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
    return static_cast<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
  };
  uint32_t of_length = 0, of_data = 0;
  std::memcpy(&of_length, record.data() + 8, 4);
  std::memcpy(&of_data, record.data() + 15, 4);
  EXPECT_EQ(of_length, masked(record.substr(0, 8)));
  EXPECT_EQ(of_data, masked("abc"));
}

TEST(EventFile, WritesScalarsAsEventMessages) {
  const std::pair<std::string, float> scalars[] = {{"train/loss", 1.5F}};
  const std::string event = scalars_event(2.0, 300, scalars);
  // Event: wall_time (1, double) = 2; step (2, varint) = 300; summary (5) { value (1) { tag (1), simple_value (2) } }.
  std::string wanted("\x09\0\0\0\0\0\0\0\x40", 9);
  wanted += std::string("\x10\xac\x02", 3);
  wanted += std::string("\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\0\0\xc0\x3f", 21);
  EXPECT_EQ(event, wanted);
}

TEST(EventFile, BeginsWithItsVersionAndAppends) {
  const std::filesystem::path folder = scratch_path("hone-events-test");
  ASSERT_TRUE(make_folder(folder).ok());
  {
    auto file = EventFile::create(folder);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const std::pair<std::string, float> scalars[] = {{"a", 1.0F}};
    EXPECT_TRUE(file->add(1, scalars).ok());
    EXPECT_TRUE(EventFile::create(folder).ok()) << "a second one in the same second";
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    EXPECT_NE(read_file(entry.path())->find("brain.Event:2"), std::string::npos);
  }
  EXPECT_EQ(files, 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone::lab
