#include "runtime/timing_cache.h"

#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"

namespace hone::runtime {
namespace {

TEST(TimingCache, KeepsEntriesOnDiskAndForgetsErasedOnes) {
  const auto path = scratch_path("timings") / "timings.tsv";
  TimingCache cache = TimingCache::open(path);
  cache.put("cpu", "Relu", {"hone", 12.5});
  cache.put("cpu", "Add", {"hone", 3});
  ASSERT_TRUE(cache.save().ok());
  TimingCache again = TimingCache::open(path);
  EXPECT_EQ(again.find("cpu", "Relu")->microseconds, 12.5);
  again.erase("cpu", "Relu");
  again.erase("cpu", "never there");
  ASSERT_TRUE(again.save().ok());
  const TimingCache third = TimingCache::open(path);
  EXPECT_FALSE(third.find("cpu", "Relu"));
  EXPECT_TRUE(third.find("cpu", "Add"));
  std::filesystem::remove_all(path.parent_path());
}

}  // namespace
}  // namespace hone::runtime
