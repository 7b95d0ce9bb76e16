#include "observe/session/step_watch.h"

#include <fstream>

#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "trace/testing/segment_writer.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
using trace::segments::MarkKind;
using trace::segments::SegmentWriter;

constexpr int64_t kMs = 1'000'000;

class Watched : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  void see(const SegmentWriter& writer) {
    const std::string bytes = writer.bytes();
    std::ofstream(folder / "1.seg", std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
    tail.read([this](const SegmentRecord& record) { watch.see(record); });
  }

  fs::path folder = scratch_path("watch");
  SegmentTail tail{folder};
  StepWatch watch;
  SegmentWriter program;
};

TEST_F(Watched, KnowsNothingBeforeTheSecondStep) {
  program.mark(MarkKind::kOptimizer, "SGD", 1 * kMs);
  see(program);
  EXPECT_FALSE(watch.by_marks().known());
  EXPECT_EQ(watch.first_mark_ns(), 1 * kMs);
}

TEST_F(Watched, TakesTheOptimizerForTheStepWhateverElseIsMarked) {
  for (int step = 0; step < 12; ++step) {
    const int64_t at = (1 + 10 * step) * kMs;
    for (int micro = 0; micro < 4; ++micro) program.mark(MarkKind::kData, "loader", at + micro * kMs);
    program.mark(MarkKind::kModule, "Net", at + 5 * kMs).mark(MarkKind::kOptimizer, "SGD", at + 9 * kMs);
  }
  see(program);
  const Rhythm rhythm = watch.by_marks();
  EXPECT_EQ(rhythm.step_ns, 10 * kMs);
  EXPECT_DOUBLE_EQ(rhythm.marks_a_step, 6);
  EXPECT_TRUE(rhythm.settled);
}

TEST_F(Watched, IsNotSettledWhileStepsBecomeShorter) {
  int64_t at = 1 * kMs;
  for (int step = 0; step < 12; ++step)
    program.mark(MarkKind::kOptimizer, "SGD", at += (40 - 3 * step) * kMs);
  see(program);
  EXPECT_TRUE(watch.by_marks().known());
  EXPECT_FALSE(watch.by_marks().settled);
}

TEST_F(Watched, FindsThePeriodOfLaunchesAndTheCallThatComesOnceInIt) {
  uint32_t correlation = 0;
  for (int step = 0; step < 6; ++step)
    for (int i = 0; i < 20; ++i) {
      const int64_t at = (1 + 20 * step + i) * kMs;
      program.add(program.call("cudaLaunchKernel", at, 1000, ++correlation));
      program.add(program.kernel("kernel_" + std::to_string(i), at + 2000, 500'000, correlation));
      if (i == 19) program.add(program.call("cudaStreamSynchronize", at + 3000, 1000, 0));
    }
  see(program);
  const Rhythm rhythm = watch.by_work(tail);
  EXPECT_NEAR(static_cast<double>(rhythm.step_ns), 20.0 * kMs, 1.0 * kMs);
  EXPECT_EQ(rhythm.call_a_step, "cudaStreamSynchronize");
  watch.forget_work();
  EXPECT_FALSE(watch.saw_work());
}

TEST_F(Watched, FindsNoPeriodInWhatDoesNotRepeat) {
  for (uint32_t i = 1; i < 100; ++i) program.add(program.kernel("k" + std::to_string(i), i * kMs, 1000, i));
  see(program);
  EXPECT_TRUE(watch.saw_work());
  EXPECT_FALSE(watch.by_work(tail).known());
}

}  // namespace
}  // namespace hone::observe
