#include "observe/system/process_counters.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

namespace hone::observe::system {
namespace {

using trace::live::ProcessUse;

constexpr const char* kStat =
    "4318 (python3) R 4310 4310 17315 0 -1 4194304 104 0 0 0 700 55 0 0 20 0 37 0 2892085 2998272 414 "
    "18446744073709551615 93840518971392 93840518995497 140733112224704 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";

TEST(ProcessStat, SaysWhatAProcessIsAndTook) {
  const auto stat = parse_process_stat(kStat);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->name, "python3");
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 4310);
  EXPECT_FALSE(stat->of_kernel);
  EXPECT_EQ(stat->cpu_ticks, 755);
  EXPECT_EQ(stat->threads, 37);
  EXPECT_EQ(stat->start_ticks, 2892085);
  EXPECT_EQ(stat->resident_pages, 414);
}

TEST(ProcessStat, NamesMayHoldBracketsAndSpaces) {
  std::string text = kStat;
  text.replace(text.find("(python3)"), 9, "(a) R (b c)");
  const auto stat = parse_process_stat(text);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->name, "a) R (b c");
  EXPECT_EQ(stat->parent, 4310);
}

TEST(ProcessStat, ThreadsOfTheKernelAreKnownAsSuch) {
  std::string text = kStat;
  text.replace(text.find("4194304"), 7, "69238880");
  EXPECT_TRUE(parse_process_stat(text)->of_kernel);
}

TEST(ProcessStat, WhatIsCutShortIsNone) {
  EXPECT_FALSE(parse_process_stat("").has_value());
  EXPECT_FALSE(parse_process_stat("12 (x").has_value());
  EXPECT_FALSE(parse_process_stat("12 (x) R 1 2 3").has_value());
}

TEST(ProcessIo, CountsWhatWentToDevices) {
  const auto io = parse_process_io(
      "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: "
      "8192\ncancelled_write_bytes: 0\n");
  ASSERT_TRUE(io.has_value());
  EXPECT_EQ(io->read, 4096);
  EXPECT_EQ(io->written, 8192);
  EXPECT_FALSE(parse_process_io("").has_value());
}

TEST(CommandLine, HasSpacesBetweenItsWords) {
  using namespace std::string_view_literals;
  EXPECT_EQ(parse_command_line("python\0train.py\0--lr\0"sv), "python train.py --lr");
  EXPECT_EQ(parse_command_line(""), "");
}

const ProcessUse* find(const std::vector<ProcessUse>& processes, int64_t pid) {
  const auto found =
      std::find_if(processes.begin(), processes.end(), [&](const ProcessUse& row) { return row.pid == pid; });
  return found == processes.end() ? nullptr : &*found;
}

void work_for(double seconds) {
  const std::clock_t start = std::clock();
  while (static_cast<double>(std::clock() - start) < seconds * CLOCKS_PER_SEC) {
  }
}

TEST(ProcessReader, FollowsThisProcess) {
  ProcessReader reader("/proc");
  const auto first = reader.read(0);
  const ProcessUse* self = find(first, getpid());
  ASSERT_NE(self, nullptr);
  EXPECT_EQ(self->cpus, std::nullopt);  // of one look no rate is known
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(self->memory_bytes, 1e6);
  EXPECT_NE(self->command.find("test_observe"), std::string::npos) << self->command;

  const int64_t start = now_ns();
  work_for(0.3);
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  const auto second = reader.read(seconds);
  self = find(second, getpid());
  ASSERT_NE(self, nullptr);
  // 0.3 s of CPU time, whatever else the machine did, in ticks of 10 ms.
  EXPECT_NEAR(*self->cpus * seconds, 0.3, 0.05);
  EXPECT_TRUE(self->disk.received.has_value());
}

TEST(ProcessReader, AProcessThatStartsMeanwhileIsCountedFromItsStart) {
  ProcessReader reader("/proc");
  reader.read(0);
  const pid_t child = fork();
  if (child == 0) {
    work_for(0.2);
    pause();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  double used = 0;
  // On a busy machine the child takes its time.
  for (int i = 0; i < 100 && used < 0.15; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto processes = reader.read(1);
    const ProcessUse* row = find(processes, child);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->parent, getpid());
    used += row->cpus.value_or(0);
  }
  EXPECT_NEAR(used, 0.2, 0.06);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto later = reader.read(1);
  EXPECT_EQ(find(later, child), nullptr);
}

TEST(ProcessReader, SaysWhereThereIsNothingToBeSeen) {
  ProcessReader reader("/nowhere");
  EXPECT_TRUE(reader.read(1).empty());
  EXPECT_FALSE(reader.could_read());
}

}  // namespace
}  // namespace hone::observe::system
