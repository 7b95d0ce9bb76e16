#include "trace/span_nesting.h"

#include <random>

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

class Spans {
 public:
  Spans() {
    for (int i = 0; i < 2; ++i) trace.add_track({TrackKind::kThread, "thread", {}, 1, i, 0, -1});
  }
  uint32_t add(int64_t start, int64_t end, uint32_t track = 0, Category category = Category::kOperator) {
    trace.spans.add({start, end - start, {track}, trace.strings.intern("x"), category, kNoStep, {}, 0});
    return static_cast<uint32_t>(trace.spans.size() - 1);
  }
  Trace trace;
};

TEST(SpanNesting, FindsWhatEnclosesWhatOnEachTrack) {
  Spans spans;
  const uint32_t inner = spans.add(20, 30), outer = spans.add(10, 50), after = spans.add(50, 60);
  const uint32_t second = spans.add(35, 45), elsewhere = spans.add(22, 28, 1);
  const SpanNesting nesting(spans.trace);
  EXPECT_EQ(nesting.parent(inner), outer);
  EXPECT_EQ(nesting.parent(second), outer);
  EXPECT_EQ(nesting.parent(outer), kNoSpan);
  EXPECT_EQ(nesting.parent(after), kNoSpan) << "a span ends before its end";
  EXPECT_EQ(nesting.parent(elsewhere), kNoSpan);
  EXPECT_EQ(nesting.innermost_at(spans.trace, {0}, 25), inner);
  EXPECT_EQ(nesting.innermost_at(spans.trace, {0}, 30), outer);
  EXPECT_EQ(nesting.innermost_at(spans.trace, {0}, 9), kNoSpan);
  EXPECT_EQ(nesting.innermost_at(spans.trace, {0}, 60), kNoSpan);
  EXPECT_EQ(nesting.on_track({0}).size(), 4u);
  EXPECT_EQ(nesting.on_track({0})[0], outer);
  EXPECT_TRUE(nesting.on_track({7}).empty());
}

TEST(SpanNesting, PutsAStepWithinNothingThatEndsBeforeIt) {
  Spans spans;
  const uint32_t epoch = spans.add(0, 200, 0, Category::kRegion);
  const uint32_t optimizer = spans.add(10, 50, 0, Category::kRegion), fused = spans.add(20, 30);
  const uint32_t step = spans.add(48, 150, 0, Category::kStep), early = spans.add(49, 60),
                 late = spans.add(70, 80);
  const SpanNesting nesting(spans.trace);
  EXPECT_EQ(nesting.parent(fused), optimizer);
  EXPECT_EQ(nesting.parent(step), epoch);
  EXPECT_EQ(nesting.parent(early), step);
  EXPECT_EQ(nesting.parent(late), step);
}

TEST(SpanNesting, PutsTheLongerOfTwoThatBeginTogetherOutside) {
  Spans spans;
  const uint32_t brief = spans.add(10, 20), lasting = spans.add(10, 30);
  const uint32_t launch = spans.add(12, 13, 0, Category::kRuntime);
  const SpanNesting nesting(spans.trace);
  EXPECT_EQ(nesting.parent(brief), lasting);
  EXPECT_EQ(nesting.nearest(spans.trace, Category::kOperator)[launch], brief);
  EXPECT_EQ(nesting.nearest(spans.trace, Category::kRuntime)[launch], launch);
  EXPECT_EQ(nesting.nearest(spans.trace, Category::kRegion)[launch], kNoSpan);
}

TEST(SpanNesting, AgreesWithASearchOfAllSpans) {
  std::mt19937 random(7);
  Spans spans;
  // properly nested: each span splits the one before
  std::vector<std::pair<int64_t, int64_t>> open = {{0, 1'000'000}};
  while (!open.empty() && spans.trace.spans.size() < 500) {
    const auto [start, end] = open.back();
    open.pop_back();
    spans.add(start, end);
    if (end - start < 30) continue;
    const int64_t middle = start + (end - start) / 2;
    open.emplace_back(start + 1 + random() % 5, middle - 1);
    open.emplace_back(middle + random() % 5, end - 1);
  }
  const SpanNesting nesting(spans.trace);
  for (int i = 0; i < 2000; ++i) {
    const int64_t time = random() % 1'000'100;
    uint32_t expected = kNoSpan;
    for (uint32_t row = 0; row < spans.trace.spans.size(); ++row) {
      const Span span = spans.trace.spans.row(row);
      const bool contains = span.start_ns <= time && time < span.end_ns();
      if (contains && (expected == kNoSpan || span.duration_ns < spans.trace.spans.duration_ns[expected]))
        expected = row;
    }
    EXPECT_EQ(nesting.innermost_at(spans.trace, {0}, time), expected) << time;
  }
}

}  // namespace
}  // namespace hone::trace
