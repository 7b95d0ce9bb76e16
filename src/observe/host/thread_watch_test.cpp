#include "observe/host/thread_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace hone::observe {
namespace {

using State = trace::segments::ThreadState;

std::string waiting_in(long call, const char* first = "0x3", const char* second = "0x1") {
  return fmt::format("{} {} {} 0x0 0x0 0x0 0x0 0x7ffd21f02d18 0x7f4034cf82ad\n", call, first, second);
}

TEST(ThreadWatch, KnowsWhatThreadsWaitFor) {
  EXPECT_EQ(parse_syscall("running\n").state, State::kRunning);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_futex)).state, State::kLock);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_clock_nanosleep)).state, State::kSleep);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_ppoll)).state, State::kPipe);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_pselect6, "0x0")).state, State::kSleep);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_fsync)).state, State::kFile);
  EXPECT_EQ(parse_syscall(waiting_in(SYS_ioctl)).state, State::kOther);
  EXPECT_EQ(parse_syscall("-1 0x7ffd21f02d18 0x7f4034cf82ad\n").state, State::kPageFault);
}

TEST(ThreadWatch, SaysWhereInTheProgramTheyWait) {
  const ThreadMoment moment = parse_syscall(waiting_in(SYS_futex));
  EXPECT_EQ(moment.call, SYS_futex);
  EXPECT_EQ(moment.stack_pointer, 0x7ffd21f02d18u);
  EXPECT_EQ(moment.instruction, 0x7f4034cf82adu);
  EXPECT_TRUE(moment.same_place(moment));
  EXPECT_FALSE(parse_syscall("running").same_place(parse_syscall("running")));
}

TEST(ThreadWatch, TakesNoTextThatTheKernelDoesNotWrite) {
  for (const char* text : {"", "\n", "x", "12", "12 0x", "12 0x1 0x2", "-1 0x1", "running away"})
    EXPECT_EQ(parse_syscall(text).state, State::kUnknown) << text;
}

}  // namespace
}  // namespace hone::observe
