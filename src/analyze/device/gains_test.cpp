// What a fix is promised to win: what remains of loops when they are joined, and what nothing stands behind.
#include "analyze/device/gains.h"

#include <algorithm>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/accounts.h"
#include "analyze/device/device_analysis.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "analyze/device/testing/fabricate_works.h"
#include "analyze/device/testing/gains_of.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

// Reads the trace, which must outlive it.
template <typename Made>
Study study_of(const Made& made) {
  return make_study(made.trace(), gpu_roofs("NVIDIA H200"));
}

// 20 turns of two works a step, each of 10 µs, of which the roof of memory says 1 µs.
Works looping(const std::string& inputs) {
  Works made;
  for (int step = 0; step < 3; ++step) {
    for (int turn = 0; turn < 20; ++turn)
      for (const char* kind : {"aten::mul", "aten::add"})
        made.run({.kind = kind, .inputs = inputs, .bytes = 4.224e6, .us = 10});
    made.run({.kind = "aten::mm", .op_class = trace::OperatorClass::kMatrix, .flops = 5e10, .us = 100});
    made.end_step();
  }
  return made;
}

// Each work after those of the first turn takes 1 µs / 0.8 when one call does all of them.
constexpr double kJoinedGainMs = 38 * (10 - 1 / 0.8) * 1e-3;

TEST(JoinedLoops, TakeNoLongerThanAGoodKernel) {
  const Works made = looping("");
  const Study study = study_of(made);
  ASSERT_FALSE(study.ranks.at(0).loops.loops.empty());
  EXPECT_NEAR(gains_of(study).of(Rule::kLaunchesInLoops), kJoinedGainMs, 0.02);
  EXPECT_GE(gains_of(study).of(Cause::kLaunch), gains_of(study).of(Rule::kLaunchesInLoops));
}

// That fusion would not have a pass is another fix.
TEST(JoinedLoops, StillPassTheMemoryThatTheyPass) {
  const Works made = looping("bf16[1024,1024]");
  const Study study = study_of(made);
  ASSERT_EQ(study.ranks.at(0).split.works.at(1).rule, Rule::kUnfusedChain);
  EXPECT_NEAR(gains_of(study).of(Rule::kLaunchesInLoops), kJoinedGainMs, 0.02);
}

// 30 turns a step of a work that should take a tenth of its 25 µs, and of a host that is slower only while it
// is recorded.
Works held_by_host() {
  Works made;
  for (int step = 0; step < 3; ++step) {
    for (int turn = 0; turn < 30; ++turn) {
      made.run({.bytes = 4.22e12 * 2.5e-6, .us = 25});
      for (int view = 0; view < 2; ++view) {
        made.host(trace::Category::kOperator, "aten::view", 15);
        made.pass(16);
      }
    }
    made.end_step();
  }
  return made;
}

TEST(Gains, OfTheDeviceEndWhereTheHostTakesOver) {
  const Works made = held_by_host();
  const Study study = study_of(made);
  const Gains gains = gains_of(study);
  ASSERT_TRUE(gains.recorder_slows());
  const Rule rule = Rule::kSlowKernels;
  const Gains::Range gain = gains.of_together(std::span(&rule, 1));
  EXPECT_EQ(gain.ms, gains.of(rule));
  EXPECT_GT(gain.ms, 0.2);
  EXPECT_TRUE(gain.held_by_host);
  EXPECT_GT(gain.most_ms, 1.2 * gain.ms);
  EXPECT_LT(gain.least_ms, gain.ms / 1.2);
  EXPECT_LE(gain.most_ms, gains.low_unrecorded_ms());
  ASSERT_TRUE(gains.host_ms().has_value());
  EXPECT_NEAR(gains.unrecorded_ms() - gain.ms, *gains.host_ms(), 0.02);
}

TEST(Gains, SayThatTheHostHoldsTheStepUp) {
  const auto analysis = analyze_device_trace(held_by_host().trace(), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  const auto slow = std::ranges::find(analysis->findings, "slow_kernels", &Finding::rule);
  ASSERT_NE(slow, analysis->findings.end());
  EXPECT_THAT(slow->caveat, testing::HasSubstr("the device then waits for the host, which needs about "));
  EXPECT_THAT(slow->caveat, testing::HasSubstr("the fix wins 0."));
  EXPECT_NEAR(analysis->figures.at("host_step_ms"),
              analysis->figures.at("unrecorded_step_ms") - slow->predicted_gain_ms, 0.02);
}

// Whose kernels are all that a step takes.
TEST(Gains, AreNotSaidToBeHeldUpByAHostThatRunsAhead) {
  Works made;
  for (int step = 0; step < 3; ++step) {
    for (int turn = 0; turn < 30; ++turn) made.run({.bytes = 4.22e12 * 2.5e-6, .us = 25});
    made.end_step();
  }
  const auto analysis = analyze_device_trace(made.trace(), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  const auto slow = std::ranges::find(analysis->findings, "slow_kernels", &Finding::rule);
  ASSERT_NE(slow, analysis->findings.end());
  EXPECT_EQ(slow->caveat.find("waits for the host"), std::string::npos) << slow->caveat;
}

// Two ranks that launch slowly and read a value; the second computes longer.
fabricate::Ranks launching() {
  fabricate::Ranks made(2);
  for (int step = 0; step < 4; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      made.begin_step(rank);
      for (int i = 0; i < 100; ++i) made.launch(rank, 1);
      made.wait(rank);
      if (rank == 1) made.launch(1, 150, "aten::mm");
    }
    made.collective({0, 1}, 20);
    for (int rank = 0; rank < 2; ++rank) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  return made;
}

// A straggler is not removed by a change to the replay: with it in place, launching wins what it wins anyhow.
TEST(Gains, OfAGraphAreNotPredictedAfterAStraggler) {
  const fabricate::Ranks made = launching();
  const Study study = make_study(made.trace(), gpu_roofs("NVIDIA H200"));
  const Gains gains = gains_of(study);
  ASSERT_TRUE(gains.can_predict());
  ASSERT_GT(gains.of(Cause::kLaunch), 0.1);
  ASSERT_GT(gains.of(Cause::kStraggler), 0.1);
  EXPECT_FALSE(gains.of_graph_after(Cause::kStraggler));
  EXPECT_TRUE(gains.of_graph_after(Cause::kHostSync));
}

TEST(Reasons, WithoutWorksOfTheirOwnPromiseNothing) {
  Works made;
  for (int step = 0; step < 3; ++step) {
    made.run({.bytes = 42.24e6, .us = 100});  // a tenth of the roof
    made.end_step();
  }
  const Study study = study_of(made);
  ASSERT_EQ(study.ranks.at(0).split.works.at(0).rule, Rule::kSlowKernels);
  const Gains gains = gains_of(study);
  EXPECT_NEAR(gains.of(Rule::kSlowKernels), 0.0875, 0.002);
  EXPECT_EQ(gains.of(Rule::kKernelsBelowRoof), 0);
  EXPECT_EQ(gains.of(Rule::kSmallGrids), 0);
}

TEST(Compiling, IsWonBackWithTheWorksThatItLaunched) {
  Works made;
  for (int step = 0; step < 3; ++step) {
    made.host(trace::Category::kCompile, "autotune", 20);
    made.run({.us = 200});
    made.pass(50);
    made.run({.us = 100});
    made.end_step();
  }
  const Study study = study_of(made);
  EXPECT_GT(gains_of(study).of(Cause::kCompile), 0.19);
}

// Two ranks that take turns: one has so many works of `us` each in a step, then the other.
fabricate::Ranks taking_turns(int first, int second, double us) {
  fabricate::Ranks made(2);
  for (int step = 0; step < 5; ++step) {
    for (const int rank : {0, 1}) made.begin_step(rank);
    for (int i = 0; i < first; ++i) made.launch(0, us);
    made.collective({0, 1}, 1, "send");
    for (int i = 0; i < second; ++i) made.launch(1, us);
    made.collective({0, 1}, 1, "recv");
    for (const int rank : {0, 1}) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  return made;
}

TEST(Bubbles, OfUnequalStagesLeaveTheLongerOne) {
  const fabricate::Ranks made = taking_turns(10, 5, 100);
  const Study study = study_of(made);
  const Gains gains = gains_of(study);
  EXPECT_NEAR(gains.of(Cause::kBubble), 0.5 - 0.5 / 4, 0.05);
  EXPECT_EQ(gains.bubble_gain().best.micro_batches, 4);
  EXPECT_NEAR(gains.bubble_gain().longest.device_ms, 1.0, 0.05);
  EXPECT_GT(gains.bubble_gain().longest.host_ms, 0.04);
  EXPECT_LT(gains.bubble_gain().longest.host_ms, 0.1);
}

// What is ruled by latency takes as long for a part of the batch.
TEST(Bubbles, OfWorksThatDoNotShrinkStay) {
  const fabricate::Ranks made = taking_turns(100, 100, 7);
  const Study study = study_of(made);
  const Gains gains = gains_of(study);
  EXPECT_LT(gains.of(Cause::kBubble), 0.02);
  EXPECT_NEAR(gains.bubble_gain().longest.fixed_ms, 0.7, 0.02);
}

}  // namespace
}  // namespace hone::analyze::device
