#include "observe/system/cpu_times.h"

#include <gtest/gtest.h>

namespace hone::observe::system {
namespace {

using trace::live::HostUse;

// Linux 6.18, two CPUs.
constexpr const char* kBefore =
    "cpu  4404908 70587 433737 861090 3118 0 1269 3238 0 0\n"
    "cpu0 2193746 33410 217016 441745 1137 0 111 1612 0 0\n"
    "cpu1 2211162 37176 216721 419345 1981 0 1158 1625 0 0\n"
    "intr 20752093 0 0 0\nctxt 50318533\nbtime 1795393800\nprocesses 1181204\nprocs_running 3\nprocs_blocked "
    "0\n";
// 200 ticks on: 60 in programs, 10 in niced ones, 20 in the kernel, 96 idle, 4 in wait, 10 stolen; CPU 1 has been
// busy throughout.
constexpr const char* kAfter =
    "cpu  4404968 70597 433757 861186 3122 0 1269 3248 0 0\n"
    "cpu0 2193746 33410 217016 441841 1141 0 111 1612 0 0\n"
    "cpu1 2211222 37186 216741 419345 1981 0 1158 1635 0 0\n"
    "procs_running 5\n";

HostUse use_between(const char* before, const char* after, double seconds = 1) {
  CpuCounters a, b;
  parse_stat(before, a);
  parse_stat(after, b);
  HostUse host;
  fill_cpu_use(a, b, seconds, host);
  return host;
}

TEST(CpuTimes, SplitTheIntervalBetweenWhatTheCpusDid) {
  const HostUse host = use_between(kBefore, kAfter);
  EXPECT_EQ(host.cpus, 2);
  EXPECT_DOUBLE_EQ(*host.busy_share, 0.5);
  EXPECT_DOUBLE_EQ(*host.user_share, 0.35);
  EXPECT_DOUBLE_EQ(*host.system_share, 0.1);
  EXPECT_DOUBLE_EQ(*host.wait_share, 0.02);
  EXPECT_DOUBLE_EQ(*host.stolen_share, 0.05);
  EXPECT_EQ(host.runnable, 5);
  ASSERT_EQ(host.cpu_busy.size(), 2u);
  EXPECT_DOUBLE_EQ(*host.cpu_busy[0].second, 0);
  EXPECT_DOUBLE_EQ(*host.cpu_busy[1].second, 1);
}

TEST(CpuTimes, WithoutASecondReadingNothingIsKnownOfShares) {
  const HostUse host = use_between("", kAfter);
  EXPECT_EQ(host.busy_share, std::nullopt);
  EXPECT_EQ(host.cpu_busy[0].second, std::nullopt);
  EXPECT_EQ(host.runnable, 5);
}

TEST(CpuTimes, ACpuThatCameOnlineMeanwhileHasNoShareAndOneThatWentIsGone) {
  const HostUse host = use_between("cpu0 10 0 0 0 0 0 0 0\ncpu1 10 0 0 0 0 0 0 0\n",
                                   "cpu0 20 0 0 0 0 0 0 0\ncpu3 5 0 0 5 0 0 0 0\n");
  ASSERT_EQ(host.cpu_busy.size(), 2u);
  EXPECT_EQ(host.cpu_busy[0], std::pair(0, trace::live::Known(1)));
  EXPECT_EQ(host.cpu_busy[1], std::pair(3, trace::live::Known()));
}

TEST(CpuTimes, OfAnIntervalShorterThanATickNothingIsKnown) {
  EXPECT_EQ(use_between(kBefore, kBefore).busy_share, std::nullopt);
}

TEST(CpuTimes, TimeInLineIsAddedUpOverCpus) {
  CpuCounters before, after;
  // Linux 5.15, version 15: time in line is the eighth number of a CPU's line.
  parse_schedstat(
      "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 900 1000000000 70\ndomain0 3 1 2 3 4 5 6 7 8 9\n"
      "cpu1 0 0 0 0 0 0 900 2000000000 70\n",
      before);
  parse_schedstat("cpu0 0 0 0 0 0 0 900 2500000000 70\ncpu1 0 0 0 0 0 0 900 2500000000 70\n", after);
  HostUse host;
  fill_cpu_use(before, after, 2, host);
  EXPECT_DOUBLE_EQ(*host.in_line, 1);  // 2 s in 2 s: one task, on average
}

TEST(CpuTimes, NonsenseIsNotKnown) {
  CpuCounters counters;
  parse_stat("cpux 1 2\nnothing\n\n", counters);
  parse_loadavg("high", counters);
  EXPECT_FALSE(counters.all.has_value());
  EXPECT_TRUE(counters.each.empty());
  EXPECT_EQ(counters.load, std::nullopt);
  parse_loadavg("2.24 1.99 2.04 3/106 4315\n", counters);
  EXPECT_EQ(counters.load, 2.24);
}

}  // namespace
}  // namespace hone::observe::system
