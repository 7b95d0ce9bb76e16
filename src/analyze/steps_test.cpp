#include "analyze/steps.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

using testing::ElementsAre;

std::vector<std::string> notes_of(const std::vector<double>& samples_ms) {
  StepTime time;
  time.ms.median = 10;
  time.samples_ms = samples_ms;
  std::vector<int32_t> numbers(samples_ms.size());
  std::iota(numbers.begin(), numbers.end(), 100);
  note_outliers(numbers, time);
  return time.notes;
}

TEST(OutlierSteps, AreNamedEach) {
  EXPECT_THAT(notes_of({20, 10, 10, 14, 10}),
              ElementsAre("step 100 took 20.00 ms: warm-up, or the wait for it",
                          "step 103 took 14.00 ms: an outlier"));
}

TEST(OutlierSteps, AreCountedWhereThereAreMany) {
  EXPECT_THAT(
      notes_of({20, 14, 14, 25, 14, 10, 10, 10, 10, 10, 10}),
      ElementsAre("5 of 11 steps took more than 1.3 times the median, the longest, step 103, 25.00 ms"));
}

std::vector<StepWindow> steps_of(const std::vector<double>& times_ms) {
  std::vector<StepWindow> steps;
  int64_t at_ns = 0;
  for (const double ms : times_ms) {
    StepWindow step;
    step.step = static_cast<int32_t>(steps.size());
    step.start_ns = at_ns;
    step.end_ns = at_ns += static_cast<int64_t>(ms * 1e6);
    steps.push_back(step);
  }
  return steps;
}

const std::vector<double> kStalling = {10, 10, 60, 10, 10, 60, 10, 10, 60, 10};

TEST(StallingSteps, AreToldByTheirMeanAndAllCount) {
  const std::vector<StepWindow> steps = steps_of(kStalling);
  const Stalls stalls = stalls_of(trace::Meta(), 0, steps);
  StepTime time = step_time(steps, stalls);
  EXPECT_DOUBLE_EQ(time.ms.median, 25);
  EXPECT_LT(time.ms.low, 25);
  EXPECT_GT(time.ms.high, 25);
  EXPECT_EQ(central_steps(steps, stalls).size(), steps.size());
  note_outliers(std::vector<int32_t>(steps.size()), time);
  EXPECT_THAT(
      time.notes,
      ElementsAre(
          "3 of 10 steps take more than 1.3 times as long as the median, 10.00 ms: they come again and again "
          "and cost 15.00 ms a step, so that what is told is the mean of the steps, 25.00 ms"));
}

// The recorder holds up what begins a block.
TEST(StallingSteps, AreNotThoseThatBeginBlocks) {
  const std::vector<StepWindow> steps = steps_of(kStalling);
  trace::Meta meta;
  for (const std::size_t begins : {0u, 2u, 5u, 8u}) {
    if (!meta.blocks.empty()) meta.blocks.back().end_ns = steps[begins].start_ns;
    trace::RecordingBlock block;
    block.number = static_cast<uint32_t>(begins);
    block.start_ns = steps[begins].start_ns;
    block.end_ns = steps.back().end_ns;
    meta.blocks.push_back(block);
  }
  EXPECT_FALSE(stalls_of(meta, 0, steps).recur);
}

}  // namespace
}  // namespace hone::analyze
