// What the rank that is waited for computes otherwise than the rank whose ledger is shown.
#include "analyze/device/other_ranks.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/operators.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

using testing::HasSubstr;

// Ranks that compute for themselves, each by `work`, and then reduce together.
template <typename Work>
fabricate::Ranks ranks_of(int ranks, const Work& work) {
  fabricate::Ranks made(ranks);
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  for (int step = 0; step < 5; ++step) {
    for (const int rank : all) {
      made.begin_step(rank);
      work(made, rank);
    }
    made.collective(all, 50);
    for (const int rank : all) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  return made;
}

Analysis explained(const fabricate::Ranks& made) {
  auto analysis = analyze_device_trace(made.trace(), Roofs{}, {});
  EXPECT_TRUE(analysis.ok());
  return analysis.ok() ? std::move(*analysis) : Analysis{};
}

const std::vector<RankOperator>& late_operators(const Analysis& analysis) {
  static const std::vector<RankOperator> kNone;
  EXPECT_TRUE(analysis.late_rank);
  return analysis.late_rank ? analysis.late_rank->operators : kNone;
}

std::string straggler_evidence(const Analysis& analysis) {
  std::string lines;
  for (const Finding& finding : analysis.findings)
    if (finding.cause == Cause::kStraggler)
      for (const std::string& line : finding.evidence) lines += line + "\n";
  return lines;
}

TEST(OtherRanks, ShowWhatOnlyTheLateRankRuns) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    for (int i = 0; i < 10; ++i) made.launch(rank, 100);
    for (int i = 0; i < 2 && rank == 1; ++i) made.launch(1, 300, "aten::mm 512×512");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 1u);
  const RankOperator& row = late_operators(analysis)[0];
  EXPECT_EQ(row.name, "mm 512×512");
  EXPECT_EQ(row.shown_name, "");
  EXPECT_NEAR(row.late_ms, 0.6, 1e-6);
  EXPECT_EQ(row.late_calls, 2);
  EXPECT_EQ(row.shown_ms, 0);
  EXPECT_EQ(row.shown_calls, 0);
  ASSERT_TRUE(row.place);
  EXPECT_NEAR(row.place->ms, 0.3, 1e-6);
  EXPECT_THAT(straggler_evidence(analysis), HasSubstr("mm 512×512: 0.60 ms in 2 calls, none on rank 0\n"));
  ASSERT_EQ(analysis.elsewhere.size(), 1u);
  EXPECT_EQ(analysis.elsewhere[0].name, "mm 512×512");
  EXPECT_EQ(analysis.elsewhere[0].ranks, std::vector<int>{1});
  EXPECT_NEAR(analysis.elsewhere[0].ms, 0.6, 1e-6);
  EXPECT_FALSE(analysis.elsewhere[0].stands_for_shown);
  EXPECT_TRUE(analysis.elsewhere_known);
}

// The place of an operator in the drawn step is that of a bar on the late rank's stream.
TEST(OtherRanks, LeadToTheLateRanksStream) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    for (int i = 0; i < 10; ++i) made.launch(rank, rank == 1 ? 160 : 100);
  }));
  const std::optional<TimelinePlace> place = late_operators(analysis).at(0).place;
  ASSERT_TRUE(place);
  const auto bar = std::find_if(analysis.timeline.begin(), analysis.timeline.end(), [&](const auto& each) {
    return std::abs(each.start_ms - place->start_ms) < 1e-6 && std::abs(each.ms - place->ms) < 1e-6;
  });
  ASSERT_NE(bar, analysis.timeline.end());
  EXPECT_THAT(analysis.timeline_tracks.at(static_cast<std::size_t>(bar->track)), HasSubstr("rank 1"));
}

TEST(OtherRanks, ShowTheSameCallsThatTakeLonger) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    for (int i = 0; i < 10; ++i) made.launch(rank, rank == 1 ? 160 : 100);
    made.launch(rank, 200, "aten::add");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 1u);
  const RankOperator& row = late_operators(analysis)[0];
  EXPECT_EQ(row.name, "mul");
  EXPECT_NEAR(row.late_ms, 1.6, 1e-6);
  EXPECT_NEAR(row.shown_ms, 1.0, 1e-6);
  EXPECT_EQ(row.late_calls, row.shown_calls);
  EXPECT_TRUE(analysis.elsewhere.empty());
  EXPECT_THAT(straggler_evidence(analysis),
              HasSubstr("mul: 1.60 ms in 10 calls; rank 0 takes 1.00 ms in 10 calls\n"));
}

TEST(OtherRanks, SetTheSameWorkOnOtherInputsSideBySide) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    made.launch(rank, rank == 1 ? 900 : 300, rank == 1 ? "aten::mm 768×512" : "aten::mm 256×512");
    made.launch(rank, 200, "aten::add");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 1u);
  EXPECT_EQ(late_operators(analysis)[0].name, "mm 768×512");
  EXPECT_EQ(late_operators(analysis)[0].shown_name, "mm 256×512");
  ASSERT_EQ(analysis.elsewhere.size(), 1u);
  EXPECT_EQ(analysis.elsewhere[0].name, "mm 768×512");
  EXPECT_TRUE(analysis.elsewhere[0].stands_for_shown);
  EXPECT_THAT(straggler_evidence(analysis), HasSubstr("rank 0 takes 0.30 ms in 1 call on 256×512\n"));
}

TEST(OtherRanks, SetSeveralShapesSideBySideInTheOrderOfTheirCalls) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    const bool late = rank == 1;
    made.launch(rank, late ? 200 : 100, late ? "aten::mm 8×768" : "aten::mm 8×256");
    made.launch(rank, late ? 900 : 300, late ? "aten::mm 768×512" : "aten::mm 256×512");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 2u);
  EXPECT_EQ(late_operators(analysis)[0].name, "mm 768×512");
  EXPECT_EQ(late_operators(analysis)[0].shown_name, "mm 256×512");
  EXPECT_EQ(late_operators(analysis)[1].name, "mm 8×768");
  EXPECT_EQ(late_operators(analysis)[1].shown_name, "mm 8×256");
}

TEST(OtherRanks, AddUpShapesOfAKindThatAreNotAsMany) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    made.launch(rank, 300, rank == 1 ? "aten::mm 768×512" : "aten::mm 256×512");
    if (rank == 1) made.launch(rank, 900, "aten::mm 99×512");
    if (rank == 1) made.launch(rank, 100, "aten::mm 4×768");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 1u);
  EXPECT_EQ(late_operators(analysis)[0].name, "mm 99×512 and 2 more shapes");
  EXPECT_EQ(late_operators(analysis)[0].shown_name, "mm 256×512");
  EXPECT_EQ(late_operators(analysis)[0].late_calls, 3);
  EXPECT_NEAR(late_operators(analysis)[0].late_ms, 1.3, 1e-6);
}

// Operators on which the late rank spends less belong to the picture, but make nobody late.
TEST(OtherRanks, ShowLessWorkToo) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    made.launch(rank, rank == 1 ? 1500 : 500, "aten::mm");
    if (rank == 0) made.launch(rank, 200, "aten::add");
  }));
  ASSERT_EQ(late_operators(analysis).size(), 2u);
  EXPECT_EQ(late_operators(analysis)[0].name, "mm");
  EXPECT_EQ(late_operators(analysis)[1].name, "add");
  EXPECT_EQ(late_operators(analysis)[1].late_calls, 0);
  EXPECT_FALSE(late_operators(analysis)[1].place);
  EXPECT_EQ(straggler_evidence(analysis).find("add:"), std::string::npos);
}

TEST(OtherRanks, SayNothingWhereRanksComputeTheSame) {
  const Analysis analysis = explained(ranks_of(2, [](fabricate::Ranks& made, int rank) {
    if (rank == 1) made.host(1, 2000);
    for (int i = 0; i < 10; ++i) made.launch(rank, rank == 1 ? 102 : 100);
  }));
  EXPECT_EQ(analysis.late_rank->rank, 1);
  EXPECT_TRUE(late_operators(analysis).empty());
  EXPECT_TRUE(analysis.elsewhere.empty());
}

TEST(OtherRanks, NameAllThatRunWhatTheShownOneDoesNot) {
  const Analysis analysis = explained(ranks_of(4, [](fabricate::Ranks& made, int rank) {
    for (int i = 0; i < 10; ++i) made.launch(rank, 100);
    if (rank == 2 || rank == 3) made.launch(rank, rank * 200, "aten::mm");
  }));
  EXPECT_EQ(analysis.late_rank->rank, 3);
  ASSERT_EQ(analysis.elsewhere.size(), 1u);
  EXPECT_EQ(analysis.elsewhere[0].ranks, (std::vector<int>{2, 3}));
  EXPECT_NEAR(analysis.elsewhere[0].ms, 0.6, 1e-6);  // the longest
}

// One recording without operators: whether its rank runs those of the other is not known.
TEST(OtherRanks, SayNothingOfARankWithoutOperators) {
  for (const int without : {0, 1}) {
    fabricate::Ranks made = ranks_of(2, [](fabricate::Ranks& program, int rank) {
      for (int i = 0; i < 10; ++i) program.launch(rank, rank == 1 ? 160 : 100);
    });
    trace::Trace& trace = made.trace();
    for (std::size_t row = 0; row < trace.spans.size(); ++row)
      if (trace.tracks[trace.spans.track[row].index].rank == without) trace.spans.op[row] = {};
    const Analysis analysis = explained(made);
    EXPECT_EQ(analysis.late_rank->rank, 1);
    EXPECT_TRUE(late_operators(analysis).empty());
    EXPECT_TRUE(analysis.elsewhere.empty());
    EXPECT_FALSE(analysis.elsewhere_known);
    EXPECT_EQ(straggler_evidence(analysis).find("none on rank"), std::string::npos);
  }
}

// What runs on the same inputs in two phases is two rows of a table, and one operator.
TEST(OtherRanks, AddUpTheRowsOfOneName) {
  fabricate::Ranks made = ranks_of(2, [](fabricate::Ranks& program, int rank) {
    program.launch(rank, 100, "aten::sub 8");
    if (rank == 0) return;
    program.launch(1, 100, "aten::sub 9");
    program.launch(1, 300, "aten::add 8");
    program.launch(1, 200, "aten::add 9");
  });
  for (trace::Operator& op : made.trace().operators) {
    if (op.geometry != "9") continue;
    op.geometry = "8";
    op.phase = trace::Phase::kOptimizer;
  }
  const Analysis analysis = explained(made);
  ASSERT_EQ(late_operators(analysis).size(), 2u);
  const RankOperator &add = late_operators(analysis)[0], &sub = late_operators(analysis)[1];
  EXPECT_EQ(add.name, "add 8");
  EXPECT_NEAR(add.late_ms, 0.5, 1e-6);
  EXPECT_EQ(add.late_calls, 2);
  EXPECT_EQ(sub.name, "sub 8");
  EXPECT_EQ(sub.shown_name, "");
  EXPECT_EQ(sub.late_calls, 2);
  EXPECT_EQ(sub.shown_calls, 1);
  ASSERT_EQ(analysis.elsewhere.size(), 1u);
  EXPECT_NEAR(analysis.elsewhere[0].ms, 0.5, 1e-6);
  EXPECT_EQ(analysis.elsewhere[0].calls, 2);
  for (const double ms : analysis.elsewhere[0].samples_ms) EXPECT_NEAR(ms, 0.5, 1e-6);
}

// Tables of operators can be made of any rank.
TEST(OtherRanks, CountTimeAsTheTablesOfTheirOperators) {
  const std::filesystem::path recorded = source_folder() / "tests/traces/recorded";
  const std::vector<std::filesystem::path> files = {recorded / "straggler_extra_work.fault.rank0.json.gz",
                                                    recorded / "straggler_extra_work.fault.rank1.json.gz"};
  auto trace = trace::import_trace(files);
  ASSERT_TRUE(trace.ok() && trace::link_trace(*trace).ok());
  auto analysis = analyze_device_trace(*trace, Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  ASSERT_FALSE(late_operators(*analysis).empty());
  const Study study = make_study(*trace, gpu_roofs("NVIDIA H200"));
  const OperatorTables late = make_operator_tables(study, 1 - study.headline, 5);
  const RankOperator& first = late_operators(*analysis)[0];
  const auto row = std::find_if(late.operators.begin(), late.operators.end(),
                                [&](const OperatorTime& each) { return each.name == first.name; });
  ASSERT_NE(row, late.operators.end());
  EXPECT_EQ(row->ms.median, first.late_ms);
  EXPECT_EQ(row->calls, first.late_calls);
}

}  // namespace
}  // namespace hone::analyze::device
