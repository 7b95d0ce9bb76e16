// Files of two runs must not be taken for the ranks of one.
#include "analyze/device/timeline/one_run.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/study.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// What a rank does in a step of a run.
struct Habit {
  double work_us = 100;
  int collectives = 4;
  double elements = 1e6;
  const char* collective = "allreduce";
};

// Ranks that do not wait for each other: each is of a run of its own, in which others have its habit.
fabricate::Ranks separate(const std::vector<Habit>& habits, int steps = 5) {
  const int ranks = static_cast<int>(habits.size());
  fabricate::Ranks made(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const Habit& habit = habits[static_cast<std::size_t>(rank)];
    for (int step = 0; step < steps; ++step) {
      made.begin_step(rank);
      for (int i = 0; i < habit.collectives; ++i) {
        for (int k = 0; k < 5; ++k) made.launch(rank, habit.work_us);
        made.collective({rank}, 50, habit.collective, habit.elements);
      }
      made.wait(rank);
      made.end_step(rank);
    }
  }
  for (trace::Collective& collective : made.trace().collectives)
    collective.group_size = static_cast<uint32_t>(ranks);
  return made;
}

std::vector<std::string> doubts(const fabricate::Ranks& made, const char* how = "ProfilerStep ranges") {
  trace::Trace trace = made.trace();
  trace.meta.notes.emplace_back("steps", how);
  std::vector<RankTimeline> timelines;
  for (int rank : device_ranks(trace)) timelines.push_back(rank_timeline(trace, rank));
  std::vector<std::string> all;
  for (const RankOfOtherRun& other : ranks_of_one_run(trace, std::move(timelines)).of_other_runs)
    all.push_back(std::to_string(other.rank) + ": " + other.why);
  return all;
}

TEST(OneRun, RanksThatMeetGoTogether) {
  fabricate::Ranks made(3);
  made.clock_offset(1, 30'000);  // a machine whose clock is 30 ms ahead
  for (int step = 0; step < 4; ++step) {
    for (int rank : {0, 1, 2}) {
      made.begin_step(rank);
      made.launch(rank, 200 + 150 * rank);
    }
    for (int i = 0; i < 3; ++i) made.collective({0, 1, 2}, 40);
    for (int rank : {0, 1, 2}) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  EXPECT_THAT(doubts(made), testing::IsEmpty());
}

// The root of a broadcast is done long before a rank that comes late: that is no sign of two runs, and clocks
// must not be aligned by it.
TEST(OneRun, BroadcastsEndWhenTheyLike) {
  const std::filesystem::path folder = source_folder() / "tests" / "traces" / "recorded";
  const std::vector<std::filesystem::path> files = {folder / "rank_zero_draws.repaired.rank0.json.gz",
                                                    folder / "rank_zero_draws.repaired.rank1.json.gz"};
  auto trace = trace::import_trace(files);
  ASSERT_TRUE(trace.ok() && trace::link_trace(*trace).ok());
  const Study study = make_study(*trace, {});
  EXPECT_THAT(study.of_other_runs, testing::IsEmpty());
  ASSERT_EQ(study.timelines.size(), 2u);
  EXPECT_LT(std::abs(study.timelines[1].clock_shift_ns - study.timelines[0].clock_shift_ns), 20'000);
}

TEST(OneRun, CollectivesEndForAllRanksAtOnce) {
  EXPECT_THAT(
      doubts(separate({{100}, {108}}, 12)),
      ElementsAre(testing::AllOf(HasSubstr("1: its collectives end"), HasSubstr("for all ranks at once"))));
}

TEST(OneRun, RanksRunTheSameCollectives) {
  Habit fewer;
  fewer.collectives = 3;
  fewer.work_us = 130;
  EXPECT_THAT(doubts(separate({{}, fewer})),
              ElementsAre(HasSubstr("runs 3 collectives in a step in which rank 0 runs 4")));
  Habit larger;
  larger.elements = 2e6;
  EXPECT_THAT(doubts(separate({{}, larger})),
              ElementsAre(HasSubstr("2000000 elements stands where rank 0 has")));
  Habit other;
  other.collective = "broadcast";
  EXPECT_THAT(doubts(separate({{}, other})), ElementsAre(HasSubstr("broadcast of")));
}

TEST(OneRun, BothEndsCountTheSameMessages) {
  const std::filesystem::path folder = source_folder() / "tests" / "traces" / "recorded";
  const auto doubts_of = [&](const char* second) {
    const std::vector<std::filesystem::path> files = {folder / "bubble_one_microbatch.fault.rank0.json.gz",
                                                      folder / second};
    auto trace = trace::import_trace(files);
    EXPECT_TRUE(trace.ok() && trace::link_trace(*trace).ok());
    return make_study(*trace, {}).of_other_runs;
  };
  EXPECT_THAT(doubts_of("bubble_one_microbatch.fault.rank1.json.gz"), testing::IsEmpty());
  const std::vector<RankOfOtherRun> of_other_runs = doubts_of("bubble_one_microbatch.repaired.rank1.json.gz");
  ASSERT_EQ(of_other_runs.size(), 1u);
  EXPECT_THAT(of_other_runs[0].why, HasSubstr("of the messages between it and rank 0"));
}

TEST(OneRun, RanksStepTogether) {
  EXPECT_THAT(doubts(separate({{100}, {260}})),
              ElementsAre(HasSubstr("ranks that work together step together")));
  fabricate::Ranks made(2);
  made.first_step(1, 40);
  for (int step = 0; step < 4; ++step)
    for (int rank : {0, 1}) {
      made.begin_step(rank);
      made.launch(rank, 200);
      made.end_step(rank);
    }
  EXPECT_THAT(doubts(made), ElementsAre(HasSubstr("it has the steps 40 to 43, rank 0 has 0 to 3")));
  EXPECT_THAT(doubts(made, "the repeating sequence: 1 launch"), testing::IsEmpty());  // hone's own numbers
}

TEST(OneRun, TheOneThatDiffersIsLeftOutNotTheOthers) {
  fabricate::Ranks made(3);
  for (int step = 0; step < 4; ++step) {
    for (int rank : {0, 1, 2}) {
      made.begin_step(rank);
      made.launch(rank, 300);
    }
    for (int i = 0; i < 3; ++i) made.collective({1, 2}, 40);
    made.launch(0, 900);
    for (int rank : {0, 1, 2}) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  EXPECT_THAT(doubts(made), ElementsAre(HasSubstr("0: ")));
}

// The same program, recorded twice within a second.
TEST(OneRun, TwoRunsOfOneProgramAreNotPutSideBySide) {
  const std::filesystem::path folder = source_folder() / "tests" / "traces" / "recorded";
  const std::vector<std::filesystem::path> files = {folder / "straggler_longer_batch.fault.rank0.json.gz",
                                                    folder / "straggler_longer_batch.repaired.rank1.json.gz"};
  auto trace = trace::import_trace(files);
  ASSERT_TRUE(trace.ok());
  ASSERT_TRUE(trace::link_trace(*trace).ok());
  const auto analysis = analyze_device_trace(*trace, Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_THAT(analysis->verdict.sentence, HasSubstr("Of rank 0 alone: "));
  EXPECT_NE(analysis->verdict.cause, Cause::kStraggler);
  EXPECT_THAT(analysis->warnings, Contains(HasSubstr("rank 1 is left out")));
  EXPECT_THAT(analysis->ranks, ElementsAre(0));
  EXPECT_TRUE(analysis->rank_summaries.empty());
}

// What looks like communication may be waiting for a rank whose file is missing.
TEST(OneRun, OfCommunicationOneRankAloneTellsWhatItWinsAtMost) {
  const std::filesystem::path folder = source_folder() / "tests" / "traces" / "recorded";
  for (const bool all : {true, false}) {
    std::vector<std::filesystem::path> files = {folder / "comm_after_backward.fault.rank0.json.gz"};
    if (all) files.push_back(folder / "comm_after_backward.fault.rank1.json.gz");
    auto trace = trace::import_trace(files);
    ASSERT_TRUE(trace.ok());
    ASSERT_TRUE(trace::link_trace(*trace).ok());
    const auto analysis = analyze_device_trace(*trace, Roofs{}, {});
    ASSERT_TRUE(analysis.ok());
    ASSERT_EQ(analysis->verdict.cause, Cause::kComm);
    EXPECT_THAT(analysis->verdict.sentence, HasSubstr(all ? "should win about" : "wins at most"));
    for (const LedgerRow& row : analysis->ledger)
      EXPECT_EQ(row.gain_is_bound, !all && row.cause == Cause::kComm) << cause_name(row.cause);
  }
}

}  // namespace
}  // namespace hone::analyze::device
