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

}  // namespace
}  // namespace hone::analyze
