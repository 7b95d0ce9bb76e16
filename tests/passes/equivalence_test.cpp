// What the passes do to numbers together, on graphs as exporters write them: numbers.h says what is compared.
#include <random>

#include "tests/passes/numbers.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/group_kind.h"
#include "graph/text.h"
#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"

namespace hone::passes {
namespace {

// Runs the pipeline (or `only` some of it) on the graph; returns the operators that are left, in order.
std::string optimised(const std::string& text, std::set<std::string> only = {}) {
  const graph::Graph before = testing_support::graph_from(text);
  const auto provider = runtime::testing::cpu_provider(1);
  PassContext context;
  context.target = lab::pass_target(*provider);
  context.target.takes.convolution_layout = Layout::kPlain;  // tests/models compares what is laid out
  context.evaluate = [](const graph::Node& node, std::span<const Tensor> inputs) {
    return runtime::interpret_node(node, inputs);
  };
  PipelineOptions options;
  options.only = std::move(only);
  auto result = run_pipeline(before, context, options);
  if (!result.ok()) throw std::logic_error(result.error().message);
  testing_support::expect_same_numbers(before, result->graph, *provider,
                                       {.interpreted = 1e-4, .planned = 1e-4});
  if (testing::Test::HasFailure()) ADD_FAILURE() << text << "\nbecame\n" << graph::print(result->graph);
  std::string operators;
  for (const graph::Node& node : result->graph.nodes()) {
    const auto kind = graph::group_kind(node);
    const std::string name = kind ? std::string(graph::group_kind_name(*kind)) : node.op;
    EXPECT_TRUE(!kind || provider->runs(result->graph, node)) << "no kernel takes the group " << node.name;
    operators += (operators.empty() ? "" : " ") + name;
  }
  return operators;
}

// One attention of `heads` heads between three inputs, written by parts.
struct Writing {
  const char* name;
  int64_t batch;
  const char* prepare_q = "%qs: f32[*] = Identity(%qh)";
  const char* prepare_k = "%ks: f32[*] = Identity(%kt)";
  const char* score = "%m: f32[*] = Identity(%s)";
  const char* wanted;
};

class AttentionWritings : public testing::TestWithParam<Writing> {};

TEST_P(AttentionWritings, GiveTheSameNumbers) {
  const Writing& w = GetParam();
  const std::string text = fmt::format(
      R"((%q: f32[{0},5,12], %k: f32[{0},7,12], %v: f32[{0},7,12], %mask: f32[{0},1,1,7], %see: bool[{0},1,5,7]) {{
    %qshape: i64[4] = constant dense({0}, 5, 3, 4)
    %kshape: i64[4] = constant dense({0}, 7, 3, 4)
    %rows: i64[3] = constant dense({0}, 5, 12)
    %root: f32[] = constant dense(2.0)
    %half: f32[] = constant dense(0.70710678)
    %low: f32[] = constant dense(-3.4e+38)
    %qr: f32[*] = Reshape(%q, %qshape)
    %kr: f32[*] = Reshape(%k, %kshape)
    %vr: f32[*] = Reshape(%v, %kshape)
    %qh: f32[*] = Transpose(%qr) {{perm = [0,2,1,3]}}
    %kt: f32[*] = Transpose(%kr) {{perm = [0,2,3,1]}}
    %vh: f32[*] = Transpose(%vr) {{perm = [0,2,1,3]}}
    {1}
    {2}
    %s: f32[*] = MatMul(%qs, %ks)
    {3}
    %p: f32[*] = Softmax(%m) {{axis = -1}}
    %ctx: f32[*] = MatMul(%p, %vh)
    %t: f32[*] = Transpose(%ctx) {{perm = [0,2,1,3]}}
    %y: f32[*] = Reshape(%t, %rows)
    return %y
  }})",
      w.batch, w.prepare_q, w.prepare_k, w.score);
  EXPECT_EQ(optimised(text), w.wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Exporters, AttentionWritings,
    testing::Values(
        Writing{.name = "plain", .batch = 2, .wanted = "Attention"},
        Writing{.name = "one", .batch = 1, .wanted = "Attention"},
        Writing{.name = "bert",
                .batch = 2,
                .score = "%d: f32[*] = Div(%s, %root) %m: f32[*] = Add(%d, %mask)",
                .wanted = "Attention"},
        Writing{.name = "torch",
                .batch = 2,
                .prepare_q = "%qs: f32[*] = Mul(%qh, %half)",
                .prepare_k = "%ks: f32[*] = Mul(%kt, %half)",
                .score = "%m: f32[*] = Add(%mask, %s)",
                .wanted = "Attention"},
        Writing{.name = "where",
                .batch = 2,
                .score = "%d: f32[*] = Div(%s, %root) %m: f32[*] = Where(%see, %d, %low)",
                .wanted = "Where Attention"},
        Writing{
            .name = "causal",
            .batch = 2,
            .score =
                "%triangle: f32[5,7] = constant dense(0.0, -inf, -inf, -inf, -inf, -inf, -inf, 0.0, 0.0, "
                "-inf, -inf, -inf, -inf, -inf, 0.0, 0.0, 0.0, -inf, -inf, -inf, -inf, 0.0, 0.0, 0.0, 0.0, "
                "-inf, -inf, -inf, 0.0, 0.0, 0.0, 0.0, 0.0, -inf, -inf) %m: f32[*] = Add(%s, %triangle)",
            .wanted = "Attention"},
        Writing{.name = "masked_then_scaled",
                .batch = 2,
                .score = "%d: f32[*] = Add(%s, %mask) %m: f32[*] = Div(%d, %root)",
                .wanted = "Reshape Reshape Reshape Transpose Transpose MatMul pointwise Softmax Transpose "
                          "MatMul Transpose Reshape"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Equivalence, OneProductForQueriesKeysAndValuesWithACausalMask) {
  EXPECT_EQ(optimised(R"((%x: f32[2,4,18]) {
    %rows: i64[3] = constant dense(2, 4, 6)
    %five: i64[5] = constant dense(2, 4, 3, 2, 3)
    %parts: i64[3] = constant dense(1, 1, 1)
    %axis: i64[1] = constant dense(0)
    %see: bool[1,1,4,4] = constant dense(1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1)
    %low: f32[] = constant dense(-inf)
    %r: f32[*] = Reshape(%x, %five)
    %all: f32[*] = Transpose(%r) {perm = [2,0,3,1,4]}
    %q5: f32[*], %k5: f32[*], %v5: f32[*] = Split(%all, %parts) {axis = 0}
    %qh: f32[*] = Squeeze(%q5, %axis)
    %kh: f32[*] = Squeeze(%k5, %axis)
    %vh: f32[*] = Squeeze(%v5, %axis)
    %kt: f32[*] = Transpose(%kh) {perm = [0,1,3,2]}
    %s: f32[*] = MatMul(%qh, %kt)
    %m: f32[*] = Where(%see, %s, %low)
    %p: f32[*] = Softmax(%m) {axis = -1}
    %ctx: f32[*] = MatMul(%p, %vh)
    %t: f32[*] = Transpose(%ctx) {perm = [0,2,1,3]}
    %y: f32[*] = Reshape(%t, %rows)
    return %y
  })"),
            "attention");
}

// Three projections of one input, with biases and a scaled query, as BERT has them.
std::string projected_attention(const char* keys) {
  std::mt19937 random(5);
  const auto numbers = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{}{:.2f}", i > 0 ? ", " : "", static_cast<double>(random() % 200) / 100 - 1.0);
    return text;
  };
  std::string text = "(%x: f32[2,4,6], %other: f32[2,4,6], %mask: f32[2,1,1,4]) {\n";
  for (const char* name : {"q", "k", "v"}) {
    const char* input = name == std::string("q") ? "x" : keys;
    text += fmt::format(R"(
    %w{0}: f32[6,6] = constant dense({1})
    %b{0}: f32[6] = constant dense({2})
    %{0}m: f32[*] = MatMul(%{3}, %w{0})
    %{0}: f32[*] = Add(%b{0}, %{0}m)
)",
                        name, numbers(36), numbers(6), input);
  }
  return text + R"(
    %y: f32[*] = Attention(%q, %k, %v, %mask) {q_num_heads = 2, kv_num_heads = 2}
    return %y
  })";
}

TEST(Equivalence, ProjectionsOfOneInputAreOneProduct) {
  EXPECT_EQ(optimised(projected_attention("x")), "matmul attention");
  EXPECT_EQ(optimised(projected_attention("other")), "matmul matmul attention");
}

TEST(Equivalence, ParallelConvolutionsAreOne) {
  const std::string text = R"((%x: f32[{batch},2,5,4]) {
    %wa: f32[3,2,1,1] = constant dense(1.0, 2.0, -1.0, 0.5, 0.25, 3.0)
    %wb: f32[1,2,1,1] = constant dense(-2.0, 1.5)
    %wc: f32[1,3,3,3] = constant dense(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    %ba: f32[3] = constant dense(0.5, -0.5, 1.0)
    %bb: f32[1] = constant dense(0.25)
    %a: f32[*] = Conv(%x, %wa, %ba)
    %b: f32[*] = Conv(%x, %wb, %bb)
    %ra: f32[*] = Relu(%a)
    %rb: f32[*] = Relu(%b)
    %c: f32[*] = Conv(%ra, %wc) {pads = [1,1,1,1]}
    %y: f32[*] = Add(%c, %rb)
    return %y, %rb
  })";
  const auto of_batch = [&](const char* batch) {
    std::string result = text;
    return result.replace(result.find("{batch}"), 7, batch);
  };
  EXPECT_EQ(optimised(of_batch("1")), "convolution Split convolution");
  EXPECT_EQ(optimised(of_batch("2")), "convolution convolution convolution");
}

TEST(Equivalence, LayerNormInTwoWritings) {
  const std::string start = R"((%x: f32[3,5,4]) {
    %axis: i64[1] = constant dense(-1)
    %two: f32[] = constant dense(2.0)
    %eps: f32[] = constant dense(1e-05)
    %one: f32[] = constant dense(1.0)
    %s: f32[4] = constant dense(1.0, 2.0, -3.0, 4.0)
    %b: f32[4] = constant dense(0.5, 1.0, 2.0, 3.0)
    %mean: f32[*] = ReduceMean(%x, %axis)
    %d: f32[*] = Sub(%x, %mean)
    %sq: f32[*] = Pow(%d, %two)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%var, %eps)
    %root: f32[*] = Sqrt(%ve)
  )";
  const std::string end = "%sc: f32[*] = Mul(%n, %s) %y: f32[*] = Add(%sc, %b) return %y }";
  EXPECT_EQ(optimised(start + "%n: f32[*] = Div(%d, %root)" + end), "LayerNormalization");
  EXPECT_EQ(optimised(start + "%r: f32[*] = Div(%one, %root) %n: f32[*] = Mul(%d, %r)" + end),
            "LayerNormalization");
  EXPECT_EQ(optimised(R"((%x: f32[3,5,4]) {
    %axis: i64[1] = constant dense(2)
    %half: f32[] = constant dense(0.5)
    %eps: f32[] = constant dense(1e-06)
    %s: f32[4] = constant dense(1.0, 2.0, -3.0, 4.0)
    %sq: f32[*] = Mul(%x, %x)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%eps, %var)
    %root: f32[*] = Pow(%ve, %half)
    %r: f32[*] = Reciprocal(%root)
    %n: f32[*] = Mul(%x, %r)
    %y: f32[*] = Mul(%s, %n)
    return %y
  })"),
            "RMSNormalization");
}

// A random graph of pointwise operators, products between them now and then, some values given out.
std::string random_pointwise_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  static constexpr const char* kUnary[] = {"Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Gelu", "Sin"};
  static constexpr const char* kBinary[] = {"Add", "Mul", "Sub", "Max", "Min"};
  std::string text = R"((%v0: f32[4,4], %v1: f32[4,4], %row: f32[4], %column: f32[4,1]) {
    %zero: f32[] = constant dense(0.0)
    %three: f32[] = constant dense(3.0)
    %weights: f32[4] = constant dense(1.0, 1.0, 1.0, 1.0)
)";
  const char* small[] = {"%row", "%column", "%zero", "%three", "%weights"};
  int count = 2;
  const auto any = [&] { return fmt::format("%v{}", std::max(0, count - 1 - pick(8))); };
  for (; count < 24; ++count) {
    const int kind = pick(10);
    std::string operation = fmt::format("{}({}, {})", kBinary[pick(5)], any(), any());
    if (kind < 3) operation = fmt::format("{}({})", kUnary[pick(7)], any());
    if (kind == 3) operation = fmt::format("{}({}, {})", kBinary[pick(5)], any(), small[pick(5)]);
    if (kind == 4) operation = fmt::format("Div({}, %three)", any());
    if (kind == 5) operation = fmt::format("MatMul({}, %v0)", any());
    if (kind == 6) operation = fmt::format("Clip({}, %zero, %three)", any());
    text += fmt::format("    %v{}: f32[*] = {}\n", count, operation);
    if (kind == 5) text += fmt::format("    %v{}: f32[*] = Tanh(%v{})\n", count + 1, count), ++count;
  }
  return text + fmt::format("    return %v{}, %v{}, %v{}\n  }}", count - 1, count - 2, count - 5);
}

TEST(Equivalence, RandomPointwiseGraphsKeepTheirNumbers) {
  for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    optimised(random_pointwise_graph(seed));
  }
}

}  // namespace
}  // namespace hone::passes
