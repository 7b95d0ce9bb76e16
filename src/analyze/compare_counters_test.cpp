#include "analyze/compare_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

using testing::ElementsAre;

CountedKernel kernel(const char* full_name, const char* grid, double us) {
  CountedKernel row;
  row.full_name = full_name;
  row.name = std::string(full_name).substr(0, std::string(full_name).find('('));
  row.grid = grid;
  row.us = us;
  return row;
}

KernelFinding finding(const char* rule) {
  KernelFinding row;
  row.rule = rule;
  return row;
}

TEST(CompareCounters, ShowsEachCounterOfAKernelInBothRuns) {
  Analysis a, b;
  a.counted_kernels = {kernel("transpose(float*)", "8×8×1", 600)};
  a.counted_kernels[0].figures = {{"speed of light", "duration", "time of a launch", 600, "us", ""},
                                  {"memory", "store_sectors", "sectors a store", 32, "", ""}};
  a.counted_kernels[0].findings = {finding("uncoalesced")};
  b.counted_kernels = {kernel("transpose(float*)", "8×8×1", 92)};
  b.counted_kernels[0].figures = {{"speed of light", "duration", "time of a launch", 92, "us", ""},
                                  {"speed of light", "dram_throughput", "DRAM busy", 81, "%", ""},
                                  {"memory", "store_sectors", "sectors a store", 4, "", ""}};
  b.counted_kernels[0].findings = {finding("bank_conflicts")};
  const std::vector<KernelChange> rows = compare_counters(a, b);
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(rows[0].figures.size(), 3u);
  EXPECT_EQ(rows[0].figures[0].a, 600);
  EXPECT_EQ(rows[0].figures[0].b, 92);
  EXPECT_EQ(rows[0].figures[1].name, "dram_throughput");
  EXPECT_FALSE(rows[0].figures[1].a);
  EXPECT_EQ(rows[0].figures[2].b, 4);
  EXPECT_THAT(rows[0].mended, ElementsAre("uncoalesced"));
  EXPECT_THAT(rows[0].appeared, ElementsAre("bank_conflicts"));
}

TEST(CompareCounters, MatchesByGeometryThenByNameThenByWhatAnEditLeaves) {
  Analysis a, b;
  a.counted_kernels = {kernel("scale(float*)", "8×1×1", 10), kernel("scale(float*)", "64×1×1", 80),
                       kernel("sum(float*, int)", "4×1×1", 5), kernel("gone(int)", "1×1×1", 1)};
  b.counted_kernels = {kernel("scale(float*)", "64×1×1", 40), kernel("scale(float*)", "16×1×1", 9),
                       kernel("sum(float4*, int)", "4×1×1", 3), kernel("new(int)", "1×1×1", 1)};
  const std::vector<KernelChange> rows = compare_counters(a, b);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].a.us, 80);
  EXPECT_EQ(rows[1].a.us, 10);
  EXPECT_EQ(rows[2].a.us, 5);
}

}  // namespace
}  // namespace hone::analyze
