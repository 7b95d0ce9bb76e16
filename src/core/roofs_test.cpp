// Roof lookups on a small made-up table.
#include "core/roofs.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Rate rate(double median) { return {median, median, median}; }

Roofs example() {
  Roofs roofs;
  roofs.threads = 4;
  roofs.compute = {{DType::kF32, "fma", 1, rate(100)},
                   {DType::kF32, "gemm", 1, rate(90)},
                   {DType::kF32, "fma", 4, rate(380)},
                   {DType::kBF16, "gemm", 4, rate(700)}};
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
  EXPECT_EQ(roofs.compute_roof(DType::kBF16, 1), 700);  // or the smallest above
  EXPECT_EQ(roofs.compute_roof(DType::kF16, 4), 380);   // not measured: f32
}

TEST(Roofs, MemoryIsTheSmallestLevelThatHoldsTheWorkingSet) {
  const Roofs roofs = example();
  EXPECT_EQ(roofs.memory_roof(16e3, 1), 50);
  EXPECT_EQ(roofs.memory_roof(500e3, 1), 30);
  EXPECT_EQ(roofs.memory_roof(3e6, 1), 10);
  EXPECT_EQ(roofs.memory_roof(3e6, 4), 120);
  EXPECT_EQ(roofs.memory_roof(1e9, 4), 25);
  EXPECT_EQ(roofs.dram_roof(1), 10);
  EXPECT_EQ(roofs.dram_roof(2), 10);
}

TEST(Roofs, AnEmptyTableHasNoRoofs) {
  const Roofs none;
  EXPECT_EQ(none.compute_roof(DType::kF32, 1), 0);
  EXPECT_EQ(none.dram_roof(1), 0);
  EXPECT_EQ(none.memory_roof(1e6, 1), 0);
}

}  // namespace
}  // namespace hone
