// Whether a busy machine is noticed: by a process that fills the CPU that this thread runs on.
#include "core/contention.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

namespace hone {
namespace {

void compute_for(int64_t ns) {
  const int64_t end = now_ns() + ns;
  while (now_ns() < end) continue;
}

// The process and this thread on one CPU while it lives.
class Rival {
 public:
  Rival() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    child_ = ::fork();
    if (child_ == 0)
      for (volatile bool forever = true; forever;) continue;
  }
  ~Rival() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::sched_setaffinity(0, sizeof(before_), &before_);
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

 private:
  cpu_set_t before_;
  pid_t child_ = -1;
};

TEST(Contention, ARivalForTheCpuIsSeen) {
  const Rival rival;
  const ContentionMeter meter;
  compute_for(300'000'000);
  const ContentionShare share = meter.share();
  ASSERT_TRUE(share.known) << "Linux with CONFIG_SCHED_INFO";
  EXPECT_GT(share.waited, 0.2);
  EXPECT_LE(share.waited, 1.0);
  EXPECT_TRUE(share.disturbed());
  EXPECT_THAT(contention_text(share), testing::HasSubstr("other programs had this process's CPUs for "));
}

TEST(Contention, SleepingIsNoWaiting) {
  const ContentionMeter meter;
  ::usleep(300'000);
  EXPECT_LT(meter.share().waited, 0.2) << "waking up may take a while on a busy machine, no more";
}

TEST(Contention, ARestartForgetsWhatWas) {
  ContentionMeter meter;
  {
    const Rival rival;
    compute_for(600'000'000);
    EXPECT_GT(meter.share().waited, 0.3);
  }
  meter.restart();
  ::usleep(300'000);
  EXPECT_LT(meter.share().waited, 0.2);
}

}  // namespace
}  // namespace hone
