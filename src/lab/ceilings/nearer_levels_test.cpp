#include <gmock/gmock.h>

#include "lab/ceilings/ceilings.h"

namespace hone::lab {
namespace {

MemoryRoof row(const char* level, const char* operation, int threads, double capacity, double rate) {
  return {level, operation, threads, capacity, {rate, 0.9 * rate, 1.1 * rate}};
}

// As a busy machine measured them: a last level that its neighbours used, by stores that read what they overwrite.
Roofs busy_roofs() {
  Roofs roofs;
  roofs.threads = 2;
  roofs.memory = {row("L2", "copy", 2, 4e6, 150e9),      row("L3", "copy", 2, 300e6, 39e9),
                  row("DRAM", "copy", 2, 0, 41e9),       row("L2", "read", 2, 4e6, 320e9),
                  row("L3", "read", 2, 300e6, 34e9),     row("DRAM", "read", 2, 0, 32e9),
                  row("L3", "copy", 1, 300e6, 13e9),     row("DRAM", "copy", 1, 0, 12e9),
                  row("DRAM", "copy_cached", 2, 0, 99e9)};
  return roofs;
}

TEST(NearerLevels, AreNeverSlowerThanFartherOnes) {
  Roofs roofs = busy_roofs();
  const std::vector<std::string> raised = raise_nearer_levels(roofs);
  EXPECT_THAT(raised, ::testing::ElementsAre(
                          "L3 copy with 2 threads was measured at 39.0 GB/s, below DRAM at 41.0 GB/s, which "
                          "now stands for both"));
  EXPECT_EQ(roofs.memory[1].bytes.median, 41e9);
  EXPECT_EQ(roofs.memory[1].bytes.low, 0.9 * 41e9);
  EXPECT_EQ(roofs.memory[1].capacity_bytes, 300e6);
  const Roofs before = busy_roofs();
  for (std::size_t i = 0; i < before.memory.size(); ++i)
    if (i != 1) {
      EXPECT_EQ(roofs.memory[i].bytes.median, before.memory[i].bytes.median) << i;
    }
  EXPECT_TRUE(raise_nearer_levels(roofs).empty()) << "which agree now";
}

TEST(NearerLevels, EveryLevelInsideIsRaised) {
  Roofs roofs = busy_roofs();
  roofs.memory[0].bytes = {20e9, 19e9, 21e9};
  EXPECT_EQ(raise_nearer_levels(roofs).size(), 2u);
  EXPECT_EQ(roofs.memory[0].bytes.median, 41e9);
  // What moves data that lie in a nearer level takes no longer than from a farther one.
  EXPECT_LE(roofs.traffic(1e6, 1e6, 0, 2).seconds, roofs.traffic(1e6, 1e6, 1e6, 2).seconds);
}

}  // namespace
}  // namespace hone::lab
