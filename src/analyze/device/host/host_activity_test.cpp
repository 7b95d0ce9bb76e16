// What the host did at every instant, against a slow answer that looks at each instant by itself.
#include "analyze/device/host/host_activity.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

using trace::Category;

constexpr int64_t kEnd = 400;

// Spans of random length, nested properly, on `threads` threads; some say what they do.
class RandomHost {
 public:
  RandomHost(uint32_t seed, int threads) : random_(seed) {
    const trace::TrackId process = add_process(trace);
    name_ = trace.strings.intern("aten::mul");
    for (int i = 0; i < threads; ++i) {
      timeline.threads.push_back(add_thread(trace, process, "thread", i));
      nest(timeline.threads.back(), 10 + below(50), kEnd - 1 - below(50));
    }
  }

  trace::Trace trace;
  RankTimeline timeline;

 private:
  int64_t below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_); }

  void nest(trace::TrackId track, int64_t from, int64_t to) {
    while (from < to) {
      const int64_t start = from + below(6), end = std::min(start + 1 + below(60), to);
      if (start >= end) return;
      const Category category = below(4) == 0   ? Category::kSynchronization
                                : below(4) == 0 ? Category::kAllocation
                                                : Category::kOperator;
      trace.spans.add({start, end - start, track, name_, category, trace::kNoStep, {}, 0});
      if (below(3) > 0) nest(track, start, end);
      from = end;
    }
  }

  std::mt19937 random_;
  trace::StringId name_;
};

struct Doing {
  uint32_t span = kNothing;
  bool says = false;
  int64_t since = -1;  // when the thread last changed what it does
};

// What one thread does in [at, at + 1).
Doing doing(const trace::Trace& trace, trace::TrackId track, int64_t at) {
  Doing now;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    const trace::Span span = trace.spans.row(row);
    if (span.track != track) continue;
    for (const int64_t edge : {span.start_ns, span.end_ns()})
      if (edge <= at) now.since = std::max(now.since, edge);
    if (span.start_ns <= at && at < span.end_ns()) now.span = row;  // rows of inner spans are higher
  }
  if (now.span != kNothing) now.says = trace.spans.category[now.span] != Category::kOperator;
  return now;
}

uint32_t slow_answer(const RandomHost& host, int64_t at) {
  Doing best;
  for (const trace::TrackId track : host.timeline.threads) {
    const Doing now = doing(host.trace, track, at);
    if (now.span == kNothing) continue;
    const bool goes_before =
        best.span == kNothing || (now.says != best.says ? now.says : now.since >= best.since);
    if (goes_before) best = now;
  }
  return best.span;
}

TEST(HostActivity, IsThatOfTheThreadThatCountsAtEveryInstant) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomHost host(seed, 1 + static_cast<int>(seed % 4));
    const HostActivity activity = host_activity(host.trace, host.timeline);
    ASSERT_FALSE(activity.intervals.empty());
    int64_t at = activity.intervals.front().start_ns;
    for (const ActivitySpan& interval : activity.intervals) {
      ASSERT_EQ(interval.start_ns, at) << seed;  // gapless
      for (; at < interval.end_ns; ++at)
        ASSERT_EQ(interval.span, slow_answer(host, at)) << seed << " at " << at;
    }
    for (; at < kEnd; ++at) EXPECT_EQ(slow_answer(host, at), kNothing) << seed;
  }
}

TEST(HostActivity, DividesTimeIntoPartsThatAddUp) {
  const RandomHost host(7, 3);
  const HostActivity activity = host_activity(host.trace, host.timeline);
  for (int64_t from = 0; from < kEnd; from += 17)
    for (int64_t to = from; to < kEnd + 50; to += 13) {
      const HostTime time = activity.divide(from, to);
      int64_t sum = 0;
      for (std::size_t i = 0; i < time.all.size(); ++i) {
        sum += time.all[i];
        EXPECT_LE(time.in_operators[i], time.all[i]);
      }
      EXPECT_EQ(sum, to - from);
    }
}

TEST(HostActivity, IsDividedAlikeWhereverThePieceBeforeLay) {
  const RandomHost host(11, 2);
  const HostActivity activity = host_activity(host.trace, host.timeline);
  HostDivider divider(activity);
  std::mt19937 random(3);
  std::uniform_int_distribution<int64_t> instant(-20, kEnd + 20), length(0, 40);
  for (int i = 0; i < 2000; ++i) {
    const int64_t from = instant(random), to = from + length(random);
    const HostTime one = divider.divide(from, to), other = activity.divide(from, to);
    EXPECT_EQ(one.all, other.all);
    EXPECT_EQ(one.in_operators, other.in_operators);
    EXPECT_EQ(one.operators, other.operators);
    EXPECT_EQ(std::accumulate(one.operators.begin(), one.operators.end(), int64_t{0}),
              std::count_if(activity.operator_starts.begin(), activity.operator_starts.end(),
                            [&](int64_t start) { return from <= start && start < to; }));
  }
}

TEST(HostActivity, EveryWordCanDecide) {
  EXPECT_EQ(trace::unreachable_rows(activity_words()), std::vector<std::string_view>());
}

}  // namespace
}  // namespace hone::analyze::device
