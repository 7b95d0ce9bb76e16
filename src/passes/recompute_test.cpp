// What is dropped and made again under a budget; that the numbers stay the same bit by bit is in tests/training.
#include "passes/recompute.h"

#include <fmt/core.h>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

constexpr std::size_t kLargeBytes = 64 * 64 * 4;

Recomputation made(const Graph& graph, std::size_t bytes,
                   std::map<std::string, std::size_t, std::less<>> scratch = {}) {
  auto result = recompute(graph, {bytes, std::move(scratch)});
  if (!result.ok()) throw std::logic_error(result.error().message);
  const Status valid = graph::verify(result->graph);
  EXPECT_TRUE(valid.ok()) << valid.error().message << graph::print(result->graph);
  return *std::move(result);
}

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

// Forward: a product and an activation a layer; backward, the other way round, each activation again.
std::string there_and_back(int layers) {
  std::string text = "(%x: f32[64,64], %w: f32[64,64]) {\n %a0: f32[*] = Softmax(%x)\n";
  for (int i = 1; i <= layers; ++i)
    text += fmt::format(" %p{0}: f32[*] = MatMul(%a{1}, %w)\n %a{0}: f32[*] = Tanh(%p{0})\n", i, i - 1);
  text += fmt::format(" %g{}: f32[*] = Exp(%a{})\n", layers, layers);
  for (int i = layers; i > 0; --i)
    text += fmt::format(" %m{0}: f32[*] = MatMul(%g{0}, %a{1})\n %g{1}: f32[*] = MatMul(%m{0}, %a{0})\n", i,
                        i - 1);
  return text + " return %g0 }";
}

TEST(Recompute, LeavesAGraphThatFitsAsItIs) {
  const Graph graph = graph_of(there_and_back(4));
  const Recomputation same = made(graph, 1 << 30);
  EXPECT_TRUE(graph::equivalent(same.graph, graph));
  EXPECT_EQ(same.operators, 0);
  EXPECT_EQ(same.flops, same.flops_before);
  EXPECT_EQ(same.peak, same.peak_before);
}

TEST(Recompute, DropsWhatIsCheapAndMakesItAgainWhereItIsRead) {
  // %t lies idle while the products run; a Tanh of what is there anyway makes it again.
  const char* before = R"((%x: f32[64,64]) {
    %t: f32[*] = Tanh(%x)
    %a: f32[*] = MatMul(%t, %x)
    %b: f32[*] = Softmax(%a)
    %c: f32[*] = MatMul(%b, %a)
    %d: f32[*] = MatMul(%c, %x)
    %e: f32[*] = MatMul(%d, %t)
    return %e
  })";
  const char* after = R"((%x: f32[64,64]) {
    %t: f32[*] = Tanh(%x)
    %a: f32[*] = MatMul(%t, %x)
    %b: f32[*] = Softmax(%a)
    %c: f32[*] = MatMul(%b, %a)
    %d: f32[*] = MatMul(%c, %x)
    %again: f32[*] = Tanh(%x)
    %e: f32[*] = MatMul(%d, %again)
    return %e
  })";
  const Recomputation result = made(graph_of(before), 5 * kLargeBytes);
  EXPECT_TRUE(graph::equivalent(result.graph, graph_of(after))) << graph::print(result.graph);
  EXPECT_EQ(result.operators, 1);
  EXPECT_EQ(result.flops - result.flops_before, 64 * 64);
  EXPECT_EQ(result.peak, result.peak_before - kLargeBytes);
  EXPECT_EQ(result.graph.nodes()[5].provenance, result.graph.nodes()[0].provenance)
      << "it is the user's Tanh";
}

TEST(Recompute, TakesTheCheapestFirstAndProductsWhereThatIsNotEnough) {
  const Graph graph = graph_of(there_and_back(12));
  const Recomputation whole = made(graph, 1 << 30);
  std::size_t peak = whole.peak_before;
  double flops = whole.flops;
  for (const double share : {0.9, 0.7, 0.5}) {
    const auto budget = static_cast<std::size_t>(share * static_cast<double>(whole.peak_before));
    const Recomputation result = made(graph, budget);
    EXPECT_LE(result.peak, budget) << share;
    EXPECT_LE(result.peak, peak);
    EXPECT_GE(result.flops, flops) << "less memory is not cheaper";
    EXPECT_LT(result.flops, 1.7 * whole.flops);
    peak = result.peak;
    flops = result.flops;
  }
}

TEST(Recompute, MakesOnlyThatOutputOfAGroupThatIsRead) {
  const Graph graph = graph_of(R"((%x: f32[64,64]) {
    %t: f32[64,64], %s: f32[64,64] = hone.Fused(%x) {kind = "pointwise"}
      graph "t" (%x: f32[64,64]) {
        %t: f32[*] = Tanh(%x)
        %s: f32[*] = Sigmoid(%x)
        return %t, %s
      }
    %a: f32[*] = MatMul(%t, %s)
    %b: f32[*] = Softmax(%a)
    %c: f32[*] = MatMul(%b, %a)
    %d: f32[*] = MatMul(%c, %x)
    %e: f32[*] = MatMul(%d, %t)
    return %e
  })");
  const Recomputation result = made(graph, 1);
  ASSERT_EQ(count(result.graph, "hone.Fused"), 2) << graph::print(result.graph);
  for (const Node& node : result.graph.nodes())
    if (node.op == "hone.Fused" && node.outputs.size() == 1) {
      EXPECT_EQ(node.bodies[0]->nodes().size(), 1u);
      EXPECT_EQ(node.bodies[0]->nodes()[0].op, "Tanh");
    }
}

TEST(Recompute, ReadsNoStateThatHasBeenOverwritten) {
  // %t could be made again of %w alone, but %w is another one by then.
  const Graph graph = graph_of(R"((%w: f32[64,64], %x: f32[64,64]) {
    %t: f32[*] = Tanh(%w)
    %a: f32[*] = MatMul(%t, %x)
    %n: f32[*] = Add(%w, %x)
    %b: f32[*] = Softmax(%a)
    %c: f32[*] = MatMul(%b, %a)
    %d: f32[*] = MatMul(%c, %x)
    %e: f32[*] = MatMul(%d, %t)
    return %e, %n -> %w
  })");
  EXPECT_EQ(made(graph, 1).operators, 0);
}

TEST(Recompute, CountsWhatKernelsWorkIn) {
  Graph graph = graph_of(there_and_back(3));
  const Recomputation bare = made(graph, 1 << 30);
  std::map<std::string, std::size_t, std::less<>> scratch;
  for (const Node& node : graph.nodes())
    if (node.op == "MatMul") scratch[node.name] = 10 * kLargeBytes;
  EXPECT_EQ(made(graph, 1 << 30, scratch).peak, bare.peak + 10 * kLargeBytes);
}

// Random layers: a copy is the operator that it copies, of the same inputs or of their copies.
TEST(Recompute, MakesEachCopyOfWhatItsOperatorWasMadeOf) {
  for (const int layers : {1, 2, 5, 9}) {
    const Graph graph = graph_of(there_and_back(layers));
    const Recomputation result = made(graph, 1);
    std::map<std::string, std::string> meaning;  // of a value: the expression that it stands for
    for (const Graph* each : {&graph, &result.graph}) {
      std::map<uint32_t, std::string> known;
      for (const ValueId id : each->inputs()) known[id.index] = each->value(id).name;
      for (const Node& node : each->nodes()) {
        std::string text = node.op + "(";
        for (const ValueId input : node.inputs) text += known.at(input.index) + ",";
        known[node.outputs[0].index] = std::to_string(std::hash<std::string>()(text + ")"));
      }
      for (const ValueId id : each->outputs()) {
        const auto [found, first] = meaning.emplace(each->value(id).name, known.at(id.index));
        EXPECT_EQ(found->second, known.at(id.index)) << first;
      }
    }
  }
}

}  // namespace
}  // namespace hone::passes
