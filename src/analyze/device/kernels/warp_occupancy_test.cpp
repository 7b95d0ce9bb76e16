// Occupancy as NVIDIA's own tool states it: launch__occupancy_limit_* of real reports.
#include "analyze/device/kernels/warp_occupancy.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/device/kernels/counter_group.h"
#include "core/testing/source_folder.h"
#include "trace/import/byte_source.h"
#include "trace/import/ncu/reader.h"

namespace hone::analyze::device {
namespace {

TEST(WarpOccupancy, IsWhatNsightComputeSays) {
  int compared = 0;
  for (const char* path : {"tests/traces/ncu/raw.csv.gz", "tests/traces/ncu/kernel_faults/raw.csv.gz"}) {
    const auto source = trace::open_bytes(source_folder() / path);
    ASSERT_TRUE(source.ok());
    const auto file = trace::ncu::read_ncu(**source);
    ASSERT_TRUE(file.ok());
    for (const trace::KernelCounters& row : file->trace.counters) {
      const auto stated = [&](std::string_view name) {
        return static_cast<int>(trace::counter_value(row, file->trace.strings, name).value_or(-1));
      };
      const WarpOccupancy found =
          warp_occupancy({row.grid, row.block, row.registers, row.shared_bytes}, multiprocessor_limits(9, 0));
      const std::string_view name = file->trace.strings.text(row.kernel);
      EXPECT_EQ(std::min(found.by_registers, found.by_blocks),
                std::min(stated("launch__occupancy_limit_registers"), 32))
          << name;
      EXPECT_EQ(found.by_warps, stated("launch__occupancy_limit_warps")) << name;
      EXPECT_EQ(found.by_blocks, stated("launch__occupancy_limit_blocks")) << name;
      // The driver gives shared memory no more room than is needed.
      EXPECT_GE(found.by_shared_memory, stated("launch__occupancy_limit_shared_mem")) << name;
      EXPECT_NEAR(found.share() * 100, stated("sm__maximum_warps_per_active_cycle_pct"), 1) << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 32);
}

TEST(WarpOccupancy, NamesTheLeastOfItsLimits) {
  const MultiprocessorLimits h100 = multiprocessor_limits(9, 0);
  const LaunchShape shape = {{64, 1, 1}, {256, 1, 1}, 128, 0};
  const WarpOccupancy found = warp_occupancy(shape, h100);
  EXPECT_EQ(found.limit, OccupancyLimit::kRegisters);
  EXPECT_EQ(found.blocks(), 2);
  EXPECT_DOUBLE_EQ(found.share(), 0.25);
  EXPECT_DOUBLE_EQ(found.share_without_limit(shape), 1);
  EXPECT_DOUBLE_EQ(found.waves(shape, 132), 64 / 264.0);
  EXPECT_EQ(multiprocessor_limits(9, 9).warps, 64);
  EXPECT_EQ(multiprocessor_limits(6, 0).warps, 64);
}

}  // namespace
}  // namespace hone::analyze::device
