#include "trace/recorder.h"

#include <thread>

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

using Kind = ScopeListener::Kind;

std::vector<Operator> two_operators() {
  Operator conv, relu;
  conv.name = "conv";
  relu.name = "relu";
  return {conv, relu};
}

TEST(ScopeRecorder, PutsEverySpanIntoTheStepInWhichItStarts) {
  ScopeRecorder recorder;
  recorder.on_span(Kind::kOperator, 0, 5, 8);  // before any step
  recorder.on_span(Kind::kOperator, 0, 110, 120);
  recorder.on_span(Kind::kOperator, 1, 120, 130);
  recorder.on_span(Kind::kStep, 0, 100, 200);
  recorder.on_span(Kind::kRegion, 0, 310, 320);
  recorder.on_span(Kind::kStep, 0, 300, 400);
  Trace trace = recorder.take({}, two_operators(), {{"bind inputs"}}, "test");
  ASSERT_TRUE(trace.validate().ok());
  ASSERT_EQ(trace.spans.size(), 6u);
  EXPECT_EQ(trace.spans.step, (std::vector<int32_t>{kNoStep, 0, 0, 0, 1, 1}));
  EXPECT_EQ(trace.name(trace.spans.row(2)), "relu");
  EXPECT_EQ(trace.name(trace.spans.row(4)), "bind inputs");
}

TEST(ScopeRecorder, StepsWithinAStepArePartsOfIt) {
  ScopeRecorder recorder;
  recorder.on_span(Kind::kRegion, 0, 10, 40);
  recorder.on_span(Kind::kOperator, 0, 50, 90);
  recorder.on_span(Kind::kStep, 0, 45, 95);
  recorder.on_span(Kind::kStep, 0, 5, 100);
  recorder.on_span(Kind::kStep, 0, 100, 110);
  const Trace trace = recorder.take({}, two_operators(), {{"input: decode", Category::kInput}}, "test");
  ASSERT_TRUE(trace.validate().ok());
  EXPECT_EQ(trace.spans.category,
            (std::vector<Category>{Category::kInput, Category::kOperator, Category::kRegion, Category::kStep,
                                   Category::kStep}));
  EXPECT_EQ(trace.spans.step, (std::vector<int32_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(trace.name(trace.spans.row(2)), "plan");
}

TEST(ScopeRecorder, KeepsThreadsApart) {
  ScopeRecorder recorder;
  RecordingSession session(recorder);
  auto work = [] {
    for (int i = 0; i < 100; ++i) Scope scope(Kind::kOperator, 1);
  };
  std::thread a(work), b(work);
  work();
  a.join();
  b.join();
  Trace trace = recorder.take({}, two_operators(), {}, "test");
  EXPECT_EQ(trace.spans.size(), 300u);
  EXPECT_EQ(trace.tracks.size(), 4u);  // the process and three threads
}

TEST(ScopeRecorder, RecordersTakingTurnsOnAThreadKeepOneTrackEach) {
  ScopeRecorder first(4), second(4);
  for (int i = 0; i < 3; ++i) {
    first.on_span(Kind::kOperator, 0, i, i + 1);
    second.on_span(Kind::kOperator, 0, i, i + 1);
  }
  for (const ScopeRecorder* recorder : {&first, &second}) {
    const Trace trace = recorder->take({}, two_operators(), {}, "test");
    EXPECT_EQ(trace.spans.size(), 3u);
    EXPECT_EQ(trace.tracks.size(), 2u);  // the process and the thread
  }
}

TEST(ScopeRecorder, CountsWhatItCannotKeep) {
  ScopeRecorder recorder(10);
  for (int i = 0; i < 25; ++i) recorder.on_span(Kind::kOperator, 0, i, i + 1);
  Trace trace = recorder.take({}, two_operators(), {}, "test");
  EXPECT_EQ(trace.spans.size(), 10u);
  EXPECT_EQ(trace.meta.dropped, 15u);
}

TEST(ScopeRecorder, ListensOnlyWhileItsSessionLives) {
  ScopeRecorder recorder;
  {
    RecordingSession session(recorder);
    Scope scope(Kind::kStep, 0);
  }
  { Scope unheard(Kind::kStep, 0); }
  EXPECT_EQ(recorder.take({}, {}, {}, "test").spans.size(), 1u);
}

}  // namespace
}  // namespace hone::trace
