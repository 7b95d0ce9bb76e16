#include "observe/session/timed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"

namespace hone::observe {
namespace {

using ::testing::HasSubstr;

TEST(TimedRun, EndsAProgramThatMarksNoStepsLongBeforeTimeIsUp) {
  TimedRunOptions options;
  options.folder = scratch_path("timed_run");
  options.command = {"sleep", "60"};
  options.patience_s = 50;
  options.marks_within_s = 0.2;
  const Result<TimedRun> run = time_steps(options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_LT(run->seconds, 10);
  EXPECT_TRUE(run->steps_ms.empty());
  EXPECT_FALSE(run->exit_status.has_value());
  EXPECT_THAT(run->why_none, HasSubstr("hone ended it after 0 s, before it had marked two steps"));
  std::filesystem::remove_all(options.folder);
}

}  // namespace
}  // namespace hone::observe
