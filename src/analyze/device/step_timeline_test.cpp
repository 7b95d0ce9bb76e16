// The timeline of a real recording: every bar within the step, nested bars within what holds them, launches
// linked with their kernels.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

Result<Analysis> explained(std::vector<std::string> names) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& name : names)
    paths.push_back(source_folder() / "tests/traces/recorded" / (name + ".json.gz"));
  HONE_ASSIGN(trace::Trace trace, trace::import_trace(paths));
  HONE_CHECK(trace::link_trace(trace));
  return analyze_trace(trace, {}, {});
}

TEST(StepTimeline, ShowsTheStepOfARecording) {
  const Result<Analysis> analysis = explained({"layout_channels_first.fault"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  ASSERT_GT(analysis->timeline.size(), 100u);
  const double step = analysis->step.ms.median;
  bool host_is_ahead = false;
  std::map<uint64_t, int> links;
  std::map<std::pair<int, int>, double> ends;
  for (const TimelineSpan& bar : analysis->timeline) {
    EXPECT_GE(bar.start_ms, -2.5 * step);
    EXPECT_LE(bar.start_ms + bar.ms, 1.2 * step);
    EXPECT_LT(static_cast<std::size_t>(bar.track), analysis->timeline_tracks.size());
    if (bar.link != 0) ++links[bar.link];
    host_is_ahead |= bar.start_ms < 0;
    // Bars of one depth of a track follow each other.
    double& end = ends.try_emplace({bar.track, bar.depth}, -1e9).first->second;
    EXPECT_GE(bar.start_ms, end - 1e-6) << bar.name;
    end = bar.start_ms + bar.ms;
  }
  EXPECT_TRUE(host_is_ahead);
  // What the step ran leads back to its launch.
  int kernels = 0, linked = 0;
  for (const TimelineSpan& bar : analysis->timeline)
    if (bar.kind.starts_with("kernel") && bar.start_ms > 0) {
      ++kernels;
      linked += links[bar.link] > 1 ? 1 : 0;
    }
  EXPECT_GT(kernels, 100);
  EXPECT_GT(linked, 0.98 * kernels);
}

// Its host is done with the step before the device begins it.
TEST(StepTimeline, NamesOperatorsAboveAStreamWhoseLaunchesAreNotDrawn) {
  const Result<Analysis> analysis = explained({"vocabulary_not_padded.fault"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  const std::vector<std::string>& tracks = analysis->timeline_tracks;
  const auto row = std::find_if(tracks.begin(), tracks.end(),
                                [](const std::string& name) { return name.ends_with(": operators"); });
  ASSERT_NE(row, tracks.end());
  const auto at = static_cast<int>(row - tracks.begin());
  EXPECT_EQ(tracks.at(static_cast<std::size_t>(at) + 1) + ": operators", *row);
  double operators_ms = 0, kernels_ms = 0, end = 0;
  for (const TimelineSpan& bar : analysis->timeline) {
    if (bar.track == at + 1) kernels_ms += bar.ms;
    if (bar.track != at) continue;
    EXPECT_EQ(bar.name.find("aten::"), 0u) << bar.name;
    EXPECT_GE(bar.start_ms, end - 1e-6);
    end = bar.start_ms + bar.ms;
    operators_ms += bar.ms;
  }
  EXPECT_GT(kernels_ms, 0.9 * analysis->step.ms.median);
  EXPECT_NEAR(operators_ms, kernels_ms, 0.05 * kernels_ms);
}

TEST(StepTimeline, HasTheCausesOfIdleTimeWhereTheDeviceIsIdle) {
  const Result<Analysis> analysis = explained({"sync_item_for_logging.fault"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  ASSERT_FALSE(analysis->idle.empty());
  // With the bars of the only stream they fill the step.
  std::vector<std::pair<double, double>> all;  // start, end
  std::set<Cause> causes;
  double idle_ms = 0, busy_ms = 0;
  for (const IdleSpan& gap : analysis->idle) {
    EXPECT_EQ(gap.track, analysis->idle.front().track);
    causes.insert(gap.cause);
    idle_ms += gap.ms;
    all.push_back({gap.start_ms, gap.start_ms + gap.ms});
  }
  for (const TimelineSpan& bar : analysis->timeline)
    if (bar.track == analysis->idle.front().track && bar.start_ms >= 0) {
      busy_ms += bar.ms;
      all.push_back({bar.start_ms, bar.start_ms + bar.ms});
    }
  EXPECT_TRUE(causes.contains(Cause::kHostSync) && causes.contains(Cause::kLaunch));
  EXPECT_NEAR(idle_ms + busy_ms, analysis->step.ms.median, 0.01);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].first, all[i - 1].second - 2e-6) << i;
}

// Who is waited for has idle time of its own, and it says why others wait.
TEST(StepTimeline, HasTheIdleTimeOfTheRankThatIsWaitedForToo) {
  const Result<Analysis> analysis =
      explained({"straggler_sleeps.fault.rank0", "straggler_sleeps.fault.rank1"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  std::map<int, std::map<Cause, double>> idle;  // by track
  for (const IdleSpan& gap : analysis->idle) {
    EXPECT_GE(gap.start_ms, 0);
    EXPECT_LE(gap.start_ms + gap.ms, 1.1 * analysis->step.ms.median);
    idle[gap.track][gap.cause] += gap.ms;
  }
  ASSERT_EQ(idle.size(), 2u);
  const auto name = [&](int track) { return analysis->timeline_tracks.at(static_cast<std::size_t>(track)); };
  EXPECT_EQ(name(idle.begin()->first).substr(0, 6), "rank 0");
  EXPECT_EQ(name(idle.rbegin()->first).substr(0, 6), "rank 1");
  EXPECT_LT(idle.begin()->second[Cause::kHostOther], 1);
  EXPECT_GT(idle.rbegin()->second[Cause::kHostOther], 15);  // it sleeps
}

TEST(StepTimeline, BeginsWithTheRankThatWaitsAndTheOneThatItWaitsFor) {
  const Result<Analysis> analysis = explained({"rank_zero_draws.fault.rank0", "rank_zero_draws.fault.rank1"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  ASSERT_EQ(analysis->ledger_rank, 1);
  ASSERT_EQ(analysis->late_rank->rank, 0);
  EXPECT_EQ(analysis->timeline_tracks.front().substr(0, 6), "rank 1");
  EXPECT_EQ(analysis->timeline_tracks.back().substr(0, 6), "rank 0");
}

TEST(StepTimeline, HasThePlacesOfWhatEvidenceNames) {
  const Result<Analysis> analysis = explained({"layout_channels_first.fault"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  int places = 0;
  for (const Finding& finding : analysis->findings)
    for (const FindingPart& part : finding.parts) {
      if (!part.place) continue;
      ++places;
      EXPECT_TRUE(std::any_of(analysis->timeline.begin(), analysis->timeline.end(), [&](const auto& bar) {
        return bar.kind.starts_with("kernel of aten::" + part.name.substr(0, part.name.find(' '))) &&
               std::abs(bar.start_ms - part.place->start_ms) < 1e-6 &&
               std::abs(bar.ms - part.place->ms) < 1e-6;
      })) << part.name;
    }
  EXPECT_GT(places, 5);
}

TEST(StepTimeline, NamesTheRanksOfItsTracks) {
  const Result<Analysis> analysis =
      explained({"straggler_sleeps.fault.rank0", "straggler_sleeps.fault.rank1"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  std::set<std::string> ranks;
  for (const std::string& track : analysis->timeline_tracks) ranks.insert(track.substr(0, 6));
  EXPECT_EQ(ranks, (std::set<std::string>{"rank 0", "rank 1"}));
}

}  // namespace
}  // namespace hone::analyze::device
