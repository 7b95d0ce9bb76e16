#include "analyze/device/sampled_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "analyze/device/testing/fabricate_ranks.h"

namespace hone::analyze::device {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kUs = 1000;

trace::StringId named(trace::Trace& trace, trace::Sampled what) {
  return trace.strings.intern(trace::sampled_metrics()[static_cast<std::size_t>(what)].names[0]);
}

// Three steps of 1 ms from 1 ms on, sampled every 30 µs from 0 to 5 ms: in the first half of each step the multiprocessors work at
// 80 %, in the second DRAM reads 2 TB/s; before and after them nothing happens but for a clock.
trace::Trace sampled() {
  trace::Trace trace;
  trace::DeviceSamples samples{0, 0, 30 * kUs, {}, {}, {}, {}};
  for (const trace::Sampled what :
       {trace::Sampled::kSmActive, trace::Sampled::kDramRead, trace::Sampled::kSmClock})
    samples.metrics.push_back(named(trace, what));
  for (int64_t at = 0; at < 5000 * kUs; at += 30 * kUs) {
    double first = 0, second = 0;  // of the sample, in the two halves of steps
    for (int64_t us = at / kUs; us < at / kUs + 30; ++us)
      if (us >= 1000 && us < 4000) (us % 1000 < 500 ? first : second) += 1.0 / 30;
    samples.add(at, at + 30 * kUs, std::array<double, 3>{80 * first, 2e12 * second, 1.98e9});
  }
  trace.samples = {samples};
  for (int64_t step = 1; step < 4; ++step)
    trace.meta.sampled_steps.push_back({0, step * 1000 * kUs, (step + 1) * 1000 * kUs});
  return trace;
}

const SampledFigure& figure(const SampledDevice& device, std::string_view name) {
  for (const SampledFigure& each : device.figures)
    if (each.name == name) return each;
  throw std::out_of_range(std::string(name));
}

TEST(SampledDevices, AreToldByTheStepsThatWereSampled) {
  const auto devices = sampled_devices(sampled());
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].steps, 3);
  EXPECT_DOUBLE_EQ(devices[0].step_ms, 1);
  EXPECT_NEAR(figure(devices[0], "sm_active").mean, 40, 0.5);
  EXPECT_NEAR(figure(devices[0], "dram_read").mean, 1e12, 1e10);
  EXPECT_DOUBLE_EQ(figure(devices[0], "dram_read").most, 2e12);
  EXPECT_EQ(sampled_mean(devices[0], trace::Sampled::kTensorActive), std::nullopt);
}

TEST(SampledDevices, HaveTheCourseOfAStep) {
  const auto devices = sampled_devices(sampled());
  const std::vector<double>& course = figure(devices.at(0), "sm_active").profile;
  ASSERT_THAT(course, SizeIs(100));
  EXPECT_NEAR(course[10], 80, 1e-6);
  EXPECT_NEAR(course[40], 80, 1e-6);
  EXPECT_NEAR(course[60], 0, 1e-6);
  EXPECT_NEAR(course[90], 0, 1e-6);
  EXPECT_THAT(figure(devices[0], "sm_clock").profile, Each(DoubleNear(1.98e9, 1)));
}

TEST(SampledDevices, AreToldByAllSamplesWhereStepsAreNotKnown) {
  trace::Trace trace = sampled();
  trace.meta.sampled_steps.clear();
  const auto devices = sampled_devices(trace);
  EXPECT_EQ(devices.at(0).steps, 0);
  EXPECT_NEAR(figure(devices[0], "sm_active").mean, 80 * 0.3, 0.3);
  EXPECT_THAT(figure(devices[0], "sm_active").profile, IsEmpty());
}

TEST(SampledDevices, LeaveOutStepsThatSamplingDidNotCover) {
  trace::Trace trace = sampled();
  trace.meta.sampled_steps.push_back({0, 4900 * kUs, 5900 * kUs});
  trace.meta.sampled_steps.push_back({7, 1000 * kUs, 2000 * kUs});
  EXPECT_EQ(sampled_devices(trace).at(0).steps, 3);
}

TEST(SampledDevices, GiveTheNumbersToSteerByThatAreEstimatedOtherwise) {
  fabricate::Ranks made(1);
  for (int step = 0; step < 4; ++step) {
    made.begin_step(0);
    for (int i = 0; i < 10; ++i) made.launch(0, 100);
    made.wait(0);
    made.end_step(0);
  }
  trace::Trace trace = made.trace();
  trace.meta.devices = {{0, 0, "NVIDIA H100 80GB HBM3", 80e9, 132, 9, 0}};
  const auto metric = [&](const Analysis& analysis, std::string_view name) {
    for (const Metric& each : analysis.targets)
      if (each.name == name) return each;
    return Metric{};
  };
  const auto without = analyze_device_trace(trace, Roofs{}, {});
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(metric(*without, "sm_active_share").name, "");
  EXPECT_FALSE(metric(*without, "dram_utilisation").measured);
  const trace::Trace samples = sampled();
  trace.samples = samples.samples;
  for (trace::StringId& id : trace.samples[0].metrics) id = trace.strings.intern(samples.strings.text(id));
  trace.meta.sampled_steps = samples.meta.sampled_steps;
  const auto with = analyze_device_trace(trace, Roofs{}, {});
  ASSERT_TRUE(with.ok());
  const Metric active = metric(*with, "sm_active_share");
  EXPECT_TRUE(active.measured);
  EXPECT_NEAR(active.value, 40, 0.5);
  EXPECT_THAT(active.note, HasSubstr("sampled every 30 µs over 3 steps"));
  const Metric dram = metric(*with, "dram_utilisation");
  EXPECT_TRUE(dram.measured);
  EXPECT_NEAR(metric(*with, "dram_rate").value, 1000, 10);
  EXPECT_EQ(metric(*with, "tensor_pipe_share").name, "");
  EXPECT_EQ(with->sampled.size(), 1u);
}

}  // namespace
}  // namespace hone::analyze::device
