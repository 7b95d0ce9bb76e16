#include "observe/system/text_fields.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace hone::observe::system {
namespace {

TEST(Fields, GivesWordsAndNumbersAndThenNothing) {
  Fields fields("  cpu0 12\t-3 x7 99999999999999999999\n");
  EXPECT_EQ(fields.word(), "cpu0");
  EXPECT_EQ(fields.number(), 12);
  EXPECT_EQ(fields.number(), -3);
  EXPECT_EQ(fields.number(), std::nullopt);  // no number
  EXPECT_EQ(fields.number(), std::nullopt);  // too large
  EXPECT_EQ(fields.number(), std::nullopt);  // the end
  EXPECT_EQ(fields.word(), "");
}

TEST(Fields, GivesLinesWithAndWithoutAnEndToTheLast) {
  Fields lines("a b\n\nc");
  std::string_view line;
  std::string all;
  while (lines.line(line)) all += "[" + std::string(line) + "]";
  EXPECT_EQ(all, "[a b][][c]");
}

TEST(Rate, IsUnknownRatherThanNoughtOrNegative) {
  EXPECT_EQ(rate(100, 300, 2), 100);
  EXPECT_EQ(rate(100, 300, 2, 0.5), 50);
  EXPECT_EQ(rate(300, 100, 2), std::nullopt);  // reset or wrapped
  EXPECT_EQ(rate(std::nullopt, 100, 2), std::nullopt);
  EXPECT_EQ(rate(100, std::nullopt, 2), std::nullopt);
  EXPECT_EQ(rate(100, 300, 0), std::nullopt);  // the first look
}

TEST(SmallFiles, SaysWhyAFileCannotBeRead) {
  SmallFiles files;
  EXPECT_FALSE(files.read("/nowhere/stat").has_value());
  EXPECT_EQ(files.error(), ENOENT);
  EXPECT_TRUE(files.read("/proc/self/stat").has_value());
  EXPECT_EQ(files.error(), 0);
}

}  // namespace
}  // namespace hone::observe::system
