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
