// Requests given one behind the other: each has the outputs that it would have alone, whatever order copies and runs take,
// and its own errors; no memory is taken and nobody is waited for but by who takes.
#include <chrono>
#include <numeric>
#include <random>

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
using Request = std::vector<Tensor>;

PlanOptions pipelined_options() {
  PlanOptions options;
  options.autotune = false;
  options.pipelined = true;
  return options;
}

std::unique_ptr<Plan> pipelined_plan(graph::Graph graph, const Provider& provider) {
  auto plan = Plan::compile(std::move(graph), provider, pipelined_options());
  if (!plan.ok()) throw std::runtime_error(plan.error().message);
  return *std::move(plan);
}

// Of `x` what `index` picks, and twice all of it, which is 33 numbers: no multiple of any vector.
graph::Graph picking() {
  GraphBuilder b("picking");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{33}));
  const ValueId index = b.input("index", graph::tensor_type(DType::kI64, Shape{2}));
  const ValueId twice = b.add("Mul", {x, b.constant("two", Tensor::scalar_f32(2))});
  b.set_outputs({b.add("Relu", {b.add("Gather", {twice, index})}), twice, x});
  return *std::move(b).finish();
}

Request request_of(int number, int64_t picked = 1) {
  std::vector<float> x(33);
  std::iota(x.begin(), x.end(), static_cast<float>(100 * number + 1));
  return {Tensor::f32({33}, x), Tensor::i64({2}, std::vector<int64_t>{number % 33, picked})};
}

void expect_outputs(const Result<TakenRun>& taken, const std::vector<Tensor>& wanted, int number) {
  ASSERT_TRUE(taken.ok()) << "request " << number << ": " << taken.error().message;
  ASSERT_EQ(taken->outputs.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(same_tensor(taken->outputs[i], wanted[i])) << "output " << i << " of request " << number;
}

// Given as early as may be.
void expect_served(Plan& plan, const std::vector<Request>& requests,
                   const std::vector<std::vector<Tensor>>& wanted) {
  std::size_t taken = 0;
  for (const Request& request : requests) {
    if (plan.untaken() == plan.requests_in_flight()) {
      expect_outputs(plan.take(), wanted[taken], static_cast<int>(taken));
      ++taken;
    }
    const Status given = plan.give(request);
    ASSERT_TRUE(given.ok()) << given.error().message;
  }
  for (; taken < requests.size(); ++taken)
    expect_outputs(plan.take(), wanted[taken], static_cast<int>(taken));
  EXPECT_EQ(plan.untaken(), 0U);
}

// By single runs of another plan.
std::vector<std::vector<Tensor>> alone(const graph::Graph& graph, const Provider& provider,
                                       const std::vector<Request>& requests) {
  PlanOptions options;
  options.autotune = false;
  const auto plan = Plan::compile(graph, provider, options);
  if (!plan.ok()) throw std::runtime_error(plan.error().message);
  std::vector<std::vector<Tensor>> outputs;
  for (const Request& request : requests) {
    auto run = (*plan)->run(request);
    if (!run.ok()) throw std::runtime_error(run.error().message);
    outputs.push_back(*std::move(run));
  }
  return outputs;
}

class PlanRequests : public ::testing::TestWithParam<const char*> {
 protected:
  bool is_cpu() const { return std::string_view(GetParam()) == "cpu"; }
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Gpu, PlanRequests, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, PlanRequests,
                         ::testing::Values("cpu", "null", testing::kCudaWithoutGpu, testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(PlanRequests, EachHasTheOutputsThatItWouldHaveAlone) {
  std::vector<Request> requests;
  for (int number = 0; number < 20; ++number) requests.push_back(request_of(number));
  const auto wanted = alone(picking(), *provider_, requests);
  const auto plan = pipelined_plan(picking(), *provider_);
  EXPECT_EQ(plan->requests_in_flight(), is_cpu() ? 1U : Plan::kMostRequests);
  expect_served(*plan, requests, wanted);
  // As ever between them, and again.
  const auto single = plan->run(requests[3]);
  ASSERT_TRUE(single.ok()) << single.error().message;
  EXPECT_TRUE(same_tensor((*single)[1], wanted[3][1]));
  expect_served(*plan, requests, wanted);
  EXPECT_TRUE(same_tensor(*plan->read(1), wanted.back()[1])) << "of the last run";
  EXPECT_TRUE(same_tensor(*plan->read_input(0), requests.back()[0]));
}

TEST_P(PlanRequests, ServedByAPlanThatIsNotMadeForThemTheyRunAtOnce) {
  std::vector<Request> requests;
  for (int number = 0; number < 5; ++number) requests.push_back(request_of(number));
  PlanOptions options;
  options.autotune = false;
  const auto plan = *Plan::compile(picking(), *provider_, options);
  EXPECT_EQ(plan->requests_in_flight(), 1U);
  expect_served(*plan, requests, alone(picking(), *provider_, requests));
}

TEST_P(PlanRequests, InputsMayChangeOnceTheyAreGiven) {
  const std::vector<Request> requests = {request_of(1), request_of(2), request_of(3)};
  const auto wanted = alone(picking(), *provider_, requests);
  const auto plan = pipelined_plan(picking(), *provider_);
  Request mine = request_of(1);
  for (int number = 1; number <= 3; ++number) {
    const Request next = request_of(number);
    std::ranges::copy(next[0].as<float>(), mine[0].as<float>().begin());
    std::ranges::copy(next[1].as<int64_t>(), mine[1].as<int64_t>().begin());
    ASSERT_TRUE(plan->give(mine).ok());
    std::ranges::fill(mine[0].as<float>(), -1.0F);
    std::ranges::fill(mine[1].as<int64_t>(), int64_t{99});
  }
  for (int number = 0; number < 3; ++number) expect_outputs(plan->take(), wanted[number], number);
}

TEST_P(PlanRequests, WrongInputsAreTheErrorOfThatRequestAlone) {
  const std::vector<Request> requests = {request_of(1), request_of(2)};
  const auto wanted = alone(picking(), *provider_, requests);
  const auto plan = pipelined_plan(picking(), *provider_);
  ASSERT_TRUE(plan->give(requests[0]).ok());
  Request wrong = request_of(7);
  wrong[0] = Tensor::zeros(DType::kF32, {32});
  const Status shape = plan->give(wrong);
  ASSERT_FALSE(shape.ok());
  EXPECT_THAT(shape.error().message, HasSubstr("input 'x'"));
  wrong[0] = Tensor::zeros(DType::kF64, {33});
  EXPECT_FALSE(plan->give(wrong).ok());
  wrong.resize(1);
  EXPECT_FALSE(plan->give(wrong).ok());
  EXPECT_EQ(plan->untaken(), 1U);
  ASSERT_TRUE(plan->give(requests[1]).ok());
  expect_outputs(plan->take(), wanted[0], 0);
  expect_outputs(plan->take(), wanted[1], 1);
}

TEST_P(PlanRequests, WhatIsWrongInTheDataIsToldByItsOwnRequestAlone) {
  const std::vector<Request> good = {request_of(1), request_of(2)};
  const auto wanted = alone(picking(), *provider_, good);
  const auto plan = pipelined_plan(picking(), *provider_);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(plan->give(good[0]).ok());
    ASSERT_TRUE(plan->give(request_of(5, /*picked=*/77)).ok());
    ASSERT_TRUE(plan->give(good[1]).ok());
    expect_outputs(plan->take(), wanted[0], 0);
    const auto bad = plan->take();
    ASSERT_FALSE(bad.ok());
    EXPECT_THAT(bad.error().message, HasSubstr("(Gather"));
    expect_outputs(plan->take(), wanted[1], 1);
    EXPECT_THAT(plan->take().error().message, HasSubstr("no run was given"));
  }
  const auto single = plan->run(good[0]);
  ASSERT_TRUE(single.ok()) << "the fault was told already: " << single.error().message;
}

TEST_P(PlanRequests, NoMoreThanThereIsRoomForAndNoneBesideOtherRuns) {
  const auto plan = pipelined_plan(picking(), *provider_);
  for (std::size_t i = 0; i < Plan::kMostRequests; ++i) ASSERT_TRUE(plan->give(request_of(1)).ok());
  EXPECT_THAT(plan->give(request_of(1)).error().message, HasSubstr("take one first"));
  const std::vector<std::size_t> first = {0};
  EXPECT_FALSE(plan->give(first).ok());
  while (plan->untaken() > 0) ASSERT_TRUE(plan->take().ok());
  if (!plan->can_give_ahead()) return;
  ASSERT_TRUE(plan->give(first).ok());
  EXPECT_THAT(plan->give(request_of(1)).error().message, HasSubstr("before a request"));
  ASSERT_TRUE(plan->take().ok());
  ASSERT_TRUE(plan->give(request_of(1)).ok());
  EXPECT_EQ(plan->take()->outputs.size(), 3U) << "all, whatever the run before was asked for";
}

// A state is an input like others: a request brings its own.
TEST_P(PlanRequests, BringStatesOfTheirOwn) {
  GraphBuilder b("sum");
  const ValueId sum = b.input("sum", graph::tensor_type(DType::kF32, Shape{3}));
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{3}));
  const ValueId next = b.add("Add", {sum, x});
  b.set_outputs({next, b.add("Neg", {next})});
  b.set_states({{0, 0}});
  const graph::Graph graph = *std::move(b).finish();
  const auto three = [](float a) { return Tensor::f32({3}, std::vector<float>{a, 2 * a, 3 * a}); };
  std::vector<Request> requests;
  for (int i = 0; i < 6; ++i) requests.push_back({three(static_cast<float>(i)), three(10)});
  expect_served(*pipelined_plan(graph, *provider_), requests, alone(graph, *provider_, requests));
}

TEST_P(PlanRequests, AnInputOrOutputMayLieInTheHostsMemory) {
  const auto graph = graph::parse(R"(graph "offload" (%x: f32[3], %h: f32[3]@host) {
    %a: f32[3] = Neg(%x)
    %kept: f32[3]@host = hone.CopyTo(%a) {device = "host"}
    %b: f32[3] = hone.CopyTo(%h) {device = "device0"}
    %s: f32[3] = Add(%a, %b)
    return %s, %kept
  })");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<Request> requests;
  for (int i = 0; i < 7; ++i) {
    const auto x = static_cast<float>(i);
    requests.push_back({Tensor::f32({3}, std::vector<float>{x, 2, 3}),
                        Tensor::f32({3}, std::vector<float>{10 * x, 20, 30})});
  }
  const auto plan = pipelined_plan(*graph, *provider_);
  EXPECT_EQ(plan->requests_in_flight(), is_cpu() ? 1U : Plan::kMostRequests);
  expect_served(*plan, requests, alone(*graph, *provider_, requests));
}

// What only the data know is the host's, between the device's kernels.
TEST_P(PlanRequests, RunAtOnceWhereTheHostIsNeededForEach) {
  GraphBuilder b("places");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4}));
  b.output(b.add("NonZero", {b.add("Relu", {x})}));
  const graph::Graph graph = *std::move(b).finish();
  std::vector<Request> requests;
  for (int i = 0; i < 5; ++i)
    requests.push_back({Tensor::f32({4}, std::vector<float>{1, -1, static_cast<float>(i % 2), 0})});
  const auto plan = pipelined_plan(graph, *provider_);
  EXPECT_EQ(plan->requests_in_flight(), 1U);
  EXPECT_EQ(plan->memory().pipeline_bytes, 0U);
  expect_served(*plan, requests, alone(graph, *provider_, requests));
}

TEST_P(PlanRequests, RunAtOnceWhileSomebodyListens) {
  const std::vector<Request> requests = {request_of(1), request_of(2), request_of(3), request_of(4)};
  const auto wanted = alone(picking(), *provider_, requests);
  const auto plan = pipelined_plan(picking(), *provider_);
  ASSERT_TRUE(plan->give(requests[0]).ok());
  {
    const testing::Spans spans;
    EXPECT_EQ(plan->requests_in_flight(), 1U);
    ASSERT_TRUE(plan->give(requests[1]).ok());
    EXPECT_EQ(spans.steps, 1);
  }
  ASSERT_TRUE(plan->give(requests[2]).ok());
  for (int i = 0; i < 3; ++i) expect_outputs(plan->take(), wanted[i], i);
}

TEST_P(PlanRequests, TheirMemoryIsForetoldAndTakenWhereTheyAreGivenAheadAlone) {
  PlanOptions options = pipelined_options();
  const auto foretold = Plan::forecast(picking(), *provider_, options);
  ASSERT_TRUE(foretold.ok());
  const auto device = provider_->device();
  const std::size_t before = device->use().now;
  const auto plan = *Plan::compile(picking(), *provider_, options);
  const std::size_t with = device->use().now - before;
  const PlanMemory memory = plan->memory();
  EXPECT_EQ(foretold->memory.pipeline_bytes, memory.pipeline_bytes);
  EXPECT_EQ(foretold->memory.pipeline_host_bytes, memory.pipeline_host_bytes);
  options.pipelined = false;
  const auto other = *Plan::compile(picking(), *provider_, options);
  EXPECT_EQ(other->memory().pipeline_bytes, 0U);
  EXPECT_EQ(other->memory().pipeline_host_bytes, 0U);
  EXPECT_EQ(other->memory().arena_bytes, memory.arena_bytes);
  if (is_cpu()) {
    EXPECT_EQ(memory.pipeline_bytes, 0U);
    return;
  }
  // x and index, each from a multiple of 256 on; three outputs and the word of faults.
  EXPECT_EQ(memory.pipeline_bytes, 2 * 256U + 3 * 256U + 8U);
  EXPECT_EQ(memory.pipeline_host_bytes, 3 * memory.pipeline_bytes);
  EXPECT_EQ(with - (device->use().now - before - with), memory.pipeline_bytes);
}

TEST_P(PlanRequests, TellHowLongTheDeviceHadNothingToDo) {
  const auto plan = pipelined_plan(picking(), *provider_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plan->give(request_of(i)).ok());
  EXPECT_FALSE(plan->take()->idle_us) << "of the first nobody can say";
  for (int i = 1; i < 3; ++i) {
    const auto taken = plan->take();
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->idle_us.has_value(), !is_cpu());
    EXPECT_GE(taken->idle_us.value_or(0), 0);
  }
}

// --- over a driver that says what it was asked ---

class RequestsWithoutAGpu : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, RequestsWithoutAGpu,
                         ::testing::Values(testing::kCudaWithoutGpu, testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RequestsWithoutAGpu, AreRightInWhateverOrderQueuesRun) {
  std::mt19937 random(7);
  std::vector<Request> requests;
  for (int number = 0; number < 300; ++number)
    requests.push_back(request_of(static_cast<int>(random() % 1000), static_cast<int64_t>(random() % 33)));
  const auto wanted = alone(picking(), *provider_, requests);
  const auto plan = pipelined_plan(picking(), *provider_);
  const cuda::testing::Faults shuffles("shuffles");
  expect_served(*plan, requests, wanted);
}

TEST_P(RequestsWithoutAGpu, TakeNoMemoryAndWaitOnlyWhereTheyAreTaken) {
  const auto plan = pipelined_plan(picking(), *provider_);
  const int64_t blocks = cuda::testing::blocks_made();
  for (std::size_t i = 0; i < Plan::kMostRequests; ++i) ASSERT_TRUE(plan->give(request_of(1)).ok());
  for (int run = 0; run < 10; ++run) {
    const int64_t waits = cuda::testing::host_waits();
    ASSERT_TRUE(plan->take().ok());
    EXPECT_EQ(cuda::testing::host_waits() - waits, 1);
    // Of two that are given one has run at most: the other is in the device's queue.
    EXPECT_GE(cuda::testing::graphs_given() - cuda::testing::graphs_run(), 1);
    ASSERT_TRUE(plan->give(request_of(run)).ok());
    EXPECT_EQ(cuda::testing::host_waits() - waits, 1) << "giving waits for nobody";
  }
  EXPECT_EQ(cuda::testing::blocks_made(), blocks);
}

TEST(RequestsWithoutAGpuAlone, AFaultOfTheDeviceReachesWhoTakes) {
  const auto provider = testing::provider_named(testing::kCudaOnHost);
  const auto plan = pipelined_plan(picking(), *provider);
  for (std::size_t i = 0; i < Plan::kMostRequests; ++i) ASSERT_TRUE(plan->give(request_of(1)).ok());
  {
    const cuda::testing::Faults lost("lost");
    const auto taken = plan->take();
    ASSERT_FALSE(taken.ok());
    EXPECT_THAT(taken.error().message, HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
  }
  EXPECT_EQ(plan->untaken(), 0U) << "all are over";
  EXPECT_THAT(plan->take().error().message, HasSubstr("no run was given"));
}

TEST(RequestsWithoutAGpuAlone, MayBeOnTheirWayWhenThePlanGoes) {
  const auto provider = testing::provider_named(testing::kCudaOnHost);
  const int64_t ran = cuda::testing::graphs_run();
  {
    const auto plan = pipelined_plan(picking(), *provider);
    for (std::size_t i = 0; i < Plan::kMostRequests; ++i) ASSERT_TRUE(plan->give(request_of(1)).ok());
  }
  EXPECT_EQ(cuda::testing::graphs_run() - ran, 3);
}

// --- where there is a GPU ---

class RequestsOnGpu : public ::testing::TestWithParam<const char*> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RequestsOnGpu);
INSTANTIATE_TEST_SUITE_P(Gpu, RequestsOnGpu, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });

// 32 MB each way, and four products of 69 GFLOP: a request behind the other takes less than all of its parts in turn.
TEST_P(RequestsOnGpu, CopiesGoBesideTheRunsOfOthers) {
  const auto provider = testing::provider_named(GetParam());
  GraphBuilder b("products");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{2048, 4096}));
  const ValueId weights = b.constant("w", Tensor::zeros(DType::kF32, {4096, 4096}));
  for (int i = 0; i < 4; ++i) x = b.add("MatMul", {x, weights});
  b.output(x);
  const auto plan = pipelined_plan(*std::move(b).finish(), *provider);
  ASSERT_EQ(plan->requests_in_flight(), Plan::kMostRequests);
  const Request request = {Tensor::zeros(DType::kF32, {2048, 4096})};
  constexpr int kEach = 12;
  const auto ms_of_each = [](const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kEach; ++i) work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() /
           kEach;
  };
  const auto give_and_take = [&] {
    ASSERT_TRUE(plan->give(request).ok());
    ASSERT_TRUE(plan->take().ok());
  };
  double one_by_one = 1e9, pipelined = 1e9;
  for (int round = 0; round < 4; ++round) {
    one_by_one = std::min(one_by_one, ms_of_each([&] { ASSERT_TRUE(plan->run(request).ok()); }));
    while (plan->untaken() + 1 < Plan::kMostRequests) ASSERT_TRUE(plan->give(request).ok());
    pipelined = std::min(pipelined, ms_of_each(give_and_take));
    while (plan->untaken() > 0) ASSERT_TRUE(plan->take().ok());
  }
  EXPECT_LT(pipelined, 0.9 * one_by_one);
}

}  // namespace
}  // namespace hone::runtime
