// Whether a busy machine is noticed: by a process that fills the CPU that this thread runs on.
#include "core/contention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/testing/rival.h"

namespace hone {
namespace {

using testing_support::compute_for;
using testing_support::Rival;

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

TEST(Contention, WhatIsForgivenCountsAsNone) {
  const Rival rival;
  const ContentionMeter strict, lenient(1'000'000'000'000);
  compute_for(300'000'000);
  EXPECT_TRUE(strict.share().disturbed());
  EXPECT_EQ(lenient.share().waited, 0);
  EXPECT_TRUE(lenient.share().known);
}

}  // namespace
}  // namespace hone
