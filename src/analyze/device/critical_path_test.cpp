// The walk ends, and its segments tile the step, whatever was matched with what.
#include "analyze/device/critical_path.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// Ranks of one stream each, with works that nobody launched, in one step of 1 µs a unit.
class Ranks {
 public:
  explicit Ranks(uint32_t count, int64_t step_us) {
    const trace::TrackId process = add_process(trace_);
    study_.trace = &trace_;
    for (uint32_t rank = 0; rank < count; ++rank) {
      RankTimeline timeline;
      timeline.rank = static_cast<int>(rank);
      timeline.streams = {add_stream(trace_, process)};
      timeline.steps = {{0, 0, step_us * 1000, 0, step_us * 1000}};
      study_.timelines.push_back(timeline);
      study_.activities.emplace_back();
      study_.ranks.emplace_back().typical.ms = static_cast<double>(step_us) * 1e-3;
      study_.collectives.of.emplace_back();
    }
  }

  // Returns the work's place on its rank; works of a rank are given by their start.
  uint32_t work(uint32_t rank, int64_t start_us, int64_t end_us) {
    RankTimeline& timeline = study_.timelines[rank];
    Work work;
    work.span = add_span(trace_, {.on = timeline.streams[0],
                                  .category = trace::Category::kCommunication,
                                  .name = "ncclDevKernel_SendRecv",
                                  .from_us = static_cast<double>(start_us),
                                  .us = static_cast<double>(end_us - start_us),
                                  .step = 0});
    work.start_ns = start_us * 1000;
    work.end_ns = end_us * 1000;
    work.kind = WorkKind::kCollective;
    work.step = 0;
    timeline.works.push_back(work);
    study_.collectives.of[rank].push_back(kNothing);
    return static_cast<uint32_t>(timeline.works.size() - 1);
  }

  void meet(uint32_t rank_a, uint32_t work_a, uint32_t rank_b, uint32_t work_b) {
    MatchedCollective collective;
    for (const auto& [rank, index] : {std::pair(rank_a, work_a), std::pair(rank_b, work_b)}) {
      const Work& work = study_.timelines[rank].works[index];
      collective.ranks.push_back(
          {rank, index, static_cast<double>(work.start_ns), static_cast<double>(work.end_ns)});
      study_.collectives.of[rank][index] = static_cast<uint32_t>(study_.collectives.all.size());
    }
    collective.first_ns = std::min(collective.ranks[0].start_ns, collective.ranks[1].start_ns);
    collective.last_ns = std::max(collective.ranks[0].start_ns, collective.ranks[1].start_ns);
    collective.end_ns = std::max(collective.ranks[0].end_ns, collective.ranks[1].end_ns);
    study_.collectives.all.push_back(collective);
  }

  const Study& study() {
    study_.programs = make_programs(trace_, study_.timelines, study_.activities, study_.collectives);
    return study_;
  }

 private:
  trace::Trace trace_;
  Study study_;
};

void expect_tiled(const std::vector<PathSegment>& path, double step_ms) {
  double at = 0;
  for (const PathSegment& segment : path) {
    EXPECT_NEAR(segment.start_ms, at, 1e-9);
    EXPECT_GT(segment.ms, 0);
    at = segment.start_ms + segment.ms;
  }
  EXPECT_NEAR(at, step_ms, 1e-9);
}

TEST(CriticalPath, GoesToTheRankThatCameLast) {
  Ranks ranks(2, 100);
  const uint32_t early = ranks.work(0, 10, 100), late = ranks.work(1, 60, 100);
  ranks.meet(0, early, 1, late);
  const auto path = critical_path(ranks.study());
  expect_tiled(path, 0.1);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].track, "rank 1 · stream 7");
  EXPECT_EQ(path[1].track, "rank 0 · stream 7");
  EXPECT_NEAR(path[1].start_ms, 0.06, 1e-9);
}

// A1 waits for B1, before which came B0, which waits for A2, before which came A1: each of them later than
// the one it was reached from. Only matching crosswise makes such a recording (sends and receives of a
// pipeline did).
TEST(CriticalPath, EndsWhereCollectivesAreMatchedCrosswise) {
  Ranks ranks(2, 50);
  const uint32_t a1 = ranks.work(0, 10, 40), a2 = ranks.work(0, 20, 41), a3 = ranks.work(0, 45, 50);
  const uint32_t b0 = ranks.work(1, 0, 25), b1 = ranks.work(1, 30, 40), b2 = ranks.work(1, 48, 50);
  ranks.meet(0, a1, 1, b1);
  ranks.meet(1, b0, 0, a2);
  ranks.meet(0, a3, 1, b2);
  expect_tiled(critical_path(ranks.study()), 0.05);
}

TEST(CriticalPath, EndsForAnyMatching) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const uint32_t count = 2 + random() % 3;
    Ranks ranks(count, 200);
    std::vector<std::pair<uint32_t, uint32_t>> all;
    for (uint32_t rank = 0; rank < count; ++rank) {
      int64_t start = 0;
      for (int i = 0; i < 12; ++i) {
        start += random() % 12;  // none at all, too
        all.emplace_back(rank, ranks.work(rank, start, i == 11 ? 200 : start + random() % 40));
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    for (std::size_t i = 0; i + 1 < all.size(); i += 2)
      if (all[i].first != all[i + 1].first)
        ranks.meet(all[i].first, all[i].second, all[i + 1].first, all[i + 1].second);
    expect_tiled(critical_path(ranks.study()), 0.2);
  }
}

}  // namespace
}  // namespace hone::analyze::device
