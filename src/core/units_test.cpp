// Numbers as people read them.
#include "core/units.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Units, TimesChooseTheirUnit) {
  EXPECT_EQ(format_ms(12.34), "12.3 ms");
  EXPECT_EQ(format_ms(0.0456), "45.6 µs");
  EXPECT_EQ(format_ms(2104), "2.10 s");
  EXPECT_EQ(format_ms(1), "1.00 ms");
  EXPECT_EQ(format_ms(250e-6), "250 ns");
  EXPECT_EQ(format_ms(0), "0 ms");
  EXPECT_EQ(format_ms(-1.5), "-1.50 ms");
  EXPECT_EQ(format_ms(120000), "120 s");
}

TEST(Units, RoundingCarriesIntoTheNextUnit) {
  EXPECT_EQ(format_ms(0.9996), "1.00 ms");
  EXPECT_EQ(format_ms(9.996), "10.0 ms");
  EXPECT_EQ(format_ms(99.96), "100 ms");
  EXPECT_EQ(format_bytes(1023.9), "1.00 KiB");
}

TEST(Units, BytesAreBinaryAndRatesDecimal) {
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024), "1.50 MiB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_byte_rate(35.1e9), "35.1 GB/s");
  EXPECT_EQ(format_flops(3.2e9), "3.20 GFLOP");
  EXPECT_EQ(format_flop_rate(2.5e11), "250 GFLOP/s");
}

TEST(Units, CountsAndShares) {
  EXPECT_EQ(format_count(25.6e6), "25.6 M");
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_percent(0.123), "12.3 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(1e-6), "<0.1 %");
  EXPECT_EQ(format_percent(-1e-9), "0 %");
}

TEST(Units, IntensitiesKeepThreeDigits) {
  EXPECT_EQ(format_intensity(14), "14.0 FLOP/byte");
  EXPECT_EQ(format_intensity(191.2), "191 FLOP/byte");
  EXPECT_EQ(format_intensity(0.25), "0.25 FLOP/byte");
  EXPECT_EQ(format_intensity(0.0031), "0.0031 FLOP/byte");
}

TEST(Units, WhatIsNoNumberSaysSo) {
  EXPECT_EQ(format_intensity(std::numeric_limits<double>::quiet_NaN()), "n/a");
  EXPECT_EQ(format_ms(std::numeric_limits<double>::quiet_NaN()), "n/a");
  EXPECT_EQ(format_count(std::numeric_limits<double>::infinity()), "n/a");
  EXPECT_EQ(format_percent(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(Units, ReadLongTimesAndFactorsLikePeople) {
  EXPECT_EQ(format_ms(3600e3), "60.0 min");
  EXPECT_EQ(format_ms(90e3), "90.0 s");
  EXPECT_EQ(format_ms(3 * 3600e3), "3.0 h");
  EXPECT_EQ(format_factor(1.984), "1.98×");
  EXPECT_EQ(format_factor(2880000), "2.88 M×");
  EXPECT_EQ(format_flops(1e45), "1.0e+45 FLOP");  // past all units: no row of digits
}

TEST(Units, CountsInSingularAndPlural) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "gap"), "0 gaps");
  EXPECT_EQ(counted(2.5, "call"), "2.5 calls");
  EXPECT_EQ(counted(1204, "copy", "copies"), "1204 copies");
}

TEST(FixedMs, LinesUpAndNeverWritesSomethingAsNothing) {
  EXPECT_EQ(fixed_ms(7.376, 49.6), "7.38 ms");
  EXPECT_EQ(fixed_ms(0, 49.6), "0.00 ms");
  EXPECT_EQ(fixed_ms(0.0002, 49.6), "<0.01 ms");
  EXPECT_EQ(fixed_ms(-0.0002, 49.6), "0.00 ms");  // a change
  EXPECT_EQ(fixed_ms(-3.31, 49.6), "-3.31 ms");
  EXPECT_EQ(fixed_ms(0.0312, 0.2), "31.2 µs");
  EXPECT_EQ(fixed_ms(12.4, 2100), "12 ms");
  EXPECT_EQ(fixed_number(0.3, 2100), "<1");
  EXPECT_EQ(fixed_ms(std::nan(""), 1), "n/a");
}

TEST(FixedMs, CountsInSecondsWhereTheStepTakesMany) {
  EXPECT_EQ(fixed_ms(3599999, 3600001), "3600.00 s");
  EXPECT_EQ(fixed_ms(1.2, 3600001), "<0.01 s");
  EXPECT_EQ(fixed_ms(0, 3600001), "0.00 s");
}

TEST(FixedRange, SaysItsUnitOnceAndAPointOnce) {
  EXPECT_EQ(fixed_range(21.2, 21.238, 21.22), "21.20 to 21.24 ms");
  EXPECT_EQ(fixed_range(21.219, 21.221, 21.22), "21.22 ms");
}

}  // namespace
}  // namespace hone
