#include "report/text.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "report/markup.h"
#include "report/words.h"

namespace hone::report {
namespace {

TEST(CleanUtf8, ReplacesWhatIsNoTextAndKeepsTheRest) {
  EXPECT_EQ(clean_utf8("Größe µs → 3×3"), "Größe µs → 3×3");
  EXPECT_EQ(clean_utf8("a\nb\tc"), "a b c");
  EXPECT_EQ(clean_utf8("\x1b[31m"), "\xef\xbf\xbd[31m");
  EXPECT_EQ(clean_utf8("\xff\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // never valid; overlong '/'
  EXPECT_EQ(clean_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(clean_utf8("cut \xe2\x82"), "cut \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(CleanUtf8, OfAnyBytesStaysCleanAndIsStable) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) bytes += static_cast<char>(random());
    std::string once = clean_utf8(bytes);
    EXPECT_EQ(clean_utf8(once), once);
    EXPECT_LE(columns(shortened(once, 5)), 5u);
  }
}

TEST(Columns, AreCharacters) {
  EXPECT_EQ(columns("3×3 µs"), 6u);
  EXPECT_EQ(left("µs", 4), "µs  ");
  EXPECT_EQ(right("µs", 4), "  µs");
  EXPECT_EQ(shortened("layer1.conv2", 7), "lay…nv2");
  EXPECT_EQ(shortened("short", 7), "short");
}

TEST(Bar, FillsInEighthsAndNeverHidesASmallPart) {
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(1, 2), "██");
  EXPECT_EQ(bar(0.0001, 3), "▏  ");
  EXPECT_EQ(bar(0, 2), "  ");
  EXPECT_EQ(columns(bar(7, 5)), 5u);
}

TEST(BindUnits, KeepsANumberWithItsUnit) {
  EXPECT_EQ(bind_units("20.3 % of 12 ms at 3 µs"), "20.3\u00a0% of 12\u00a0ms at 3\u00a0µs");
  EXPECT_EQ(bind_units("2 threads"), "2 threads");
  EXPECT_EQ(bind_units("fold: 12 ×, all"), "fold: 12\u00a0×, all");
}

TEST(CleanUtf8, ShowsWhatReordersOrHidesItsNeighbours) {
  EXPECT_EQ(clean_utf8("a\xe2\x80\xae"
                       "b"),
            "a<U+202E>b");  // right-to-left override
  EXPECT_EQ(clean_utf8("\xe2\x81\xa6\xe2\x80\x8b"), "<U+2066><U+200B>");
  EXPECT_EQ(clean_utf8("3×3 → µ…"), "3×3 → µ…");
}

TEST(Titled, KeepsTheNameAndClipsItsInputs) {
  EXPECT_EQ(titled("mm", "4096×768 · 768×16384", 60), "mm 4096×768 · 768×16384");
  EXPECT_EQ(titled("native_batch_norm", "32×128×112×112 bf16", 28), "native_batch_norm 32×128×11…");
  EXPECT_EQ(titled("a_name_that_fits", "inputs", 18), "a_name_that_fits");
  EXPECT_EQ(clipped("gradient of 3×3", 12), "gradient of…");
}

TEST(GainText, LeavesOutWhatWouldReadAsNothing) {
  analyze::LedgerRow row;
  EXPECT_EQ(gain_text(row, 20), "");
  row.predicted_gain_ms = 0.864;
  EXPECT_EQ(gain_text(row, 20), "0.86 ms");
  row.predicted_gain_ms = 0.003;
  EXPECT_EQ(gain_text(row, 20), "");
}

TEST(Markup, EscapesTextAndAttributes) {
  EXPECT_EQ(Markup::text("<a href=\"x\">&'").bytes(), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(tag("p", {{"title", "\"><script>"}, {"class", ""}}, "x").bytes(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">x</p>");
}

TEST(Number, HasAtMostTwoDecimalsAndNoTrailingZeros) {
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(0.5), "0.5");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(1.239), "1.24");
}

}  // namespace
}  // namespace hone::report
