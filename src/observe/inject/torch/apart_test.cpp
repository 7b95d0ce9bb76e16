#include "observe/inject/torch/apart.h"

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hone::observe::torch {
namespace {

using Answer = std::array<std::byte, 20000>;  // more than a pipe takes at once is read while it is written

TEST(Apart, BringsBackWhatTheChildFound) {
  Answer answer = {};
  const pid_t parent = getpid();
  EXPECT_EQ(run_apart(
                answer,
                [&](std::span<std::byte> into) {
                  if (getpid() != parent)
                    for (std::byte& byte : into) byte = std::byte{42};
                },
                10'000),
            Ending::kAnswered);
  EXPECT_EQ(answer.front(), std::byte{42});
  EXPECT_EQ(answer.back(), std::byte{42});
}

TEST(Apart, SurvivesAChildThatCrashesOrNeverAnswers) {
  Answer answer = {};
  EXPECT_EQ(run_apart(
                answer, [](std::span<std::byte>) { std::abort(); }, 10'000),
            Ending::kCrashed);
  EXPECT_EQ(run_apart(
                answer, [](std::span<std::byte>) { pause(); }, 50),
            Ending::kSilent);
  EXPECT_EQ(answer.front(), std::byte{0});
}

TEST(Apart, IsNotSeenByAProgramThatWaitsForItsOwnChildren) {
  static volatile sig_atomic_t signals = 0;
  const auto before = signal(SIGCHLD, [](int) { signals = signals + 1; });
  Answer answer = {};
  run_apart(
      answer, [](std::span<std::byte>) {}, 10'000);
  EXPECT_EQ(signals, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  signal(SIGCHLD, before);
}

}  // namespace
}  // namespace hone::observe::torch
