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
constexpr int64_t kNow = 150 * kMs;  // when the watch is asked

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
  EXPECT_FALSE(watch.by_marks(kNow).known());
  EXPECT_TRUE(watch.sure_marks_go_on(kNow));
}

TEST_F(Watched, TakesTheOptimizerForTheStepWhateverElseIsMarked) {
  for (int step = 0; step < 12; ++step) {
    const int64_t at = (1 + 10 * step) * kMs;
    for (int micro = 0; micro < 4; ++micro) program.mark(MarkKind::kData, "loader", at + micro * kMs);
    program.mark(MarkKind::kModule, "Net", at + 5 * kMs).mark(MarkKind::kOptimizer, "SGD", at + 9 * kMs);
  }
  see(program);
  const Rhythm rhythm = watch.by_marks(kNow);
  EXPECT_EQ(rhythm.step_ns, 10 * kMs);
  EXPECT_DOUBLE_EQ(rhythm.marks_a_step, 6);
  EXPECT_TRUE(rhythm.settled);
}

TEST_F(Watched, IsNotSettledWhileStepsBecomeShorter) {
  int64_t at = 1 * kMs;
  for (int step = 0; step < 12; ++step)
    program.mark(MarkKind::kOptimizer, "SGD", at += (40 - 3 * step) * kMs);
  see(program);
  EXPECT_TRUE(watch.by_marks(kNow).known());
  EXPECT_FALSE(watch.by_marks(kNow).settled);
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

// Ranges and waits come in programs that mark nothing better; the rarest encloses the others.
TEST_F(Watched, TakesTheRarestRangeForTheStepWhereNothingIsSurer) {
  for (int step = 0; step < 8; ++step) {
    const int64_t at = (1 + 10 * step) * kMs;
    for (int part = 0; part < 3; ++part) program.mark(MarkKind::kRange, "part", at + part * kMs);
    program.mark(MarkKind::kRange, "step", at).mark(MarkKind::kHostWait, "torch.cuda.synchronize", at);
  }
  see(program);
  const Rhythm rhythm = watch.by_marks(kNow);
  EXPECT_EQ(rhythm.step_ns, 10 * kMs);
  EXPECT_FALSE(rhythm.sure);
  EXPECT_FALSE(watch.sure_marks_go_on(kNow));
  EXPECT_FALSE(watch.by_marks(10'000 * kMs).known()) << "they have stopped long ago";
}

// A module is called until it has been captured in a CUDA graph.
TEST_F(Watched, TakesWhatGoesOnWhereSurerMarksHaveStopped) {
  for (int step = 0; step < 5; ++step) program.mark(MarkKind::kModule, "Net", step * kMs);
  for (int step = 0; step < 10'000; ++step)
    program.mark(MarkKind::kHostWait, "torch.cuda.synchronize", (10 + 2 * step) * kMs);
  see(program);
  EXPECT_TRUE(watch.by_marks(kNow).sure);
  EXPECT_EQ(watch.by_marks(20'000 * kMs).step_ns, 2 * kMs);
  EXPECT_FALSE(watch.sure_marks_go_on(20'000 * kMs));
}

TEST_F(Watched, TakesWhatOnlySaysThatMarksWillComeForNone) {
  for (int i = 0; i < 9; ++i) {
    program.mark(MarkKind::kComing, "", i * kMs);
    program.mark(MarkKind::kTraining, "", i * kMs);
  }
  see(program);
  EXPECT_FALSE(watch.sure_marks_go_on(kNow));
  EXPECT_FALSE(watch.by_marks(kNow).known());
}

// Weights that are copied to the device, two by two.
TEST_F(Watched, TakesWhatRepeatsForAMomentForNoStep) {
  for (uint32_t i = 0; i < 16; ++i) {
    program.add(program.kernel(i % 2 == 0 ? "weight" : "bias", (1 + i) * kMs, 1000, i));
    program.mark(MarkKind::kApiCall, i % 2 == 0 ? "cudaMemcpyAsync" : "cudaStreamSynchronize", (1 + i) * kMs,
                 i);
  }
  see(program);
  EXPECT_TRUE(watch.by_work(tail, 25 * kMs).known());
  EXPECT_FALSE(watch.by_work(tail, 100 * kMs).known());
  EXPECT_TRUE(watch.by_calls(tail, 25 * kMs).known());
  EXPECT_FALSE(watch.by_calls(tail, 100 * kMs).known());
}

TEST_F(Watched, KnowsWorkThatItHasSeenBefore) {
  program.add(program.kernel("first", 1 * kMs, 1000, 1));
  see(program);
  EXPECT_FALSE(watch.saw_familiar_work());
  watch.forget_work();
  EXPECT_FALSE(watch.saw_familiar_work()) << "nothing was seen";
  program.add(program.kernel("second", 2 * kMs, 1000, 2));
  see(program);
  EXPECT_FALSE(watch.saw_familiar_work());
  watch.forget_work();
  program.add(program.kernel("second", 3 * kMs, 1000, 3)).add(program.kernel("first", 4 * kMs, 1000, 4));
  see(program);
  EXPECT_TRUE(watch.saw_familiar_work());
}

// Of the calls that are noted while nothing is recorded.
TEST_F(Watched, FindsThePeriodOfCallsAndTheOneThatComesOnceInIt) {
  uint64_t launched = 0;
  for (int step = 0; step < 10; ++step) {
    const int64_t at = (1 + 10 * step) * kMs;
    for (int i = 0; i < 3; ++i)
      program.mark(MarkKind::kApiCall, "cudaMemcpyAsync", at + i * kMs, launched += 10 + i);
    program.mark(MarkKind::kApiCall, "cudaStreamSynchronize", at + 5 * kMs, launched += 50);
  }
  see(program);
  EXPECT_FALSE(watch.by_marks(kNow).known());
  const Rhythm rhythm = watch.by_calls(tail);
  EXPECT_NEAR(static_cast<double>(rhythm.step_ns), 10.0 * kMs, 0.5 * kMs);
  EXPECT_EQ(rhythm.call_a_step, "cudaStreamSynchronize");
}

TEST_F(Watched, FindsNoPeriodInCallsThatComeAsItHappens) {
  for (uint64_t i = 1; i < 40; ++i)
    program.mark(MarkKind::kApiCall, i % 7 * i % 3 == 0 ? "cudaMemcpy" : "cudaFree", i * i * kMs, i * i);
  see(program);
  EXPECT_FALSE(watch.by_calls(tail).known());
}

// Launches that are all alike, and a wait after each dozen.
TEST_F(Watched, TellsStepsOfOneKernelByTheWaits) {
  uint32_t correlation = 0;
  for (int step = 0; step < 6; ++step)
    for (int i = 0; i < 12; ++i) {
      const int64_t at = (1 + 12 * step + i) * kMs;
      program.add(program.call("cudaLaunchKernel", at, 1000, ++correlation));
      program.add(program.kernel("tiny", at + 2000, 500'000, correlation));
      if (i == 11) program.add(program.call("cudaDeviceSynchronize", at + 3000, 1000, 0));
    }
  see(program);
  const Rhythm rhythm = watch.by_work(tail);
  EXPECT_NEAR(static_cast<double>(rhythm.step_ns), 12.0 * kMs, 1.0 * kMs);
  EXPECT_EQ(rhythm.call_a_step, "cudaDeviceSynchronize");
}

TEST_F(Watched, TakesOneKernelWithoutAWaitForNoStep) {
  for (uint32_t i = 1; i < 100; ++i) program.add(program.kernel("tiny", i * kMs, 1000, i));
  see(program);
  EXPECT_FALSE(watch.by_work(tail).known());
}

TEST_F(Watched, FindsNoPeriodInWhatDoesNotRepeat) {
  for (uint32_t i = 1; i < 100; ++i) program.add(program.kernel("k" + std::to_string(i), i * kMs, 1000, i));
  see(program);
  EXPECT_TRUE(watch.saw_work());
  EXPECT_FALSE(watch.by_work(tail).known());
}

}  // namespace
}  // namespace hone::observe
