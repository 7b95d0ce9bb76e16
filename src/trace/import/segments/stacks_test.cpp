#include "trace/import/segments/stacks.h"

#include <array>

#include <gtest/gtest.h>

namespace hone::trace::segments {
namespace {

TEST(StackBuilder, TakesPythonsFramesApart) {
  Trace trace;
  StackBuilder builder(trace);
  const Frame frame =
      trace.stacks.frames.at(builder.python_frame("step (/home/anna (old)/train.py:40)").index);
  EXPECT_EQ(trace.strings.text(frame.function), "step");
  EXPECT_EQ(trace.strings.text(frame.file), "/home/anna (old)/train.py");
  EXPECT_EQ(frame.line, 40);
}

TEST(StackBuilder, TakesFramesOfAnyForm) {
  Trace trace;
  StackBuilder builder(trace);
  for (const char* text : {"", "/)(", "no file", "f (a:b)", "g (a:1", " (:)", " (a:7)"}) {
    const Frame frame = trace.stacks.frames.at(builder.python_frame(text).index);
    EXPECT_EQ(trace.strings.text(frame.function), std::string_view(text) == " (a:7)" ? "" : text);
  }
}

TEST(StackBuilder, KeepsEachFrameAndEachStackOnce) {
  Trace trace;
  trace.add_track({TrackKind::kThread, "main", {}, 1, 1});
  StackBuilder builder(trace);
  const FrameId step = builder.frame(FrameKind::kPython, "step", "train.py", 40);
  EXPECT_EQ(builder.frame(FrameKind::kPython, "step", "train.py", 40), step);
  EXPECT_NE(builder.frame(FrameKind::kPython, "step", "train.py", 41), step);
  EXPECT_NE(builder.frame(FrameKind::kNative, "step", "train.py", 40), step);
  for (int i = 0; i < 3; ++i) builder.add({i, {0}, trace::ThreadState::kRunning}, std::array{step}, {});
  EXPECT_EQ(trace.stacks.stacked.size(), 1u);
  ASSERT_EQ(trace.stacks.samples.size(), 3u);
  EXPECT_EQ(trace.stacks.python(trace.stacks.samples[2])[0], step);
  EXPECT_TRUE(trace.validate().ok());
}

}  // namespace
}  // namespace hone::trace::segments
