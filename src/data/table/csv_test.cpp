#include "data/table/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string table_error(std::string_view text) {
  const auto table = parse_table(text);
  return table.ok() ? "parsed" : table.error().message;
}

TEST(Csv, ReadsRowsWithTheirLines) {
  const auto table = parse_table("file,label\na.png,3\n\nb.png,4");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(table->heading, ElementsAre("file", "label"));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_THAT(table->rows[1].cells, ElementsAre("b.png", "4"));
  EXPECT_EQ(table->rows[1].line, 4);
  EXPECT_EQ(*table->column("label"), 1u);
}

TEST(Csv, QuotesHoldSeparatorsLineEndsAndQuotes) {
  const auto table = parse_table("a,b\n\"x,\"\"y\"\"\nz\",2\n1,\n");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(table->rows[0].cells, ElementsAre("x,\"y\"\nz", "2"));
  EXPECT_THAT(table->rows[1].cells, ElementsAre("1", ""));
  EXPECT_EQ(table->rows[1].line, 4);
}

TEST(Csv, SpreadsheetsOfOtherCountriesAndSystems) {
  const auto table = parse_table(
      "\xef\xbb\xbf"
      "a;b\r\n1,5;2\r\n");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(table->heading, ElementsAre("a", "b"));
  EXPECT_THAT(table->rows[0].cells, ElementsAre("1,5", "2"));
  EXPECT_THAT(parse_table("a\tb\n1\t2")->rows[0].cells, ElementsAre("1", "2"));
}

TEST(Csv, WhatIsNoTableSaysWhere) {
  EXPECT_THAT(table_error("a,b\n1,2,3\n"), HasSubstr("line 2: 3 cells, but the heading has 2"));
  EXPECT_THAT(table_error("a,b\n\"x,2\n"), HasSubstr("line 2: a quote is opened"));
  EXPECT_THAT(table_error("a,b\n\"x\"y,2\n"), HasSubstr("line 2: something follows"));
  EXPECT_THAT(table_error(""), HasSubstr("empty"));
  EXPECT_THAT(table_error(std::string_view("a\0b", 3)), HasSubstr("no text"));
  EXPECT_THAT(parse_table("a,b")->column("label").error().message, HasSubstr("its columns are a, b"));
}

}  // namespace
}  // namespace hone::data
