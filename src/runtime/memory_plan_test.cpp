#include "runtime/memory_plan.h"

#include <random>

#include <gtest/gtest.h>

namespace hone::runtime {
namespace {

void expect_no_overlap(const std::vector<Lifetime>& buffers, const MemoryPlan& plan) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0u);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.arena_bytes);
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool overlap = plan.offsets[i] < plan.offsets[j] + buffers[j].bytes &&
                           plan.offsets[j] < plan.offsets[i] + buffers[i].bytes;
      EXPECT_FALSE(together && overlap && buffers[i].bytes > 0 && buffers[j].bytes > 0) << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (uint32_t i = 0; i < 10; ++i) chain.push_back({4096, i, i + 1});
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.arena_bytes, 2 * 4096u);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
  expect_no_overlap(chain, plan);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 150; ++i) {
      const uint32_t first = random() % 100;
      buffers.push_back({random() % 100000, first, first + static_cast<uint32_t>(random() % 10)});
    }
    const MemoryPlan plan = plan_memory(buffers);
    expect_no_overlap(buffers, plan);
    EXPECT_GE(plan.arena_bytes, plan.lower_bound);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.5 * static_cast<double>(plan.lower_bound));
  }
}

TEST(MemoryPlan, NothingNeedsNothing) { EXPECT_EQ(plan_memory({}).arena_bytes, 0u); }

TEST(MemoryPlan, ALaneReusesItsOwnMemoryAndNoOtherLanes) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<uint32_t>(random() % 30);
      const auto last = first + static_cast<uint32_t>(random() % 6);
      Lifetime buffer{random() % 4000, first, last};
      // Nodes 8 to 20 are a section: who touches it lives as long as it.
      const bool inside = first >= 8 && last <= 20;
      if (first <= 20 && last >= 8) {
        buffer.first = std::min(first, 8u);
        buffer.last = std::max(last, 20u);
      }
      if (inside && random() % 4 != 0) {
        buffer.lane = static_cast<int>(random() % 3);
        buffer.lane_first = first;
        buffer.lane_last = last;
      }
      buffers.push_back(buffer);
    }
    const MemoryPlan plan = plan_memory(buffers);
    EXPECT_GE(plan.arena_bytes, plan.lower_bound);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      for (std::size_t j = i + 1; j < buffers.size(); ++j) {
        const Lifetime &a = buffers[i], &b = buffers[j];
        const bool apart =
            plan.offsets[i] + a.bytes <= plan.offsets[j] || plan.offsets[j] + b.bytes <= plan.offsets[i];
        const bool one_lane = a.lane >= 0 && a.lane == b.lane;
        const bool together = one_lane ? a.lane_first <= b.lane_last && b.lane_first <= a.lane_last
                                       : a.first <= b.last && b.first <= a.last;
        EXPECT_TRUE(apart || !together || a.bytes == 0 || b.bytes == 0) << i << " and " << j;
      }
    }
  }
}

TEST(MemoryPlan, ALanesBuffersOneAfterAnotherNeedTheLargest) {
  std::vector<Lifetime> buffers;
  for (int lane = 0; lane < 2; ++lane) {
    for (uint32_t step = 0; step < 5; ++step) {
      const uint32_t node = 2 * step + static_cast<uint32_t>(lane);
      buffers.push_back({1024, 0, 9, lane, node, node});
    }
  }
  const MemoryPlan plan = plan_memory(buffers);
  EXPECT_EQ(plan.arena_bytes, 2 * 1024u);
  EXPECT_EQ(plan.lower_bound, 2 * 1024u);
}

}  // namespace
}  // namespace hone::runtime
