#include "trace/link/told_steps.h"

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

// Three steps of a millisecond were found; the program tells of recorded steps of `told_ms`.
Trace with_steps(double told_ms) {
  Trace trace;
  trace.tracks.push_back({});
  const StringId name = trace.strings.intern("step");
  for (int64_t i = 0; i < 3; ++i)
    trace.spans.add(
        {i * 1'000'000, 1'000'000, TrackId{0}, name, Category::kStep, static_cast<int32_t>(i), {}, 0});
  trace.meta.block_steps = {{0, 0, BlockMode::kUntouched, 1, told_ms * 0.9e6, false},
                            {0, 1, BlockMode::kOperators, 1, told_ms * 1e6, true}};
  return trace;
}

std::size_t told_after(Trace trace) {
  leave_out_other_steps(trace);
  return trace.meta.block_steps.size();
}

TEST(ToldSteps, StayWhereTheyAreTheStepsThatWereFound) {
  EXPECT_EQ(told_after(with_steps(1)), 2u);
  EXPECT_EQ(told_after(with_steps(1.3)), 2u);
  EXPECT_EQ(told_after(with_steps(2)), 0u);
  EXPECT_EQ(told_after(with_steps(0.5)), 0u);
}

TEST(ToldSteps, OfARecorderThatTookTurnsAreItsOwn) {
  Trace trace = with_steps(2);
  trace.meta.blocks.push_back({});
  EXPECT_EQ(told_after(trace), 2u);
}

}  // namespace
}  // namespace hone::trace::link
