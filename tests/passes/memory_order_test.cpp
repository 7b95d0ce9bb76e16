// What the order of operators does to the arena of a plan: branches written breadth first, as exporters that
// walk a module level by level write them, against the order that the pass makes of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "passes/order_for_memory.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::passes {
namespace {

// A module of four branches, each a wide convolution and the pooling that makes its result small; all the
// convolutions first.
std::string breadth_first(int branches) {
  std::string text = "graph \"test\" (%x: f32[1,8,32,32]) {\n    %w: f32[16,8,1,1] = constant dense(";
  for (int i = 0; i < 16 * 8; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", (i * 7 % 11 - 5) * 0.1);
  text += ")\n";
  std::string parts;
  for (int i = 0; i < branches; ++i)
    text += fmt::format(
        "    %x{0}: f32[*] = MaxPool(%x) {{kernel_shape = [{1},1]}}\n    %c{0}: f32[*] = Conv(%x{0}, %w)\n",
        i, i + 1);
  for (int i = 0; i < branches; ++i) {
    text += fmt::format("    %p{0}: f32[*] = GlobalAveragePool(%c{0})\n", i);
    parts += fmt::format("{}%p{}", i > 0 ? ", " : "", i);
  }
  return text + fmt::format("    %y: f32[*] = Concat({}) {{axis = 1}}\n    return %y\n  }}", parts);
}

std::unique_ptr<runtime::Plan> plan_of(const std::string& text, bool ordered) {
  auto graph = graph::parse(text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  PassContext context;
  context.evaluate = [](const graph::Node& node, std::span<const Tensor> inputs) {
    return runtime::interpret_node(node, inputs);
  };
  PipelineOptions options;
  if (!ordered) options.disabled = {"order"};
  auto result = run_pipeline(*std::move(graph), context, options);
  if (!result.ok()) throw std::logic_error(result.error().message);
  runtime::PlanOptions plan_options;
  plan_options.autotune = false;
  auto plan =
      runtime::Plan::compile(std::move(result->graph), *runtime::testing::cpu_provider(1), plan_options);
  if (!plan.ok()) throw std::logic_error(plan.error().message);
  return *std::move(plan);
}

TEST(MemoryOrder, MakesTheArenaOfABreadthFirstModuleSmaller) {
  const std::string text = breadth_first(4);
  const auto as_given = plan_of(text, false);
  const auto ordered = plan_of(text, true);
  EXPECT_LT(static_cast<double>(ordered->memory().arena_bytes),
            0.6 * static_cast<double>(as_given->memory().arena_bytes));
  Tensor input = Tensor::zeros(DType::kF32, {1, 8, 32, 32});
  for (int64_t i = 0; i < input.size(); ++i)
    input.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 37 % 101) / 50 - 1;
  const auto wanted = as_given->run({&input, 1});
  const auto got = ordered->run({&input, 1});
  ASSERT_TRUE(wanted.ok() && got.ok());
  EXPECT_EQ(std::memcmp((*wanted)[0].data(), (*got)[0].data(), (*got)[0].bytes()), 0);
}

}  // namespace
}  // namespace hone::passes
