#include "trace/counted_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::trace {
namespace {

using ::testing::ElementsAre;

struct Launched {
  double ns = 0;
  double bytes = 0, tensor_flops = 0, f64 = 0;
};

Trace counted(const std::vector<Launched>& launches) {
  Trace trace;
  const auto add = [&](KernelCounters& row, Counter counter, double value) {
    if (value > 0)
      row.values.push_back(
          {trace.strings.intern(counter_metrics()[static_cast<std::size_t>(counter)].names[0]), value});
  };
  for (const Launched& launch : launches) {
    KernelCounters& row = trace.counters.emplace_back();
    row.kernel = trace.strings.intern("gemm");
    row.grid = {132, 1, 1};
    add(row, Counter::kDuration, launch.ns);
    add(row, Counter::kDramRead, launch.bytes);
    add(row, Counter::kDramWritten, launch.bytes);
    add(row, Counter::kTensorBf16, launch.tensor_flops);
    add(row, Counter::kF64Adds, launch.f64);
    order_values(row);
  }
  return trace;
}

// The head of a language model and the products of its layers: one kernel, one grid.
TEST(AlikeLaunches, AreThoseOfWhichMostWereCounted) {
  EXPECT_THAT(alike_launches(counted({{3'600'000}, {157'000}, {160'000}, {150'000}, {3'500'000}})),
              ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(alike_launches(counted({{157'000}, {3'600'000}})), ElementsAre(0, 1));
  EXPECT_THAT(alike_launches(counted({{1500}, {3400}})), ElementsAre(1, 1));  // too short to tell
  EXPECT_THAT(alike_launches(counted({{0}, {3400}})), ElementsAre(1, 1));     // no time was counted
}

TEST(CountedCosts, AreOfLaunchesThatAreAlike) {
  Trace trace = counted({{157'000, 100e6}, {3'600'000, 900e6}, {3'500'000, 0, 2.5e12}});
  Launch launch;
  launch.grid = {132, 1, 1};
  const CountedLaunchCosts costs(trace);
  const CountedCosts* found = costs.find(trace.strings.intern("gemm"), launch);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->bytes_read, 900e6);
  EXPECT_EQ(found->flops.all(), 2.5e12);
  launch.grid = {8, 1, 1};
  EXPECT_EQ(costs.find(trace.strings.intern("gemm"), launch), nullptr);
}

TEST(MainArithmetic, IsWhatTheDeviceNeedsLongestFor) {
  CountedFlops flops;
  flops.vector_f32 = 1e9;
  EXPECT_EQ(main_arithmetic(flops).dtype, DType::kF32);
  EXPECT_FALSE(main_arithmetic(flops).on_matrix_units);
  flops.tensor_bf16 = 100e9;
  EXPECT_EQ(main_arithmetic(flops).dtype, DType::kBF16);
  EXPECT_TRUE(main_arithmetic(flops).on_matrix_units);
  EXPECT_EQ(main_arithmetic(flops).flops, 100e9);
  flops.vector_f64 = 10e9;
  EXPECT_EQ(main_arithmetic(flops).dtype, DType::kF64);
}

}  // namespace
}  // namespace hone::trace
