#include "analyze/live/targets.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "analyze/device/metrics.h"

namespace hone::analyze::live {
namespace {

using trace::live::GpuUse;
using trace::live::HostUse;

GpuUse busy_gpu() {
  GpuUse gpu;
  gpu.busy_share = 0.97;
  gpu.tensor_share = 0.25;
  gpu.dram_share = 0.61;
  gpu.memory_used_bytes = 79;
  gpu.memory_total_bytes = 80;
  gpu.held_by_heat_share = 0;
  return gpu;
}

TEST(GpuTargets, AreThoseOfRecordings) {
  const std::vector<Metric> metrics = gpu_targets(busy_gpu());
  const Metric* busy = find_metric(metrics, "gpu_busy_share");
  ASSERT_NE(busy, nullptr);
  EXPECT_EQ(busy->target, device::judged_metric("gpu_busy_share", 0).target);
  EXPECT_EQ(busy->label, "GPU busy");
  EXPECT_EQ(busy->value, 97);
  EXPECT_TRUE(busy->reached());
  const Metric* tensor = find_metric(metrics, "tensor_pipe_share");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->target, device::judged_metric("mfu", 0).target);
  EXPECT_FALSE(tensor->reached());
  EXPECT_TRUE(find_metric(metrics, "dram_utilisation")->reached());
  EXPECT_FALSE(find_metric(metrics, "gpu_memory_share")->reached());  // 98.75 %: little is left
  EXPECT_TRUE(find_metric(metrics, "held_by_heat_share")->reached());
}

TEST(GpuTargets, OfWhatIsNotKnownThereIsNone) {
  GpuUse gpu;
  EXPECT_TRUE(gpu_targets(gpu).empty());
  gpu.memory_used_bytes = 5;  // of a memory whose size nobody says
  EXPECT_TRUE(gpu_targets(gpu).empty());
}

TEST(GpuTargets, AGpuThatNobodyUsesMissesNone) {
  GpuUse gpu = busy_gpu();
  gpu.busy_share = 0;
  for (const Metric& metric : gpu_targets(gpu)) EXPECT_EQ(metric.target, std::nullopt) << metric.name;
  gpu.has_processes = true;  // it should be busy
  EXPECT_FALSE(find_metric(gpu_targets(gpu), "gpu_busy_share")->reached());
}

TEST(HostTargets, SayWhatHoldsTheMachineBack) {
  HostUse host;
  EXPECT_TRUE(host_targets(host).empty());
  host.memory_total_bytes = 100;
  host.memory_available_bytes = 2;
  host.cpu_pressure.some_share = 0.5;
  host.io_pressure.some_share = 0.01;
  const std::vector<Metric> metrics = host_targets(host);
  EXPECT_EQ(find_metric(metrics, "memory_share")->value, 98);
  EXPECT_FALSE(find_metric(metrics, "memory_share")->reached());
  EXPECT_FALSE(find_metric(metrics, "cpu_pressure_share")->reached());
  EXPECT_TRUE(find_metric(metrics, "io_pressure_share")->reached());
  EXPECT_EQ(find_metric(metrics, "group_memory_share"), nullptr);
}

TEST(JudgedMetric, KnowsOnlyTheRowsOfItsTable) {
  EXPECT_THROW(device::judged_metric("happiness", 1), std::out_of_range);
}

}  // namespace
}  // namespace hone::analyze::live
