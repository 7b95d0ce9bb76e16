// Plans of graphs that cannot be planned throughout: what has to be is run on the host, the rest on the
// device.
#include "runtime/host_step.h"

#include <random>

#include <gmock/gmock.h>

#include "core/memory_budget.h"
#include "graph/text.h"
#include "runtime/host_border.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/shaped_plans.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/spans.h"

namespace hone::runtime {
namespace {

using ::testing::HasSubstr;

graph::Graph parsed(const std::string& text) {
  auto graph = graph::parse(text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return std::move(*graph);
}

Tensor random_tensor(Shape shape, uint32_t seed) {
  Tensor tensor(DType::kF32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& x : tensor.as<float>()) x = normal(random);
  return tensor;
}

// Rows of a product that are positive, doubled: how many there are is in the data.
const char* const kChosenRows = R"(graph "g" (%x: f32[6,8]) {
  %w: f32[8,1] = constant dense(1, -1, 2, -2, 1, 1, -1, 1)
  %two: f32[] = constant dense(2)
  %zero: f32[] = constant dense(0)
  %axes: i64[1] = constant dense(1)
  %s: f32[6,1] = MatMul(%x, %w)
  %v: f32[6] = Squeeze(%s, %axes)
  %p: bool[6] = Greater(%v, %zero)
  %at: i64[1,?] = NonZero(%p)
  %rows: i64[?,1] = Transpose(%at)
  %kept: f32[?,8] = GatherND(%x, %rows)
  %y: f32[?,8] = Mul(%kept, %two)
  %first: i64[1] = constant dense(0)
  %sums: f32[8] = ReduceSum(%y, %first) {keepdims = 0, noop_with_empty_axes = 0}
  %all: f32[6,8] = Add(%x, %sums)
  return %y, %all
})";

// Two branches with a product each.
const char* const kEitherWay = R"(graph "g" (%c: bool[], %x: f32[2,3]) {
  %w: f32[3,3] = constant dense(1, 2, 3, 4, 5, 6, 7, 8, 9)
  %y: f32[2,3] = If(%c, %x, %w) captures 2 graph "then" (%x: f32[2,3], %w: f32[3,3]) {
    %t: f32[2,3] = MatMul(%x, %w)
    return %t
  } graph "else" (%x: f32[2,3], %w: f32[3,3]) {
    %e: f32[2,3] = Neg(%x)
    return %e
  }
  %z: f32[2,3] = Relu(%y)
  return %z
})";

// s <- tanh(s w), three times, each s collected; the body does not say what shapes it is given.
const char* const kLoop = R"(graph "g" (%x: f32[2,3], %n: i64[]) {
  %w: f32[3,3] = constant dense(.1, .2, .3, .4, .5, .6, .7, .8, .9)
  %s: f32[2,3], %all: f32[?,2,3] = Loop(%n, none, %x, %w) captures 1 graph "body" (%i: i64[], %c: bool[], %s: f32[*], %w: f32[3,3]) {
    %go: bool[] = Identity(%c)
    %p: f32[*] = MatMul(%s, %w)
    %t: f32[*] = Tanh(%p)
    %o: f32[*] = Identity(%t)
    return %go, %t, %o
  }
  return %s, %all
})";

// s <- [s, s]: a shape that changes from one iteration to the next.
const char* const kGrowing = R"(graph "g" (%x: f32[2], %n: i64[]) {
  %s: f32[?] = Loop(%n, none, %x) graph "body" (%i: i64[], %c: bool[], %s: f32[?]) {
    %go: bool[] = Identity(%c)
    %t: f32[?] = Concat(%s, %s) {axis = 0}
    return %go, %t
  }
  return %s
})";

// Running sums of rows.
const char* const kScan = R"(graph "g" (%s: f32[3], %rows: f32[4,3]) {
  %last: f32[3], %sums: f32[4,3] = Scan(%s, %rows) {num_scan_inputs = 1} graph "body" (%s: f32[3], %row: f32[3]) {
    %t: f32[3] = Add(%s, %row)
    %o: f32[3] = Identity(%t)
    return %t, %o
  }
  return %last, %sums
})";

Tensor boolean(bool value) {
  Tensor tensor(DType::kBool, {});
  tensor.as<uint8_t>()[0] = value ? 1 : 0;
  return tensor;
}

const PlanStep& step_of(const Plan& plan, const std::string& op) {
  for (const PlanStep& step : plan.steps())
    if (step.op == op) return step;
  throw std::logic_error("no step " + op);
}

class HostSteps : public ::testing::TestWithParam<const char*> {
 protected:
  // Runs twice: what a run leaves behind must not matter.
  void expect_as_interpreted(const std::string& text, const std::vector<Tensor>& inputs) {
    const graph::Graph graph = parsed(text);
    auto plan = Plan::compile(parsed(text), *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const auto expected = interpret(graph, inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    for (int run = 0; run < 2; ++run) {
      const auto found = (*plan)->run(inputs);
      ASSERT_TRUE(found.ok()) << found.error().message;
      ASSERT_EQ(found->size(), expected->size());
      for (std::size_t i = 0; i < found->size(); ++i) {
        ASSERT_EQ((*found)[i].shape(), (*expected)[i].shape()) << "output " << i;
        for (int64_t k = 0; k < (*found)[i].size(); ++k)
          EXPECT_NEAR((*found)[i].at(k), (*expected)[i].at(k), 1e-5) << "output " << i << ", element " << k;
      }
    }
  }

  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};

TEST_P(HostSteps, RunWhatDependsOnTheDataBetweenKernels) {
  expect_as_interpreted(kChosenRows, {random_tensor({6, 8}, 1)});
  Tensor none = random_tensor({6, 8}, 2);
  for (float& x : none.as<float>()) x = 0;
  expect_as_interpreted(kChosenRows, {none});  // no row at all
}

TEST_P(HostSteps, LeaveTheRestToTheDevice) {
  const auto plan = Plan::compile(parsed(kChosenRows), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(step_of(**plan, "NonZero").choice, HasSubstr("known only when it runs"));
  EXPECT_THAT(step_of(**plan, "GatherND").implementation, HasSubstr("host"));
  EXPECT_THAT(step_of(**plan, "MatMul").implementation, Not(HasSubstr("host")));
  EXPECT_THAT(step_of(**plan, "Add").implementation, Not(HasSubstr("host")));
}

TEST_P(HostSteps, TakeTheBranchThatTheDataTell) {
  for (const bool condition : {true, false})
    expect_as_interpreted(kEitherWay, {boolean(condition), random_tensor({2, 3}, 3)});
  const auto plan = Plan::compile(parsed(kEitherWay), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(step_of(**plan, "If").implementation, HasSubstr("plan of 1 steps"));
}

// Slices of [0,3], which are none, collected along `axis`.
std::string scan_of_nothing(int axis) {
  return R"(graph "g" (%s: f32[3], %rows: f32[0,3]) {
  %last: f32[3], %sums: f32[*] = Scan(%s, %rows) {num_scan_inputs = 1, scan_output_axes = [)" +
         std::to_string(axis) + R"(]} graph "body" (%s: f32[3], %row: f32[3]) {
    %t: f32[3] = Add(%s, %row)
    %o: f32[3] = Identity(%t)
    return %t, %o
  }
  return %last, %sums
})";
}

TEST_P(HostSteps, CollectNothingAlongAnyAxis) {
  for (const auto& [axis, shape] : {std::pair{0, Shape{0, 3}}, {1, {3, 0}}, {-1, {3, 0}}, {-2, {0, 3}}}) {
    const std::vector<Tensor> inputs = {random_tensor({3}, 8), Tensor(DType::kF32, {0, 3})};
    const graph::Graph graph = parsed(scan_of_nothing(axis));
    const auto outputs = interpret(graph, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ((*outputs)[1].shape(), shape) << axis;
    expect_as_interpreted(scan_of_nothing(axis), inputs);
  }
  for (const int axis : {2, -3})
    EXPECT_THAT(graph::parse(scan_of_nothing(axis)).error().message, HasSubstr("scan_output_axes: axis "));
}

TEST_P(HostSteps, RepeatBodiesAsPlans) {
  for (const int64_t trips : {0, 1, 3})
    expect_as_interpreted(kLoop, {random_tensor({2, 3}, 4), Tensor::scalar_i64(trips)});
  expect_as_interpreted(kGrowing, {random_tensor({2}, 5), Tensor::scalar_i64(4)});
  expect_as_interpreted(kScan, {random_tensor({3}, 6), random_tensor({4, 3}, 7)});
}

TEST_P(HostSteps, ComputeWhatLiesOnTheHostAlready) {
  expect_as_interpreted("graph \"g\" (%h: f32[3]@host) { %y: f32[3]@host = Neg(%h) return %y }",
                        {random_tensor({3}, 11)});
}

TEST_P(HostSteps, TakeStringsAndInputsOfOpenExtents) {
  const std::string text = R"(graph "g" (%words: string[2], %x: f32[n,2]) {
    %same: string[2] = Identity(%words)
    %y: f32[n,2] = Relu(%x)
    return %same, %y
  })";
  auto plan = Plan::compile(parsed(text), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Tensor words(DType::kString, {2});
  words.strings()[0] = "cell", words.strings()[1] = "border";
  for (const int64_t rows : {1, 3}) {
    const Tensor x = random_tensor({rows, 2}, 12);
    const auto found = (*plan)->run(std::vector<Tensor>{words, x});
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ((*found)[0].strings()[1], "border");
    ASSERT_EQ((*found)[1].shape(), (Shape{rows, 2}));
    for (int64_t k = 0; k < 2 * rows; ++k) EXPECT_EQ((*found)[1].at(k), std::max(0.0, x.at(k)));
  }
}

TEST_P(HostSteps, AreMarkedOnceHoweverManyPlansTheyRun) {
  auto plan = Plan::compile(parsed(kLoop), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const testing::Spans spans;
  ASSERT_TRUE((*plan)->run(std::vector<Tensor>{random_tensor({2, 3}, 4), Tensor::scalar_i64(3)}).ok());
  EXPECT_EQ(spans.steps, 1);
  EXPECT_EQ(spans.operators.size(), (*plan)->steps().size());
}

TEST_P(HostSteps, NameTheNodeWhoseDataAreWrong) {
  const std::string text = R"(graph "g" (%x: f32[3], %n: i64[]) {
    %shape: i64[1] = constant dense(3)
    %i: i64[?] = Range(%n, %n, %n) "range"
    return %i
  })";
  auto plan = Plan::compile(parsed(text), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto result = (*plan)->run(std::vector<Tensor>{random_tensor({3}, 8), Tensor::scalar_i64(0)});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("node 'range' (Range"));
}

// The first step is the host's, which waits for what was given before.
TEST_P(HostSteps, AnErrorInTheDataIsToldOnce) {
  const std::string text = R"(graph "g" (%u: f32[n], %x: f32[3], %i: i64[2]) {
    %at: i64[1,?] = NonZero(%u)
    %y: f32[2] = GatherElements(%x, %i) {axis = 0}
    return %at, %y
  })";
  auto plan = Plan::compile(parsed(text), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->steps()[0].on_host);
  const auto run = [&](int64_t index) {
    return (*plan)->run(std::vector<Tensor>{random_tensor({4}, 1), random_tensor({3}, 2),
                                            Tensor::i64({2}, std::vector<int64_t>{0, index})});
  };
  EXPECT_FALSE(run(9).ok());
  const auto good = run(2);
  EXPECT_TRUE(good.ok()) << good.error().message;
}

// A copy to the host of what the host has computed.
TEST_P(HostSteps, CopyNothingThatIsThereAlready) {
  expect_as_interpreted(R"(graph "g" (%x: f32[6,8]) {
    %at: i64[2,?] = NonZero(%x)
    %axes: i64[1] = constant dense(1)
    %sums: i64[2] = ReduceSum(%at, %axes) {keepdims = 0, noop_with_empty_axes = 0}
    %kept: i64[2]@host = hone.CopyTo(%sums) {device = "host"}
    return %kept
  })",
                        {random_tensor({6, 8}, 13)});
}

TEST_P(HostSteps, InputsOfOpenExtentsTakeOnlyWhatFits) {
  auto plan =
      Plan::compile(parsed("graph \"g\" (%x: f32[n,2]) { %y: f32[n,2] = Relu(%x) return %y }"), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {5, 2})).ok());
  for (const Tensor& wrong : {Tensor::zeros(DType::kF64, {5, 2}), Tensor::zeros(DType::kF32, {5, 3}),
                              Tensor::zeros(DType::kF32, {5}), Tensor()}) {
    const Status status = (*plan)->write(0, wrong);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("input 'x': the plan is for f32[n,2]"));
  }
}

TEST_P(HostSteps, WhatTheMemoryBudgetHasNoRoomForIsAnErrorThatNamesItsNode) {
  auto plan = Plan::compile(parsed(R"(graph "g" (%x: f32[512,512]) {
    %y: f32[512,512] = Neg(%x)
    %at: i64[2,?] = NonZero(%y) "find"
    return %y, %at
  })"),
                            *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {512, 512})).ok());
  set_memory_budget(memory_in_use() + 1000);
  const Status ran = (*plan)->run();
  const auto read = (*plan)->read(0);
  set_memory_budget(0);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("node '"));
  EXPECT_THAT(ran.error().message, HasSubstr("--memory"));
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("--memory"));
}

INSTANTIATE_TEST_SUITE_P(Gpu, HostSteps, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(, HostSteps, ::testing::Values("cpu", "null", testing::kCudaWithoutGpu),
                         [](const auto& test) { return std::string(test.param); });

TEST(HostBorder, CopiesEachTensorOnceAndSaysSoInTheGraph) {
  const auto bordered = with_host_border(parsed(kChosenRows));
  ASSERT_TRUE(bordered.ok()) << bordered.error().message;
  const std::string text = graph::print(*bordered);
  EXPECT_THAT(text, HasSubstr("\"x to host\""));        // for GatherND
  EXPECT_THAT(text, HasSubstr("\"p to host\""));        // for NonZero
  EXPECT_THAT(text, HasSubstr("\"sums to device0\""));  // for Add
  EXPECT_EQ(bordered->nodes().size(), parsed(kChosenRows).nodes().size() + 3);
}

TEST(HostBorder, LeavesAGraphAloneThatNeedsNone) {
  const std::string text = "graph \"g\" (%x: f32[2]) { %y: f32[2] = Relu(%x) return %y }";
  const auto same = with_host_border(parsed(text));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(graph::same_graph(*same, parsed(text)));
}

// A product of unknown height, large enough for a plan of its own; then one of another height; then the first
// again.
TEST(ShapedPlans, ComputeAsTheInterpreterDoesForEveryShapeTheyMeet) {
  const graph::Graph graph = parsed(R"(graph "g" (%x: f32[?,64], %w: f32[64,32]) {
    %y: f32[?,32] = MatMul(%x, %w)
    return %y
  })");
  const auto provider = testing::cpu_provider(1);
  auto plans = ShapedPlans::make(graph, graph.nodes()[0], *provider);
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  for (const int64_t rows : {1000, 3, 700, 1000}) {
    const std::vector<Tensor> inputs = {random_tensor({rows, 64}, 9), random_tensor({64, 32}, 10)};
    const auto found = (*plans)->run(inputs), expected = interpret(graph, inputs);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ((*found)[0].shape(), (Shape{rows, 32}));
    for (int64_t k = 0; k < rows * 32; ++k) ASSERT_NEAR((*found)[0].at(k), (*expected)[0].at(k), 1e-4);
  }
}

}  // namespace
}  // namespace hone::runtime
