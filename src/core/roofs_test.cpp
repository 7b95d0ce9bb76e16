// Roof lookups on a small made-up table.
#include "core/roofs.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Rate rate(double median) { return {median, median, median}; }

Roofs example() {
  Roofs roofs;
  roofs.threads = 4;
  roofs.compute = {{DType::kF32, "fma", 1, rate(100)},    {DType::kF32, "gemm", 1, rate(90)},
                   {DType::kF32, "fma", 4, rate(380)},    {DType::kBF16, "fma", 4, rate(600)},
                   {DType::kBF16, "tiles", 4, rate(900)}, {DType::kBF16, "gemm", 4, rate(700)}};
  roofs.memory = {{"L1", "read", 1, 32e3, rate(50)}, {"L2", "copy", 1, 1e6, rate(30)},
                  {"L2", "read", 1, 1e6, rate(35)},  {"DRAM", "copy", 1, 0, rate(10)},
                  {"DRAM", "read", 1, 0, rate(12)},  {"DRAM", "copy", 4, 0, rate(25)},
                  {"L2", "copy", 4, 4e6, rate(120)}};
  return roofs;
}

TEST(Roofs, ComputeIsTheBestMethodOfTheThreadCount) {
  const Roofs roofs = example();
  EXPECT_EQ(roofs.compute_roof(DType::kF32, 1), 100);
  EXPECT_EQ(roofs.compute_roof(DType::kF32, 4), 380);
  EXPECT_EQ(roofs.compute_roof(DType::kF32, 3), 100);   // the next count below that was measured
  EXPECT_EQ(roofs.compute_roof(DType::kBF16, 1), 900);  // or the smallest above
  EXPECT_EQ(roofs.compute_roof(DType::kF16, 4), 380);   // not measured: f32
}

TEST(Roofs, MemoryIsTheSmallestLevelThatHoldsTheWorkingSet) {
  const Roofs roofs = example();
  const auto rate_of = [&](double bytes, int threads) {
    return roofs.memory_level(bytes, threads)->bytes.median;
  };
  EXPECT_EQ(rate_of(16e3, 1), 50);
  EXPECT_EQ(rate_of(500e3, 1), 30);
  EXPECT_EQ(rate_of(3e6, 1), 10);
  EXPECT_EQ(rate_of(3e6, 4), 120);
  EXPECT_EQ(rate_of(1e9, 4), 25);
  EXPECT_EQ(roofs.dram_roof(1), 10);
  EXPECT_EQ(roofs.dram_roof(2), 10);
}

// L2 of 1 MB and DRAM; reading DRAM is slower than copying, as with stores that pass the caches.
Roofs two_levels() {
  Roofs roofs;
  roofs.memory = {{"DRAM", "read", 1, 0, rate(20)},
                  {"DRAM", "write", 1, 0, rate(50)},
                  {"DRAM", "copy", 1, 0, rate(25)},
                  {"L2", "copy", 1, 1e6, rate(100)}};
  return roofs;
}

TEST(Roofs, TrafficIsServedByEachLevelAsFarAsItHolds) {
  const Roofs roofs = two_levels();
  const TrafficTime small = roofs.traffic(4e5, 4e5, 0, 1);
  EXPECT_DOUBLE_EQ(small.seconds, 8e5 / 100);
  EXPECT_EQ(small.level, "L2");
  const TrafficTime large = roofs.traffic(2e6, 2e6, 0, 1);
  EXPECT_DOUBLE_EQ(large.seconds, 1e6 / 100 + 3e6 / 25);
  EXPECT_EQ(large.level, "DRAM");
}

TEST(Roofs, TrafficGrowsWithoutAJumpWhereItOutgrowsACache) {
  const Roofs roofs = two_levels();
  const double fits = roofs.traffic(5e5, 5e5, 0, 1).seconds;
  const double not_quite = roofs.traffic(5e5 + 10, 5e5 + 10, 0, 1).seconds;
  EXPECT_GT(not_quite, fits);
  EXPECT_NEAR(not_quite, fits, 1e-3 * fits);
}

TEST(Roofs, TrafficThatOnlyReadsOrWritesRunsAtThatRate) {
  const Roofs roofs = two_levels();
  EXPECT_DOUBLE_EQ(roofs.traffic(1e6, 0, 1e6, 1).seconds, 1e6 / 20);  // from DRAM whatever the cache holds
  EXPECT_DOUBLE_EQ(roofs.traffic(3e6, 1e6, 2e6, 1).seconds, 2e6 / 20 + 1e6 / 100 + 1e6 / 25);
  EXPECT_DOUBLE_EQ(roofs.traffic(0, 2e6, 0, 1).seconds, 1e6 / 100 + 1e6 / 50);
}

TEST(Roofs, AnEmptyTableHasNoRoofs) {
  const Roofs none;
  EXPECT_EQ(none.compute_roof(DType::kF32, 1), 0);
  EXPECT_EQ(none.dram_roof(1), 0);
  EXPECT_EQ(none.memory_level(1e6, 1), nullptr);
  EXPECT_EQ(none.traffic(1e6, 1e6, 0, 1).seconds, 0);
}

}  // namespace
}  // namespace hone
