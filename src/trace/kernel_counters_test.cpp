#include "trace/kernel_counters.h"

#include <limits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/merge.h"
#include "trace/trace.h"

namespace hone::trace {
namespace {

KernelCounters counted(StringTable& strings, std::string_view kernel,
                       std::initializer_list<std::pair<const char*, double>> values) {
  KernelCounters row;
  row.kernel = strings.intern(kernel);
  for (const auto& [metric, value] : values) row.values.push_back({strings.intern(metric), value});
  order_values(row);
  return row;
}

TEST(KernelCounters, AreFoundByNameWhateverTheirOrderWas) {
  StringTable strings;
  (void)strings.intern("b");
  (void)strings.intern("a");
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const KernelCounters row =
      counted(strings, "k", {{"c", 3}, {"a", 1}, {"b", 2}, {"a", 9}, {"not measured", nothing}});
  EXPECT_EQ(row.values.size(), 3u);
  EXPECT_EQ(counter_value(row, strings, "a"), 1);
  EXPECT_EQ(counter_value(row, strings, "c"), 3);
  EXPECT_FALSE(counter_value(row, strings, "not measured"));
  EXPECT_FALSE(counter_value(row, strings, "k"));
  EXPECT_FALSE(counter_value(row, strings, "unknown"));
}

TEST(KernelCounters, AreCheckedWithTheTrace) {
  Trace trace;
  trace.counters.push_back(counted(trace.strings, "k", {{"a", 1}, {"b", 2}}));
  EXPECT_TRUE(trace.validate().ok());
  std::swap(trace.counters[0].values[0], trace.counters[0].values[1]);
  EXPECT_FALSE(trace.validate().ok());
  order_values(trace.counters[0]);
  trace.counters[0].values[1].value = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(trace.validate().ok());
  trace.counters[0].values.clear();
  trace.counters[0].kernel = {99};
  EXPECT_FALSE(trace.validate().ok());
}

TEST(KernelCounters, KeepTheirNamesWhereRanksAreJoined) {
  std::vector<ImportedFile> files(2);
  files[0].trace.counters.push_back(counted(files[0].trace.strings, "first", {{"a", 1}, {"b", 2}}));
  files[1].trace.counters.push_back(counted(files[1].trace.strings, "second", {{"b", 3}, {"a", 4}}));
  const std::vector<std::string> sources = {"rank0", "rank1"};
  const Trace trace = merge_files(std::move(files), sources);
  ASSERT_TRUE(trace.validate().ok());
  ASSERT_EQ(trace.counters.size(), 2u);
  EXPECT_EQ(trace.counters[1].rank, 1);
  EXPECT_EQ(trace.strings.text(trace.counters[1].kernel), "second");
  EXPECT_EQ(counter_value(trace.counters[0], trace.strings, "b"), 2);
  EXPECT_EQ(counter_value(trace.counters[1], trace.strings, "b"), 3);
  EXPECT_EQ(counter_value(trace.counters[1], trace.strings, "a"), 4);
}

}  // namespace
}  // namespace hone::trace
