// What must not depend on a device: compiling and reading, bench, the whole experiment, conformance, prices.
// On the CPU, and on the null device, where whoever looks into a plan's memory from the host crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "lab/bench/bench.h"
#include "lab/bench/compare_models.h"
#include "lab/experiment/experiment.h"
#include "lab/experiment/price.h"
#include "lab/experiment/profile.h"
#include "lab/prepared.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"
#include "trace/link/steps.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// Two branches, a product with constant weights, something to fuse.
graph::Graph small_network() {
  GraphBuilder b("small");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 16}));
  Tensor weights = Tensor::zeros(DType::kF32, {16, 16});
  for (int64_t i = 0; i < weights.size(); ++i)
    weights.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) * 0.1F - 0.3F;
  const ValueId y = b.add("MatMul", {x, b.constant("w", std::move(weights))});
  const ValueId left = b.add("Relu", {b.add("Neg", {y})}), right = b.add("Sigmoid", {b.add("Abs", {y})});
  b.output(b.add("Softmax", {b.add("Add", {left, right})}));
  return *std::move(b).finish();
}

class LabOnDevices : public testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam(), 2);
  const graph::Graph graph_ = small_network();
};

TEST_P(LabOnDevices, APreparedPlanComputesWhatTheReferenceDoes) {
  const auto inputs = make_inputs(graph_, 1);
  ASSERT_TRUE(inputs.ok());
  const auto optimised = optimise(graph_, *provider_, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  const auto plan = compile_plan(*optimised, *provider_, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->run().ok());
  const auto wanted = runtime::interpret(graph_, inputs->tensors);
  const auto numbers = compare_with(*wanted, inputs->tensors, **plan, {});
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_TRUE(numbers->passed) << numbers->detail;
}

TEST_P(LabOnDevices, ARunGivesWhatTheReferenceDoes) {
  const auto inputs = make_inputs(graph_, 1);
  const auto execution = runtime::execute(graph_, *provider_, inputs->tensors);
  ASSERT_TRUE(execution.ok()) << execution.error().message;
  EXPECT_TRUE(execution->planned);
  const auto wanted = runtime::interpret(graph_, inputs->tensors);
  const std::vector<ComparedOutput> compared = {{"y", execution->outputs[0], (*wanted)[0]}};
  EXPECT_TRUE(compare_outputs(compared, Numerics::kReassociating).passed);
}

TEST_P(LabOnDevices, BenchMeasures) {
  BenchOptions options;
  options.device = GetParam();
  options.budget_s = 0.05;
  const auto result = run_bench(graph_, "", options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_GT(result->latency.p50, 0);
  EXPECT_GT(result->throughput_per_s, 0);
  const auto compared = compare_models(graph_, graph_, options);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  EXPECT_TRUE(compared->numbers.passed);
}

TEST_P(LabOnDevices, AProfileHasASpanForEveryStep) {
  const auto inputs = make_inputs(graph_, 1);
  const auto plan = compile_plan(graph_, *provider_, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ProfileOptions options;
  options.budget_ns = 10'000'000;
  options.max_steps = 10;
  const auto profile = profile_plan(**plan, Roofs{}, options);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  std::size_t operators = 0;
  const trace::SpanTable& spans = profile->trace.spans;
  for (std::size_t i = 0; i < spans.size(); ++i)
    operators += spans.category[i] == trace::Category::kOperator ? 1 : 0;
  EXPECT_GT(operators, 0U);
  EXPECT_EQ(operators % (*plan)->steps().size(), 0U);
}

TEST_P(LabOnDevices, NodesHavePrices) {
  runtime::Tuner tuner(*provider_, {});
  PriceList prices(tuner);
  EXPECT_GT(prices.step(graph_), 0);
}

// So high that nothing beats them: none is measured again.
Roofs roofs_beyond_reach(int threads) {
  const Rate rate{1e18, 1e18, 1e18};
  Roofs roofs;
  roofs.machine = "beyond reach";
  roofs.threads = threads;
  for (const char* method : {"fma", "gemm"}) roofs.compute.push_back({DType::kF32, method, threads, rate});
  roofs.memory = {{"L2", "copy", threads, 2e6, rate}, {"DRAM", "copy", threads, 0, rate}};
  return roofs;
}

TEST_P(LabOnDevices, TheWholeExperimentRunsAndPasses) {
  ExperimentOptions options;
  options.budget_s = 0.2;
  const auto result = run_experiment(graph_, *provider_, describe_machine(),
                                     roofs_beyond_reach(provider_->threads()), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->report.result.passed);
  EXPECT_EQ(result->report.environment.device, GetParam());
}

// Over a driver and a CUPTI without a GPU: both recordings, of the baseline and of the result, are of replayed graphs.
TEST(LabOnAGpu, SaysHowTheTimesOfOperatorsCameAbout) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithProducts);
  ExperimentOptions options;
  options.budget_s = 0.2;
  const auto result =
      run_experiment(small_network(), *provider, describe_machine(), roofs_beyond_reach(1), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const std::string line = "times of operators: CUPTI, within the replayed graph";
  EXPECT_THAT(result->report.reproduce.notes, ::testing::Contains(line));
  EXPECT_THAT(result->report.optimised.step.notes, ::testing::ElementsAre(line));
  EXPECT_THAT(trace::steps_found(result->baseline_trace.meta).notes, ::testing::ElementsAre(line));
}

// A state that grows with every step, so that no two steps give the same.
graph::Graph counter() {
  GraphBuilder b("counter");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4, 6}));
  const ValueId state = b.input("s", graph::tensor_type(DType::kF32, Shape{4, 6}));
  b.output(b.add("Relu", {b.add("Neg", {b.add("Neg", {state})})}));
  b.output(b.add("Add", {state, b.add("Abs", {x})}));
  b.set_states({{1, 1}});
  return *std::move(b).finish();
}

TEST_P(LabOnDevices, NumbersOfStatesAreThoseOfOneStepFromTheirFirstValues) {
  const graph::Graph graph = counter();
  const auto inputs = make_inputs(graph, 1);
  const auto plan = compile_plan(graph, *provider_, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (int step = 0; step < 3; ++step) ASSERT_TRUE((*plan)->run().ok());
  const auto wanted = runtime::interpret(graph, inputs->tensors);
  const auto numbers = compare_with(*wanted, inputs->tensors, **plan, {});
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_TRUE(numbers->passed) << numbers->detail;

  ExperimentOptions options;
  options.budget_s = 0.2;
  const auto result = run_experiment(graph, *provider_, describe_machine(),
                                     roofs_beyond_reach(provider_->threads()), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->report.result.passed);
}

INSTANTIATE_TEST_SUITE_P(All, LabOnDevices, ::testing::Values("cpu", "null"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace hone::lab
