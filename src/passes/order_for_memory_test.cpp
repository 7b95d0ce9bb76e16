#include "passes/order_for_memory.h"

#include <random>

#include <fmt/core.h>

#include "graph/buffer_assignment.h"
#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

// Each branch makes a large value and sums it up.
std::string fan_out(const std::vector<std::string>& order) {
  std::string text = "(%x: f32[64,64]) {\n    %axes: i64[2] = constant dense(0, 1)\n";
  for (const std::string& node : order) {
    const char branch = node.back();
    if (node[0] == 'e')
      text += fmt::format("    %e{0}: f32[*] = Softmax(%x) {{axis = {1}}}\n", branch, branch - 'a');
    if (node[0] == 's')
      text += fmt::format("    %s{0}: f32[*] = ReduceSum(%e{0}, %axes) {{keepdims = 0}}\n", branch);
  }
  return text + "    %y: f32[*] = Sub(%sa, %sb)\n    return %y\n  }";
}

TEST(OrderForMemory, FinishesABranchBeforeItBeginsTheNext) {
  check_rewrite(order_for_memory, fan_out({"ea", "eb", "sa", "sb"}), fan_out({"ea", "sa", "eb", "sb"}));
  const std::size_t large = 64 * 64 * 4;
  EXPECT_EQ(peak_live_bytes(graph_of(fan_out({"ea", "eb", "sa", "sb"}))), 3 * large + 64);
  EXPECT_EQ(peak_live_bytes(graph_of(fan_out({"ea", "sa", "eb", "sb"}))), 2 * large + 2 * 64);
}

TEST(OrderForMemory, KeepsAnOrderThatIsAsGood) {
  check_left_alone(order_for_memory, fan_out({"ea", "sa", "eb", "sb"}));
  check_left_alone(order_for_memory,
                   "(%x: f32[8]) { %a: f32[*] = Relu(%x) %b: f32[*] = Exp(%x) return %a, %b }");
}

TEST(OrderForMemory, LetsAStateBeOverwrittenOnlyWhenNothingReadsItAnyMore) {
  // To update %w as soon as %g is there would free %g; but %ea and %eb still read %w.
  const PassOutcome outcome = run_pass(order_for_memory, graph_of(R"((%w: f32[64,64], %x: f32[64,64]) {
    %axes: i64[2] = constant dense(0, 1)
    %g: f32[*] = Neg(%x)
    %ea: f32[*] = MatMul(%w, %x)
    %eb: f32[*] = MatMul(%x, %w)
    %sa: f32[*] = ReduceSum(%ea, %axes) {keepdims = 0}
    %sb: f32[*] = ReduceSum(%eb, %axes) {keepdims = 0}
    %y: f32[*] = Sub(%sa, %sb)
    %n: f32[*] = Add(%g, %x)
    return %y, %n -> %w
  })"));
  EXPECT_FALSE(outcome.done.empty()) << "one branch after the other needs less";
  graph::BufferAssignment buffers(outcome.graph);
  EXPECT_TRUE(buffers.try_next_in_place(outcome.graph.states()[0])) << graph::print(outcome.graph);
  const std::size_t large = 64 * 64 * 4;  // %w, %x, %g and one branch
  EXPECT_LT(peak_live_bytes(outcome.graph), 4 * large + large / 2);
}

TEST(OrderForMemory, SaysThatItNeedsExtents) {
  check_left_alone(order_for_memory,
                   "(%x: f32[N,8]) { %a: f32[*] = Relu(%x) %y: f32[*] = Exp(%a) return %y }",
                   "3 of 3 values have extents that are not known");
}

// A detector's tail is as long as the picture says; what comes before is known.
TEST(OrderForMemory, OrdersWhatIsKnownBeforeWhatTheDataDecide) {
  const auto with_tail = [](const std::vector<std::string>& order) {
    std::string text = fan_out(order);
    text.replace(text.find("return %y"), 9, "%found: i64[*] = NonZero(%y)\n    return %found");
    return text;
  };
  check_rewrite(order_for_memory, with_tail({"ea", "eb", "sa", "sb"}), with_tail({"ea", "sa", "eb", "sb"}));
  EXPECT_EQ(peak_live_bytes(graph_of(with_tail({"ea", "sa", "eb", "sb"}))),
            peak_live_bytes(graph_of(fan_out({"ea", "sa", "eb", "sb"}))));
}

// Operators of several widths in random order, some joined in place, some read again late.
std::string random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  struct Made {
    std::string name;
    int64_t rows;
  };
  std::vector<Made> values{{"%x", 8}};
  std::string text = "(%x: f32[1,8,16]) {\n    %one: i64[1] = constant dense(1)\n";
  for (int i = 0; i < 30; ++i) {
    const Made& a = values[values.size() - 1 - pick(std::min<std::size_t>(values.size(), 6))];
    const Made& b = values[pick(values.size())];
    const std::string name = fmt::format("%v{}", i);
    const std::size_t kind = pick(5);
    if (kind == 0 && a.rows + b.rows < 200) {
      text += fmt::format("    {}: f32[*] = Concat({}, {}) {{axis = 1}}\n", name, a.name, b.name);
      values.push_back({name, a.rows + b.rows});
    } else if (kind == 1) {
      text += fmt::format("    {}: f32[*] = ReduceMax({}, %one)\n", name, a.name);
      values.push_back({name, 1});
    } else if (kind == 2 && (a.rows == b.rows || b.rows == 1)) {
      text += fmt::format("    {}: f32[*] = Add({}, {})\n", name, a.name, b.name);
      values.push_back({name, a.rows});
    } else {
      text += fmt::format("    {}: f32[*] = {}({})\n", name, kind == 3 ? "Relu" : "Identity", a.name);
      values.push_back({name, a.rows});
    }
  }
  return text + fmt::format("    return {}, {}\n  }}", values.back().name, values[values.size() - 2].name);
}

TEST(OrderForMemory, NeverKeepsMoreAlive) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph before = graph_of(random_graph(seed));
    const PassOutcome outcome = run_pass(order_for_memory, before);
    EXPECT_EQ(outcome.graph.nodes().size(), run_pass(order_for_memory, outcome.graph).graph.nodes().size());
    if (!outcome.changed()) continue;
    ++changed;
    EXPECT_LT(peak_live_bytes(outcome.graph), peak_live_bytes(before));
  }
  EXPECT_GT(changed, 10);
}

// As many tensors as a large model has, updated by one node.
TEST(OrderForMemory, TakesAnOptimizerOfThousandsOfTensors) {
  constexpr std::size_t kTensors = 1500;
  graph::GraphBuilder b("step");
  const auto number = graph::tensor_type(DType::kF32, Shape{});
  const auto vector = graph::tensor_type(DType::kF32, Shape{16});
  std::vector<graph::ValueId> inputs = {
      b.input("rate", number), b.input("updates", graph::tensor_type(DType::kI64, Shape{})), graph::kNoValue};
  std::vector<graph::ValueId> states;
  for (const char* group : {"x", "g", "m", "v"}) {
    for (std::size_t i = 0; i < kTensors; ++i) {
      inputs.push_back(b.input(group + std::to_string(i), vector));
      if (*group != 'g') states.push_back(inputs.back());
    }
  }
  b.output(b.add("Relu", {inputs[3]}));
  const auto next = b.add_many("hone.AdamW", inputs, 3 * kTensors);
  for (std::size_t i = 0; i < states.size(); ++i) b.next_value(states[i], next[i]);
  const graph::Graph graph = *std::move(b).finish();
  // Nothing but the inputs, each in 64 bytes, and one result: every next value lies where its state lies.
  EXPECT_EQ(peak_live_bytes(graph), (4 * kTensors + 3) * 64);
  EXPECT_TRUE(run_pass(order_for_memory, graph).done.empty());
}

}  // namespace
}  // namespace hone::passes
