#include "lab/bench/throughput.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"

namespace hone::lab {
namespace {

TEST(Knee, IsTheShortestLatencyNearTheGreatestThroughput) {
  const std::vector<LatencyAndThroughput> points = {{1, 100}, {2, 180}, {3, 290}, {6, 310}, {12, 312}};
  EXPECT_EQ(find_knee(points), 2U);
  const std::vector<LatencyAndThroughput> one = {{1, 100}};
  EXPECT_EQ(find_knee(one), 0U);
  EXPECT_FALSE(find_knee({}));
}

graph::Graph layer(int64_t batch) {
  graph::GraphBuilder b("layer");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{batch, 16}));
  b.output(b.add("Relu", {b.add("MatMul", {x, b.constant("w", Tensor::zeros(DType::kF32, {16, 16}))})}));
  return *std::move(b).finish();
}

ThroughputOptions quick(const char* device) {
  ThroughputOptions options;
  options.bench.device = device;
  options.bench.threads = 2;
  options.bench.runs = 3;
  options.batches = {1, 4};
  options.concurrencies = {1, 2};
  return options;
}

class ThroughputOn : public ::testing::TestWithParam<const char*> {};

TEST_P(ThroughputOn, MeasuresEveryBatchWithEveryNumberOfPlans) {
  const auto found =
      measure_throughput([](int64_t batch) { return Result(layer(batch)); }, quick(GetParam()));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->points.size(), 4U);
  ASSERT_TRUE(found->knee);
  for (std::size_t i = 0; i < found->points.size(); ++i) {
    const ThroughputPoint& point = found->points[i];
    EXPECT_EQ(point.batch, i < 2 ? 1 : 4);
    EXPECT_EQ(point.concurrency, i % 2 == 0 ? 1 : 2);
    for (const ThroughputCalls* calls : {&point.compute, &point.with_copies}) {
      EXPECT_EQ(calls->latency.runs, 3 * point.concurrency);
      EXPECT_GT(calls->per_s, 0);
      EXPECT_FALSE(calls->joules_per_item) << "nobody counts it here";
    }
    // One plan of a device of its own carries requests' copies beside others' runs; several have each other.
    const bool is_pipelined = std::string_view(GetParam()) != "cpu" && point.concurrency == 1;
    EXPECT_EQ(point.compute.in_flight, point.concurrency);
    EXPECT_EQ(point.with_copies.in_flight, is_pipelined ? 3 : point.concurrency);
    EXPECT_EQ(point.memory.plan.pipeline_bytes > 0, is_pipelined);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThroughputOn, ::testing::Values("cpu", "null"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Throughput, ABatchThatDoesNotFitEndsTheSweepWithANote) {
  const auto graph_of = [](int64_t batch) -> Result<graph::Graph> {
    if (batch > 1) return invalid("too large");
    return layer(batch);
  };
  const auto found = measure_throughput(graph_of, quick("cpu"));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->points.size(), 2U);
  EXPECT_THAT(found->notes, ::testing::ElementsAre("the sweep ends before batch 4: too large"));
  const auto none =
      measure_throughput([](int64_t) -> Result<graph::Graph> { return invalid("none"); }, quick("cpu"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "none");
}

TEST(Throughput, MorePlansThanThreadsAreRefusedWhereTheyShareThem) {
  ThroughputOptions options = quick("cpu");
  options.bench.threads = 1;
  EXPECT_FALSE(measure_throughput([](int64_t batch) { return Result(layer(batch)); }, options).ok());
}

}  // namespace
}  // namespace hone::lab
