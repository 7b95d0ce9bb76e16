// What is said of ranks that belong together: who is late, by how much, and what mending it would win.
#include "analyze/device/ranks.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/diagnosis/diagnose.h"
#include "analyze/device/gains.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

using testing::HasSubstr;

// Two ranks with ten works of 100 µs a step and a collective of 50 µs; what rank 1 does more is up to
// `extra`.
template <typename Extra>
fabricate::Ranks two_ranks(const Extra& extra, double work_of_second_us = 100) {
  fabricate::Ranks made(2);
  for (int step = 0; step < 5; ++step) {
    for (int rank : {0, 1}) {
      made.begin_step(rank);
      if (rank == 1) extra(made);
      for (int i = 0; i < 10; ++i) made.launch(rank, rank == 0 ? 100 : work_of_second_us);
    }
    made.collective({0, 1}, 50);
    for (int rank : {0, 1}) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  return made;
}

constexpr auto kNothingMore = [](fabricate::Ranks&) {};

struct RanksCase {
  explicit RanksCase(fabricate::Ranks ranks)
      : made(std::move(ranks)),
        study(make_study(made.trace(), gpu_roofs("NVIDIA H200"))),
        accounts(make_accounts(study, study.headline)),
        gains(study, accounts) {}
  RanksCase(const RanksCase&) = delete;
  RanksCase& operator=(const RanksCase&) = delete;
  fabricate::Ranks made;
  Study study;
  Accounts accounts;
  Gains gains;
};

std::string words_of(const Analysis& analysis, Cause cause) {
  std::string words;
  for (const Finding& finding : analysis.findings) {
    if (finding.cause != cause) continue;
    words += finding.fix + "\n";
    for (const std::string& line : finding.evidence) words += line + "\n";
  }
  return words;
}

TEST(Ranks, WorkThatOthersDoNotDoCanGo) {
  const RanksCase extra(two_ranks([](fabricate::Ranks& made) {
    for (int i = 0; i < 2; ++i) made.launch(1, 300, "aten::mm");
  }));
  EXPECT_TRUE(extra.gains.straggler().extra_work);
  const auto [removed, shared] = extra.gains.straggler_gain();
  EXPECT_NEAR(removed, 0.6, 0.03);
  EXPECT_NEAR(shared, 0.3, 0.03);
  EXPECT_EQ(extra.gains.of(Cause::kStraggler), removed);
  const auto analysis = analyze_device_trace(extra.made.trace(), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  const std::string words = words_of(*analysis, Cause::kStraggler);
  EXPECT_THAT(words, HasSubstr("what it alone computes"));
  EXPECT_THAT(words, HasSubstr("The first is what is predicted"));
}

TEST(Ranks, TheSameWorkOnMoreDataIsSharedOut) {
  const RanksCase longer(two_ranks(kNothingMore, 160));
  EXPECT_FALSE(longer.gains.straggler().extra_work);
  const auto [removed, shared] = longer.gains.straggler_gain();
  EXPECT_NEAR(removed, 0.6, 0.03);
  EXPECT_NEAR(shared, 0.3, 0.03);
  EXPECT_EQ(longer.gains.of(Cause::kStraggler), shared);
}

TEST(Ranks, TimeOfAHostIsNotSharedOut) {
  const RanksCase late(two_ranks([](fabricate::Ranks& made) { made.host(1, 2000); }));
  const auto [removed, shared] = late.gains.straggler_gain();
  EXPECT_NEAR(removed, 2.0, 0.1);
  EXPECT_EQ(shared, 0);
}

// A delay is met once, by the collective that comes first, but may be seen by many that are under way.
TEST(Ranks, LatenessIsToldByStepNotSummedUp) {
  fabricate::Ranks made(2);
  for (int step = 0; step < 5; ++step) {
    for (int rank : {0, 1}) made.begin_step(rank);
    made.launch(1, 500);
    for (int i = 0; i < 20; ++i) {
      for (int rank : {0, 1}) made.launch(rank, 50);
      made.launch(1, 10);
      made.collective({0, 1}, 20);
    }
    for (int rank : {0, 1}) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  const RanksCase late(std::move(made));
  const std::vector<RankSummary> ranks = rank_summaries(late.study);
  EXPECT_NEAR(ranks[1].latest_ms, 0.51, 0.02);
  EXPECT_NEAR(ranks[1].usually_late_us, 11, 2);
  EXPECT_NEAR(ranks[1].lateness_ms, 0.5 + 20 * 0.011, 0.03);
  EXPECT_NEAR(ranks[1].collectives, 20, 1e-9);
  EXPECT_LT(ranks[0].latest_ms, 0.001);
}

// Counted by hand in the recordings, on rank 1: from the later arrival on, with clocks aligned on the ends.
TEST(Ranks, ExposedIsWhatTheLedgerCallsCommunication) {
  struct Program {
    const char* name;
    double takes_ms, exposed_ms;
  };
  for (const Program& program : {Program{"recorded/comm_tiny_buckets.fault.", 1.514, 1.265},
                                 Program{"real/ddp2_healthy_", 2.091, 1.439}}) {
    const std::filesystem::path path = source_folder() / "tests" / "traces" / program.name;
    const std::vector<std::filesystem::path> files = {path.string() + "rank0.json.gz",
                                                      path.string() + "rank1.json.gz"};
    auto trace = trace::import_trace(files);
    ASSERT_TRUE(trace.ok() && trace::link_trace(*trace).ok());
    const Study study = make_study(*trace, gpu_roofs("NVIDIA H200"));
    const std::vector<CollectiveSummary> rows = collective_summaries(study);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_NEAR(rows[0].ms, program.takes_ms, 0.01 * program.takes_ms) << program.name;
    EXPECT_NEAR(rows[0].exposed_ms, program.exposed_ms, 0.015 * program.exposed_ms) << program.name;
    const Accounts accounts = make_accounts(study, study.headline);
    double collectives = 0;  // without idle time before their launches
    for (const AccountEntry& entry : accounts[static_cast<std::size_t>(Cause::kComm)].entries)
      if (entry.name.starts_with("ncclDevKernel")) collectives += entry.ms;
    EXPECT_NEAR(rows[0].exposed_ms, collectives, 1e-9) << program.name;
  }
}

TEST(Ranks, CountTheBytesOfTheBusiestLinkAsNcclTestsDo) {
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kAllReduce, 100, 4), 150);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kAllGather, 100, 4), 75);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kReduceScatter, 100, 4), 75);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kAllToAll, 100, 4), 75);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kBroadcast, 100, 4), 100);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kReduce, 100, 4), 100);
  EXPECT_EQ(bus_bytes(trace::CollectiveKind::kMessage, 100, 2), 100);
}

// Nothing is said of waiting in steps that only one rank recorded.
TEST(Ranks, AreComparedInTheStepsThatAllHave) {
  fabricate::Ranks made(2);
  made.first_step(1, 2);
  for (int step = 0; step < 6; ++step) {
    const bool both = step >= 2;
    for (int rank : {0, 1}) {
      if (rank == 1 && !both) {
        made.host(1, 1000);
        continue;
      }
      made.begin_step(rank);
      for (int i = 0; i < 5; ++i) made.launch(rank, rank == 0 ? 100 : 200);
    }
    made.collective(both ? std::vector<int>{0, 1} : std::vector<int>{0}, both ? 50 : 550);
    for (int rank : {0, 1}) {
      if (rank == 1 && !both) continue;
      made.wait(rank);
      made.end_step(rank);
    }
  }
  const RanksCase late(std::move(made));
  ASSERT_EQ(late.study.timelines.size(), 2u);
  ASSERT_EQ(late.study.timelines[0].steps.size(), 6u);
  EXPECT_EQ(late.study.headline, 0u);
  EXPECT_EQ(late.study.ranks[0].typical.weight[0], 0);
  EXPECT_EQ(late.study.ranks[0].typical.weight[1], 0);
  EXPECT_NEAR(late.accounts[static_cast<std::size_t>(Cause::kStraggler)].ms, 0.5, 0.02);
}

// Nothing that a fix wins can be predicted by a replay that does not give the recording again.
TEST(Gains, AreWhatTheyAreAtMostWhereTheReplayIsFarOff) {
  RanksCase made(two_ranks([](fabricate::Ranks& ranks) { ranks.host(1, 2000); }));
  for (RankTimeline& timeline : made.study.timelines)
    for (std::size_t k = 0; k < timeline.steps.size(); ++k) {
      timeline.steps[k].start_ns += static_cast<int64_t>(k) * 3'000'000;
      timeline.steps[k].end_ns += static_cast<int64_t>(k + 1) * 3'000'000;
    }
  const Gains gains(made.study, made.accounts);
  ASSERT_GT(gains.error(), 0.3);
  EXPECT_FALSE(gains.can_predict());
  const Diagnosis diagnosis = diagnose(made.study, made.accounts, gains, {});
  EXPECT_THAT(diagnosis.verdict.sentence, HasSubstr("wins at most"));
  EXPECT_THAT(diagnosis.verdict.sentence, HasSubstr("How much of that is uncertain"));
  ASSERT_FALSE(diagnosis.findings.empty());
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_TRUE(finding.gain_is_bound);
    EXPECT_THAT(finding.caveat, HasSubstr("only an upper bound"));
  }
  for (const LedgerRow& row : diagnosis.ledger) EXPECT_LE(row.predicted_gain_ms, row.ms);
}

}  // namespace
}  // namespace hone::analyze::device
