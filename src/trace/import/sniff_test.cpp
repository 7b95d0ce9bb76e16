#include "trace/import/sniff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::trace {
namespace {

using namespace std::string_view_literals;

TEST(Sniff, FormatsAreToldByContent) {
  EXPECT_EQ(sniff("{\"schemaVersion\": 1").format, TraceFormat::kJson);
  EXPECT_EQ(sniff("\xef\xbb\xbf\n [{").format, TraceFormat::kJson);
  EXPECT_EQ(sniff("SQLite format 3\0\x10"sv).format, TraceFormat::kSqlite);
  EXPECT_EQ(sniff("==PROF== x\n\"ID\",\"Process ID\",\"Kernel Name\"\n").format, TraceFormat::kNcuCsv);
  EXPECT_EQ(sniff("\x0a\x10\x08\x01\x50\x02\x00"sv).format, TraceFormat::kPerfetto);
}

TEST(Sniff, OthersAreNamedForTheMessage) {
  EXPECT_THAT(sniff("").looks_like, testing::HasSubstr("empty"));
  EXPECT_THAT(sniff(std::string(4096, '\0')).looks_like, testing::HasSubstr("zeros"));
  EXPECT_THAT(sniff("PK\x03\x04").looks_like, testing::HasSubstr("zip"));
  EXPECT_THAT(sniff("\x80\x02}q\x01").looks_like, testing::HasSubstr("pickle"));
  EXPECT_THAT(sniff("version https://git-lfs.github.com/spec/v1\n").looks_like,
              testing::HasSubstr("git lfs pull"));
  EXPECT_THAT(sniff("\xff\xfe{\0\r\0"sv).looks_like, testing::HasSubstr("UTF-16"));
  EXPECT_THAT(sniff("\x1f\x8b\x08\x00").looks_like, testing::HasSubstr("compressed twice"));
  EXPECT_THAT(sniff("hello\n").looks_like, testing::HasSubstr("a text"));
  EXPECT_THAT(sniff("\x00\x01\x02\x03"sv).looks_like, testing::HasSubstr("data of another kind"));
}

}  // namespace
}  // namespace hone::trace
