// Runs given before earlier ones have been looked at: each has its own outputs, errors are told once, and a device gets the
// next run before the host waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/text.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/spans.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;

class PlanAhead : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Plan> compiled(graph::Graph graph) const {
    auto plan = Plan::compile(std::move(graph), *provider_);
    if (!plan.ok()) throw std::runtime_error(plan.error().message);
    return *std::move(plan);
  }
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Gpu, PlanAhead, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, PlanAhead,
                         ::testing::Values("null", testing::kCudaWithoutGpu, testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

// A sum that grows by x in each run, which is its second output's half.
std::unique_ptr<Plan> growing_sum(const Provider& provider) {
  GraphBuilder b("sum");
  const ValueId sum = b.input("sum", graph::tensor_type(DType::kF32, Shape{3}));
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{3}));
  const ValueId next = b.add("Add", {sum, x});
  b.set_outputs({b.add("Mul", {next, b.constant("two", Tensor::scalar_f32(2))}), next});
  b.set_states({{0, 1}});
  auto plan = Plan::compile(*std::move(b).finish(), provider);
  if (!plan.ok()) throw std::runtime_error(plan.error().message);
  return *std::move(plan);
}

Tensor of_three(float a, float b, float c) { return Tensor::f32({3}, std::vector<float>{a, b, c}); }

TEST_P(PlanAhead, EachRunHasTheOutputsOfItsOwnState) {
  const auto plan = growing_sum(*provider_);
  ASSERT_TRUE(plan->can_give_ahead());
  ASSERT_TRUE(plan->write(0, of_three(0, 0, 0)).ok());
  const std::vector<std::size_t> both = {1, 0};
  const auto give = [&](float x) {
    ASSERT_TRUE(plan->write(1, of_three(x, 2 * x, 3 * x)).ok());
    const Status given = plan->give(both);
    ASSERT_TRUE(given.ok()) << given.error().message;
  };
  float sum = 1;
  give(1);
  for (int run = 0; run < 7; ++run) {
    const auto x = static_cast<float>(10 * run);
    give(x);  // ahead
    const auto taken = plan->take();
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    ASSERT_EQ(taken->outputs.size(), 2U);
    EXPECT_TRUE(same_tensor(taken->outputs[0], of_three(sum, 2 * sum, 3 * sum))) << run;
    EXPECT_TRUE(same_tensor(taken->outputs[1], of_three(2 * sum, 4 * sum, 6 * sum))) << run;
    EXPECT_EQ(taken->idle_us.has_value(), run > 0) << "of the first nobody can say";
    EXPECT_GE(taken->idle_us.value_or(0), 0);
    sum += x;
  }
  ASSERT_TRUE(plan->take().ok());
  EXPECT_TRUE(same_tensor(*plan->read(1), of_three(sum, 2 * sum, 3 * sum)));
  EXPECT_TRUE(same_tensor(*plan->read_input(0), of_three(sum, 2 * sum, 3 * sum)));
  ASSERT_TRUE(plan->run().ok()) << "as ever";
}

TEST_P(PlanAhead, NoMoreAreGivenThanThereIsRoomForAndNoneIsTakenTwice) {
  const auto plan = growing_sum(*provider_);
  for (const std::size_t i : {0, 1}) ASSERT_TRUE(plan->write(i, of_three(1, 1, 1)).ok());
  EXPECT_THAT(plan->take().error().message, HasSubstr("no run was given"));
  const std::vector<std::size_t> sum = {1};
  for (std::size_t i = 0; i < Plan::kMostGiven; ++i) ASSERT_TRUE(plan->give(sum).ok());
  const Status more = plan->give(sum);
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message, HasSubstr("take one first"));
  for (float i = 0; i < static_cast<float>(Plan::kMostGiven); ++i)
    EXPECT_TRUE(same_tensor(plan->take()->outputs.at(0), of_three(2 + i, 2 + i, 2 + i)));
  EXPECT_FALSE(plan->take().ok());
}

// The run behind the one at fault was on its way already.
TEST_P(PlanAhead, AFaultIsToldOnceAndTheNextRunIsClean) {
  GraphBuilder b("gather");
  const ValueId index = b.input("index", graph::tensor_type(DType::kI64, Shape{2}));
  const ValueId data = b.add("Neg", {b.input("x", graph::tensor_type(DType::kF32, Shape{3}))});
  b.output(b.add("Relu", {b.add("Gather", {data, index})}));
  const auto plan = compiled(*std::move(b).finish());
  ASSERT_TRUE(plan->write(1, of_three(-5, -6, -7)).ok());
  const std::vector<std::size_t> all = {0};
  const auto give = [&](int64_t at) {
    ASSERT_TRUE(plan->write(0, Tensor::i64({2}, std::vector<int64_t>{0, at})).ok());
    ASSERT_TRUE(plan->give(all).ok());
  };
  for (const int64_t behind : {1, 9}) {
    give(2);
    give(7);
    // The fault may show early: the run before it is over by then, or it is told with that.
    const auto first = plan->take();
    if (first.ok()) {
      EXPECT_EQ(first->outputs[0].at(1), 7);
      give(behind);
      const auto second = plan->take();
      ASSERT_FALSE(second.ok());
      EXPECT_THAT(second.error().message, HasSubstr("(Gather"));
    }
    EXPECT_FALSE(plan->take().ok()) << "all that were given are over";
    give(1);
    const auto clean = plan->take();
    ASSERT_TRUE(clean.ok()) << clean.error().message;
    EXPECT_EQ(clean->outputs[0].at(1), 6);
  }
}

TEST_P(PlanAhead, NotWhileSomebodyListens) {
  const auto plan = growing_sum(*provider_);
  const testing::Spans spans;
  EXPECT_FALSE(plan->can_give_ahead());
  EXPECT_THAT(plan->give(std::vector<std::size_t>{0}).error().message, HasSubstr("cannot be given ahead"));
}

TEST(PlanAheadOnTheHost, ThereIsNothingToGiveAhead) {
  const auto provider = testing::cpu_provider(1);
  const auto plan = growing_sum(*provider);
  EXPECT_FALSE(plan->can_give_ahead());
  EXPECT_FALSE(plan->give(std::vector<std::size_t>{0}).ok());
}

// The second run is in the device's queue when the host looks at the first.
TEST(PlanAheadWithoutAGpu, TheNextRunIsGivenBeforeTheHostWaits) {
  const auto provider = testing::provider_named(testing::kCudaOnHost);
  const auto plan = growing_sum(*provider);
  for (const std::size_t i : {0, 1}) ASSERT_TRUE(plan->write(i, of_three(1, 1, 1)).ok());
  const std::vector<std::size_t> sum = {1};
  ASSERT_TRUE(plan->give(sum).ok());
  const int64_t waits = cuda::testing::host_waits();
  for (int run = 0; run < 5; ++run) {
    ASSERT_TRUE(plan->give(sum).ok());
    ASSERT_TRUE(plan->take().ok());
    EXPECT_EQ(cuda::testing::graphs_given() - cuda::testing::graphs_run(), 1);
  }
  EXPECT_EQ(cuda::testing::host_waits() - waits, 5) << "one a run";
  ASSERT_TRUE(plan->take().ok());
}

}  // namespace
}  // namespace hone::runtime
