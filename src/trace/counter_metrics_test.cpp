#include "trace/counter_metrics.h"

#include <set>

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

TEST(CounterMetrics, AreOneRowEachAndShareNoName) {
  std::set<std::string_view> names;
  int next = 0;
  for (const CounterMetric& row : counter_metrics()) {
    EXPECT_EQ(static_cast<int>(row.counter), next++);
    EXPECT_FALSE(row.names[0].empty());
    for (const std::string_view name : row.names)
      EXPECT_TRUE(name.empty() || names.insert(name).second) << name;
  }
  EXPECT_EQ(next, kCounterCount);
}

TEST(CounterMetrics, AreReadByTheFirstNameThatWasMeasured) {
  StringTable strings;
  KernelCounters row;
  row.kernel = strings.intern("k");
  row.values = {{strings.intern("dram__bytes_op_read.sum"), 5}};
  EXPECT_EQ(counter_value(row, strings, Counter::kDramRead), 5);
  row.values.push_back({strings.intern("dram__bytes_read.sum"), 7});
  order_values(row);
  EXPECT_EQ(counter_value(row, strings, Counter::kDramRead), 7);
  EXPECT_FALSE(counter_value(row, strings, Counter::kDramWritten));
}

}  // namespace
}  // namespace hone::trace
