#include "trace/select_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Steps 10 to 13 of 1 ms each, from 0 on.
Trace four_steps() {
  Trace trace;
  const TrackId thread = add_thread(trace, add_process(trace));
  for (int step = 0; step < 4; ++step)
    add_span(trace, {.on = thread,
                     .category = Category::kStep,
                     .name = "step",
                     .from_us = 1000.0 * step,
                     .us = 1000,
                     .step = 10 + step});
  return trace;
}

std::vector<int32_t> steps_left(const StepSelection& selection) {
  Trace trace = four_steps();
  const Status status = select_steps(trace, selection);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  EXPECT_TRUE(trace.validate().ok());
  std::vector<int32_t> steps;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep) steps.push_back(trace.spans.step[row]);
  return steps;
}

TEST(SelectSteps, KeepsThoseOfTheseNumbersOrWithinTheseTimes) {
  EXPECT_THAT(steps_left({}), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(steps_left({.first = 12, .last = 12}), ElementsAre(12));
  EXPECT_THAT(steps_left({.first = 11, .last = 12}), ElementsAre(11, 12));
  EXPECT_THAT(steps_left({.from_ms = 1}), ElementsAre(11, 12, 13));
  EXPECT_THAT(steps_left({.from_ms = 0.5, .to_ms = 3.5}), ElementsAre(11, 12));
}

TEST(SelectSteps, SaysWhichStepsThereAre) {
  Trace trace = four_steps();
  const Status none = select_steps(trace, {.first = 7, .last = 7});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("steps 10 to 13, from 0.000 to 4.000 ms"));
}

}  // namespace
}  // namespace hone::trace
