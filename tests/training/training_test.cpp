// Training as one plan: state stays in the plan from step to step.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/training/mlp_step.h"
#include <gtest/gtest.h>

#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"
#include "runtime/plan.h"

namespace hone::training {
namespace {

constexpr int kSteps = 200;

struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> states;  // as graph.states()
  runtime::PlanMemory memory;
};

// Everything is written once; then the plan runs, and nothing but the loss is read.
Trained train(const graph::Graph& step, const std::string& provider_name, int steps = kSteps) {
  const auto provider = runtime::make_provider(provider_name, {.threads = 2});
  if (!provider.ok()) throw std::runtime_error(provider.error().message);
  runtime::PlanOptions options;
  options.autotune = false;
  const auto plan = runtime::Plan::compile(step, **provider, options);
  if (!plan.ok()) throw std::runtime_error(plan.error().message);
  const std::vector<Tensor> values = initial_values(step);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE((*plan)->write(i, values[i]).ok());
  Trained trained;
  trained.memory = (*plan)->memory();
  for (int i = 0; i < steps; ++i) {
    const Status ran = (*plan)->run();
    if (!ran.ok()) throw std::runtime_error(ran.error().message);
    trained.losses.push_back((*plan)->read(0)->at(0));
  }
  for (const graph::StatePair& pair : step.states()) {
    trained.states.push_back(*(*plan)->read_input(pair.input));
    // The next value is the state, wherever the plan has put it.
    EXPECT_TRUE(same_tensor(trained.states.back(), *(*plan)->read(pair.output)));
  }
  return trained;
}

double relative_error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(got[i] - wanted[i], 2);
    norm += std::pow(wanted[i], 2);
  }
  return std::sqrt(error / std::max(norm, 1e-30));
}

void expect_as_by_hand(const graph::Graph& step, const Trained& trained, double tolerance) {
  const ByHand wanted = train_by_hand(step, static_cast<int>(trained.losses.size()));
  EXPECT_LT(relative_error(trained.losses, wanted.losses), tolerance);
  for (std::size_t i = 0; i < wanted.states.size(); ++i) {
    EXPECT_LT(relative_error(trained.states[i].to_doubles(), wanted.states[i]), tolerance)
        << step.value(step.state_input(step.states()[i])).name;
  }
}

void expect_bitwise_equal(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.losses, b.losses);
  for (std::size_t i = 0; i < a.states.size(); ++i) EXPECT_TRUE(same_tensor(a.states[i], b.states[i])) << i;
}

class Training : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Providers, Training, testing::Values("cpu", "null"));

TEST_P(Training, InDoublePrecisionIsTheLoopWrittenByHand) {
  const graph::Graph step = mlp_step(DType::kF64);
  const Trained trained = train(step, GetParam());
  expect_as_by_hand(step, trained, 1e-11);
  EXPECT_LT(trained.losses.back(), trained.losses.front() / 2) << "it learns";
}

TEST_P(Training, InSinglePrecisionIsTheSameToRounding) {
  const graph::Graph step = mlp_step(DType::kF32);
  expect_as_by_hand(step, train(step, GetParam()), 2e-5);
}

TEST_P(Training, RepeatsBitForBit) {
  const graph::Graph step = mlp_step(DType::kF32);
  expect_bitwise_equal(train(step, GetParam()), train(step, GetParam()));
}

TEST_P(Training, LearnsTheSameBehindThePasses) {
  const graph::Graph step = mlp_step(DType::kF32);
  const auto provider = runtime::make_provider("cpu", {.threads = 2});
  ASSERT_TRUE(provider.ok());
  const passes::PassContext context{runtime::interpret_node, nullptr, lab::pass_target(**provider)};
  const auto better = passes::run_pipeline(step, context);
  ASSERT_TRUE(better.ok()) << better.error().message;
  EXPECT_LT(better->graph.nodes().size(), step.nodes().size());
  expect_as_by_hand(better->graph, train(better->graph, GetParam()), 2e-5);
}

TEST_P(Training, GoesOnFromWrittenStatesAsIfItHadNeverStopped) {
  const graph::Graph step = mlp_step(DType::kF32);
  const Trained whole = train(step, GetParam(), 20);
  const auto provider = runtime::make_provider(GetParam(), {.threads = 2});
  ASSERT_TRUE(provider.ok());
  runtime::PlanOptions options;
  options.autotune = false;
  std::vector<Tensor> values = initial_values(step);
  std::vector<double> losses;
  for (int part = 0; part < 2; ++part) {
    const auto plan = runtime::Plan::compile(step, **provider, options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_TRUE((*plan)->write(i, values[i]).ok());
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE((*plan)->run().ok());
      losses.push_back((*plan)->read(0)->at(0));
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = *(*plan)->read_input(i);
  }
  EXPECT_EQ(losses, whole.losses);
}

TEST(TrainingMemory, FastOptimizersUpdateInPlace) {
  // Four parameters, six moments, two counters, each once; all but what two counters take in place.
  const Trained on_cpu = train(mlp_step(DType::kF32), "cpu", 1);
  EXPECT_EQ(on_cpu.memory.state_bytes,
            4 * (3 * (kIn * kHidden + kHidden) + 2 * (kHidden * kOut + kOut)) + 16U);
  EXPECT_EQ(on_cpu.memory.state_copy_bytes, 0U);
}

}  // namespace
}  // namespace hone::training
