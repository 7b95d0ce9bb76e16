// Merging the bars of a timeline: what is short and near goes together, what is long stays, and no time is
// lost.
#include "report/timeline/merge.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/timeline/data.h"

namespace hone::report {
namespace {

analyze::TimelineSpan span(int track, int depth, double start_ms, double ms, uint64_t link = 0) {
  return {track, start_ms, ms, "a", "kernel", trace::OperatorClass::kMatrix, depth, link};
}

TEST(MergeShort, LeavesFewBarsAsTheyAre) {
  const MergedTimeline merged = merge_short({span(1, 0, 2, 1), span(0, 1, 1, 1), span(0, 0, 1, 1)}, 3);
  ASSERT_EQ(merged.spans.size(), 3u);
  EXPECT_EQ(merged.merged, 0u);
  EXPECT_EQ(merged_note(merged), "");
  EXPECT_EQ(merged.spans[0].depth, 0);
  EXPECT_EQ(merged.spans[2].track, 1);
}

TEST(MergeShort, PutsShortNeighboursTogetherAndKeepsTheLong) {
  std::vector<analyze::TimelineSpan> bars;
  for (int i = 0; i < 1000; ++i) bars.push_back(span(0, 0, i * 0.001, 0.0009, 7));
  bars.push_back(span(0, 0, 1.0, 5, 9));
  bars.push_back(span(0, 1, 0.5, 0.0005));  // another depth: not a neighbour
  const MergedTimeline merged = merge_short(bars, 10);
  ASSERT_EQ(merged.spans.size(), 3u);
  EXPECT_EQ(merged.spans[0].name, "1000 short spans");
  EXPECT_EQ(merged.spans[0].link, 0u);
  EXPECT_NEAR(merged.spans[0].ms, 0.9999, 1e-9);
  EXPECT_EQ(merged.spans[1].link, 9u);
  EXPECT_EQ(merged.merged, 999u);
  EXPECT_NE(merged_note(merged).find("shorter than"), std::string::npos);
}

TEST(TimelineJson, IsInertInsideAPage) {
  analyze::Analysis analysis;
  analysis.timeline_tracks = {"</script>", "\xff"};
  std::vector<analyze::TimelineSpan> bars = {span(0, 0, 0.5, 1, 3), span(1, 0, 1, 1, 3), span(1, 0, 3, 1, 4)};
  bars[0].name = "</script><script>\u2028é";
  const std::string text =
      timeline_json(analysis, merge_short(bars, 10), {{1, 1, 0.5, analyze::Cause::kHostSync, "</script>"}});
  for (unsigned char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f && c != '<');
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["s"], (nlohmann::json{500000, 500000, 2000000}));
  EXPECT_EQ(json["l"], (nlohmann::json{1, 1, 0}));  // a link of one bar leads nowhere
  EXPECT_EQ(json["names"].size(), 3u);
  EXPECT_EQ(json["idle"]["t"], nlohmann::json{1});
  EXPECT_EQ(json["idle"]["s"], nlohmann::json{1000000});
  EXPECT_EQ(json["causes"][json["idle"]["c"][0].get<std::size_t>()][0], "host sync");
}

}  // namespace
}  // namespace hone::report
