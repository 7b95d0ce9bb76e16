// Plans that run operators side by side wherever that can be done, with the CPU's kernels, against the
// interpreter: branching graphs in which views, parts, products and pointwise operators meet.
#include <random>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

int side_by_side(const runtime::Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(),
                                        [](const runtime::PlanStep& step) { return step.lanes > 1; }));
}

std::unique_ptr<runtime::Plan> plan_of(const graph::Graph& graph, runtime::Overlap overlap, bool autotune,
                                       int threads = 2) {
  runtime::PlanOptions options;
  options.autotune = autotune;
  options.tune_ms_per_node = 0.2;
  options.overlap = overlap;
  auto plan = runtime::Plan::compile(graph, *runtime::testing::cpu_provider(threads), options);
  if (!plan.ok()) throw std::logic_error(plan.error().message);
  return *std::move(plan);
}

// Runs the plan several times: what lanes do to each other differs from run to run.
void expect_right(const graph::Graph& graph, runtime::Plan& plan, int runs = 4) {
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs())
    inputs.push_back(random_floats(graph.type(input).shape(), 11 + static_cast<uint32_t>(inputs.size())));
  const auto wanted = runtime::interpret(graph, inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  for (int run = 0; run < runs; ++run) {
    const auto got = plan.run(inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::size_t i = 0; i < got->size(); ++i) {
      double error = 0, norm = 0;
      for (int64_t k = 0; k < (*got)[i].size(); ++k) {
        const double difference = (*got)[i].at(k) - (*wanted)[i].at(k);
        error += difference * difference;
        norm += (*wanted)[i].at(k) * (*wanted)[i].at(k);
      }
      EXPECT_TRUE(error <= 1e-10 * norm) << "output " << i << ", run " << run;
    }
  }
}

// Values of one width, joined and parted; the last ones are the outputs.
graph::Graph random_branches(uint32_t seed) {
  std::mt19937 random(seed);
  return make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
    std::vector<ValueId> values = {f32_input(b, "x", {1, 24, 32}), f32_input(b, "z", {1, 24, 32})};
    const auto any = [&] {
      return values[values.size() - 1 - random() % std::min<std::size_t>(6, values.size())];
    };
    const ValueId two_parts = ints(b, {12, 12});
    for (int i = 0; i < 24; ++i) {
      switch (random() % 8) {
        case 0:
          values.push_back(
              b.add("MatMul", {any(), f32_constant(b, {32, 32}, seed + static_cast<uint32_t>(i))}));
          values.back() = b.add("Mul", {values.back(), scalar(b, 0.25F)});
          break;
        case 1: {
          const auto parts = b.add_many("Split", {any(), two_parts}, 2, {{"axis", int64_t{1}}});
          values.push_back(
              b.add("Concat", {b.add("Neg", {parts[1]}), b.add("Tanh", {parts[0]})}, {{"axis", int64_t{1}}}));
          break;
        }
        case 2:
          values.push_back(b.add("Reshape", {b.add("Softmax", {b.add("Reshape", {any(), ints(b, {12, 64})})}),
                                             ints(b, {1, 24, 32})}));
          break;
        case 3:
          values.push_back(b.add("Add", {any(), any()}));
          break;
        case 4:
          values.push_back(
              b.add("LayerNormalization", {any(), f32_constant(b, {32}), f32_constant(b, {32})}));
          break;
        default:
          values.push_back(b.add(random() % 2 == 0 ? "Tanh" : "Abs", {any()}));
      }
    }
    return {values[values.size() - 1], values[values.size() - 2], values[values.size() - 4]};
  });
}

TEST(OverlapOnCpu, RandomBranchesKeepTheirNumbers) {
  int overlapping = 0;
  for (uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = random_branches(seed);
    const auto plan = plan_of(graph, runtime::Overlap::kAlways, false, 2 + static_cast<int>(seed % 3));
    overlapping += side_by_side(*plan);
    expect_right(graph, *plan);
  }
  EXPECT_GT(overlapping, 300);
}

// Towers of convolutions: oneDNN's kernels, several of them, made for one thread and run inside a team.
TEST(OverlapOnCpu, ConvolutionsKeepTheirNumbersWithTheKernelsThatAreFastestInALane) {
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {1, 16, 13, 11});
    std::vector<ValueId> ends;
    for (uint32_t tower = 0; tower < 2; ++tower) {
      ValueId y = b.add("Conv", {x, f32_constant(b, {32, 16, 3, 3}, tower)}, {{"pads", Ints{1, 1, 1, 1}}});
      y = b.add("Conv", {y, f32_constant(b, {32, 1, 3, 3}, tower)},
                {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{32}}});
      y = b.add("Conv", {y, f32_constant(b, {16, 32, 1, 1}, tower)});
      ends.push_back(b.add("MaxPool", {y}, {{"kernel_shape", Ints{2, 2}}}));
    }
    return {b.add("Add", ends)};
  });
  const auto plan = plan_of(graph, runtime::Overlap::kAlways, true);
  EXPECT_EQ(side_by_side(*plan), 8);
  expect_right(graph, *plan);
}

TEST(OverlapOnCpu, RecurrentLayersOfBothDirectionsKeepTheirNumbers) {
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {9, 1, 24});
    std::vector<ValueId> ends;
    for (const char* direction : {"forward", "reverse"}) {
      ends.push_back(b.add(
          "LSTM", {x, f32_constant(b, {1, 96, 24}), f32_constant(b, {1, 96, 24}), f32_constant(b, {1, 192})},
          {{"hidden_size", int64_t{24}}, {"direction", std::string(direction)}}));
    }
    return {b.add("Concat", ends, {{"axis", int64_t{1}}})};
  });
  const auto plan = plan_of(graph, runtime::Overlap::kAlways, true);
  EXPECT_EQ(side_by_side(*plan), 2);
  expect_right(graph, *plan);
}

TEST(OverlapOnCpu, OneThreadHasNoLanes) {
  const graph::Graph graph = random_branches(1);
  EXPECT_EQ(side_by_side(*plan_of(graph, runtime::Overlap::kAlways, false, 1)), 0);
}

TEST(OverlapOnCpu, IsNeverChosenUnmeasured) {
  EXPECT_EQ(side_by_side(*plan_of(random_branches(1), runtime::Overlap::kMeasured, false)), 0);
}

}  // namespace
}  // namespace hone::backends
