// The timeline of a real recording: every bar within the step, nested bars within what holds them, launches
// linked with their kernels.
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

Result<Analysis> explained(std::vector<std::string> names) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& name : names)
    paths.push_back(std::filesystem::path(HONE_SOURCE_DIR) / "tests/traces/recorded" / (name + ".json.gz"));
  HONE_ASSIGN(trace::Trace trace, trace::import_trace(paths));
  HONE_CHECK(trace::link_trace(trace));
  return analyze_trace(trace, {}, {});
}

TEST(StepTimeline, ShowsTheStepOfARecording) {
  const Result<Analysis> analysis = explained({"sync_item_for_logging.fault"});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  ASSERT_GT(analysis->timeline.size(), 100u);
  const double step = analysis->step.ms.median;
  std::map<uint64_t, int> links;
  std::map<std::pair<int, int>, double> ends;
  for (const TimelineSpan& bar : analysis->timeline) {
    EXPECT_GE(bar.start_ms, 0);
    EXPECT_LE(bar.start_ms + bar.ms, 1.2 * step);
    EXPECT_LT(static_cast<std::size_t>(bar.track), analysis->timeline_tracks.size());
    if (bar.link != 0) ++links[bar.link];
    // Bars of one depth of a track follow each other.
    double& end = ends[{bar.track, bar.depth}];
    EXPECT_GE(bar.start_ms, end - 1e-6) << bar.name;
    end = bar.start_ms + bar.ms;
  }
  EXPECT_GT(std::count_if(links.begin(), links.end(), [](const auto& link) { return link.second == 2; }), 20);
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
