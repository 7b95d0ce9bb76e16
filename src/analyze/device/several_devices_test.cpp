// One process that drives several devices: time of one is not time of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/testing/fabricate_ranks.h"

namespace hone::analyze::device {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two devices that work at the same time, side by side.
fabricate::Ranks side_by_side(double first_us, double second_us) {
  fabricate::Ranks made(1, 2);
  for (int step = 0; step < 5; ++step) {
    made.begin_step(0);
    for (int i = 0; i < 10; ++i) {
      if (first_us > 0) made.launch(0, first_us, "aten::mm", 0);
      if (second_us > 0) made.launch(0, second_us, "aten::mm", 1);
    }
    made.wait(0, 0);
    made.wait(0, 1);
    made.end_step(0);
  }
  return made;
}

// A model of which each device has a half: forward on both in turn, then backward.
fabricate::Ranks split_model() {
  fabricate::Ranks made(1, 2);
  for (int step = 0; step < 5; ++step) {
    made.begin_step(0);
    double ready = 0;
    for (const int device : {0, 1, 1, 0})
      for (int i = 0; i < 5; ++i) ready = made.launch(0, 100, "custom::half", device, ready);
    made.launch(0, 20, "aten::mul", 0);
    made.wait(0, 0);
    made.end_step(0);
  }
  return made;
}

Analysis analysis_of(const fabricate::Ranks& made) {
  auto analysis = analyze_device_trace(made.trace(), Roofs{}, {});
  EXPECT_TRUE(analysis.ok());
  return analysis.ok() ? std::move(*analysis) : Analysis{};
}

double metric(const Analysis& analysis, std::string_view name) {
  for (const Metric& row : analysis.targets)
    if (row.name == name) return row.value;
  return -1;
}

double row_ms(const Analysis& analysis, Cause cause) {
  for (const LedgerRow& row : analysis.ledger)
    if (row.cause == cause) return row.ms;
  return 0;
}

TEST(SeveralDevices, TheLedgerIsThatOfTheOneThatWorksLongest) {
  const Analysis alone = analysis_of(side_by_side(0, 100)), both = analysis_of(side_by_side(40, 100));
  for (const char* name : {"gpu_busy_share", "gpu_compute_share", "mfu", "achieved_tflops", "works_per_step",
                           "mean_work_us", "dram_utilisation"})
    EXPECT_NEAR(metric(both, name), metric(alone, name), 0.08 * metric(alone, name)) << name;
  EXPECT_NEAR(both.top.at(0).ms, alone.top.at(0).ms, 0.01);
  EXPECT_THAT(both.warnings,
              Contains(HasSubstr("drives 2 devices: the ledger, the kernels and the numbers are "
                                 "those of device 1, which works longest")));
  EXPECT_THAT(alone.warnings, Not(Contains(HasSubstr("devices"))));
  double sum = 0;
  for (const LedgerRow& row : both.ledger) sum += row.ms;
  EXPECT_NEAR(sum, both.step.ms.median, 1e-6);
}

TEST(SeveralDevices, EachHasALineOfItsOwn) {
  const Analysis analysis = analysis_of(side_by_side(40, 100));
  ASSERT_EQ(analysis.rank_summaries.size(), 2u);
  EXPECT_EQ(analysis.rank_summaries[0].device_index, 1);
  EXPECT_EQ(analysis.rank_summaries[1].device_index, 0);
  EXPECT_NEAR(analysis.rank_summaries[0].compute_ms, 1.0, 0.01);
  EXPECT_NEAR(analysis.rank_summaries[1].compute_ms, 0.4, 0.01);
  EXPECT_THAT(analysis_of(side_by_side(100, 0)).rank_summaries, IsEmpty());
}

TEST(SeveralDevices, ADeviceThatIsHardlyTouchedDoesNotCount) {
  const Analysis analysis = analysis_of(side_by_side(100, 0.5));
  EXPECT_THAT(analysis.warnings, Not(Contains(HasSubstr("devices"))));
  EXPECT_THAT(analysis.rank_summaries, IsEmpty());
}

TEST(SeveralDevices, WaitingForTheOtherIsABubbleNotALateHost) {
  const Analysis analysis = analysis_of(split_model());
  EXPECT_EQ(analysis.verdict.cause, Cause::kBubble) << analysis.verdict.sentence;
  EXPECT_NEAR(row_ms(analysis, Cause::kBubble), 1.0, 0.06);
  EXPECT_LT(row_ms(analysis, Cause::kLaunch), 0.1);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_THAT(analysis.findings.front().fix, HasSubstr("process of its own"));
  // Two stages and four micro-batches leave a quarter of the work as a bubble.
  EXPECT_NEAR(analysis.verdict.recoverable_ms, 1.0 - 1.02 / 4, 0.1);
}

TEST(SeveralDevices, UnlikeOnesAreNamed) {
  fabricate::Ranks made = side_by_side(40, 100);
  made.trace().meta.devices[0].name = "Tesla T4";
  const Analysis analysis = analysis_of(made);
  EXPECT_EQ(analysis.device, "NVIDIA H200");  // of device 1
  EXPECT_THAT(analysis.warnings, Contains(HasSubstr("different devices (NVIDIA H200, Tesla T4)")));
}

}  // namespace
}  // namespace hone::analyze::device
