#include "observe/system/memory_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hone::observe::system {
namespace {

TEST(Memory, SaysWhatThereIsAndWhatProgramsCanStillGet) {
  MemoryCounters counters;
  parse_meminfo(
      "MemTotal:       24684092 kB\nMemFree:        17309164 kB\nMemAvailable:   23957124 kB\n"
      "SwapCached:            8 kB\nSwapTotal:       2097148 kB\nSwapFree:        1048572 kB\n",
      counters);
  trace::live::HostUse host;
  fill_memory_use({}, counters, 1, host);
  EXPECT_EQ(host.memory_total_bytes, 24684092 * 1024.0);
  EXPECT_EQ(host.memory_available_bytes, 23957124 * 1024.0);
  EXPECT_EQ(host.swap_used_bytes, (2097148 - 1048572) * 1024.0);
  EXPECT_EQ(host.swapped_in_per_s, std::nullopt);
}

TEST(Memory, WhatAnOldKernelDoesNotSayIsNotKnown) {
  MemoryCounters counters;
  parse_meminfo("MemTotal: 1024 kB\nMemFree: 512 kB\n", counters);
  trace::live::HostUse host;
  fill_memory_use({}, counters, 1, host);
  EXPECT_EQ(host.memory_available_bytes, std::nullopt);
  EXPECT_EQ(host.swap_used_bytes, std::nullopt);
}

TEST(Memory, SwappingIsARateOfPages) {
  MemoryCounters before, after;
  parse_vmstat("nr_free_pages 5\npswpin 100\npswpout 200\n", before);
  parse_vmstat("pswpin 150\npswpout 200\n", after);
  trace::live::HostUse host;
  fill_memory_use(before, after, 2, host);
  EXPECT_EQ(host.swapped_in_per_s, 25.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(host.swapped_out_per_s, 0);
}

TEST(Pressure, IsTheShareOfTimeInWhichTasksStoodStill) {
  const PressureCounters before = parse_pressure(
      "some avg10=5.89 avg60=11.75 avg300=8.79 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
      "total=0\n");
  const PressureCounters after = parse_pressure("some avg10=1 avg60=1 avg300=1 total=1500000\n");
  const trace::live::Pressure pressure = pressure_between(before, after, 2);
  EXPECT_DOUBLE_EQ(*pressure.some_share, 0.25);
  EXPECT_EQ(pressure.full_share, std::nullopt);  // the second reading did not say
  EXPECT_EQ(pressure_between({}, after, 2).some_share, std::nullopt);
}

}  // namespace
}  // namespace hone::observe::system
