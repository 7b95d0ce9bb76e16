#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "graph/builder.h"
#include "kernels/cpu/parallel.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

TEST(CpuProvider, KeysTimingsByItsKernelsAndTheThreadsOfAShare) {
  const auto provider = testing::cpu_provider(2);
  EXPECT_THAT(provider->signature(Share::kDevice),
              ::testing::ContainsRegex("kernels [0-9a-f]{12}, threads=2"));
  EXPECT_THAT(provider->signature(Share::kLane), ::testing::EndsWith(", threads=1"));
}

TEST(CpuProvider, LeavesTheCallersTeamAsItIs) {
  const kernels::TeamSize mine(3);
  const auto provider = testing::cpu_provider(1);
  graph::GraphBuilder b("g");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{64, 64}));
  b.output(b.add("MatMul", {x, b.constant("w", Tensor::zeros(DType::kF32, {64, 64}))}));
  auto plan = Plan::compile(*std::move(b).finish(), *provider);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(omp_get_max_threads(), 3);
}

// A queue's commands find its threads, whichever thread gives them and whatever its team is.
TEST(CpuProvider, RunsOnItsOwnThreads) {
  struct Look : Sequence {
    Status enqueue(Queue&) override {
      seen = kernels::thread_count();
      return {};
    }
    int seen = 0;
  } look;
  for (const int threads : {1, 2}) {
    const auto queue = *testing::cpu_provider(threads)->device()->make_queue();
    ASSERT_TRUE(queue->run(look).ok());
    EXPECT_EQ(look.seen, threads);
  }
}

}  // namespace
}  // namespace hone::runtime
