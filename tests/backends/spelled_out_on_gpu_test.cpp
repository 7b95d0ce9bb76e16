// Operators without a kernel on a GPU, spelled out (passes/spell_out.h): nothing of them is left to the host, and the nodes compute
// what the operator does. Without a GPU by kernels that the host runs thread by thread, on one as they are (ctest -L cuda).
#include <bit>
#include <cmath>
#include <limits>

#include "tests/backends/compare.h"
#include "tests/backends/spelled_cases.h"
#include "tests/passes/numbers.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using ::testing::HasSubstr;
using testing_support::graph_from;

passes::PassContext context_of(const runtime::Provider& provider) {
  return {runtime::interpret_node, nullptr, lab::pass_target(provider)};
}

Result<passes::PassOutcome> spelled_by(const runtime::Provider& provider, const graph::Graph& graph) {
  for (const passes::Pass& pass : passes::pipeline())
    if (pass.name == "spell_out") return passes::run_checked(pass, graph, context_of(provider));
  return invalid("there is no such pass");
}

int count_of(const graph::Graph& graph, std::string_view op) {
  int count = 0;
  for (const graph::Node& node : graph.nodes()) count += node.op == op ? 1 : 0;
  return count;
}

std::string notes_of(const passes::PassOutcome& outcome) {
  std::string text;
  for (const passes::Note& note : outcome.missed) text += note.node + ": " + note.text + "\n";
  return text;
}

// Relative L2 norm; where one is not finite, both must be the same.
void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].dtype(), want[k].dtype());
    ASSERT_EQ(got[k].shape(), want[k].shape());
    double error = 0, norm = 0;
    for (int64_t i = 0; i < want[k].size(); ++i) {
      const double g = got[k].at(i), w = want[k].at(i);
      if (!std::isfinite(g) || !std::isfinite(w)) {
        EXPECT_TRUE(g == w || (std::isnan(g) && std::isnan(w)))
            << "output " << k << ", element " << i << ": " << g << ", not " << w;
        continue;
      }
      error += (g - w) * (g - w);
      norm += w * w;
    }
    EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm)) << "output " << k;
  }
}

double tolerance_of(const graph::Graph& graph) {
  const DType dtype = graph.type(graph.inputs()[0]).dtype;
  if (dtype == DType::kBF16) return 4e-3;  // half a step of 2⁻⁸
  return dtype == DType::kF16 ? 5e-4 : 2e-6;
}

// What the pipeline makes of `graph` for the provider: no node of it is the operator, and all have kernels.
void expect_no_reference(const graph::Graph& graph, const std::string& op, const runtime::Provider& provider,
                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& want) {
  auto optimised = passes::run_pipeline(graph, context_of(provider));
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_EQ(count_of(optimised->graph, op), 0);
  for (const graph::Node& node : optimised->graph.nodes())
    EXPECT_TRUE(provider.runs(optimised->graph, node)) << node.op << " " << node.name;
  runtime::PlanOptions options;
  options.autotune = false;
  const auto planned = runtime::execute(optimised->graph, provider, inputs, options);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  EXPECT_TRUE(planned->planned) << planned->how;
  expect_close(planned->outputs, want, tolerance_of(graph));
  if (::testing::Test::HasFailure()) ADD_FAILURE() << graph::print(optimised->graph);
}

class SpelledOut : public ::testing::TestWithParam<SpelledCase> {};

TEST_P(SpelledOut, NeedsNoHostOnAGpu) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const graph::Graph graph = graph_of(GetParam());
  const std::string op = graph.nodes()[0].op;
  ASSERT_FALSE(provider->runs(graph, graph.nodes()[0])) << "it has a kernel: no case for this";
  const std::vector<Tensor> inputs = inputs_of(GetParam(), graph);
  const auto want = runtime::interpret(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.error().message;

  const auto spelled = spelled_by(*provider, graph);
  ASSERT_TRUE(spelled.ok()) << spelled.error().message;
  ASSERT_FALSE(spelled->done.empty()) << notes_of(*spelled);
  EXPECT_EQ(count_of(spelled->graph, op), 0);
  const auto by_parts = runtime::interpret(spelled->graph, inputs);
  ASSERT_TRUE(by_parts.ok()) << by_parts.error().message;
  expect_close(*by_parts, *want, tolerance_of(graph));
  expect_no_reference(graph, op, *provider, inputs, *want);
}

TEST_P(SpelledOut, NeedsNoReferenceOnACpu) {
  const auto provider = runtime::testing::cpu_provider(1);
  const graph::Graph graph = graph_of(GetParam());
  if (graph.type(graph.inputs()[0]).dtype == DType::kF64) return;  // which has no kernels there
  if (graph.nodes()[0].op == "DeformConv") return;  // nor has GridSample: LeavesWhatNeedsTheReferenceAnyway
  const std::vector<Tensor> inputs = inputs_of(GetParam(), graph);
  const auto want = runtime::interpret(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.error().message;
  expect_no_reference(graph, graph.nodes()[0].op, *provider, inputs, *want);
}

INSTANTIATE_TEST_SUITE_P(All, SpelledOut, ::testing::ValuesIn(spelled_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

// On a GPU itself, where there is one.
class SpelledOutOnGpu : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Gpu, SpelledOutOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpelledOutOnGpu);

TEST_P(SpelledOutOnGpu, NeedsNoHost) {
  const auto provider = runtime::testing::provider_named(GetParam());
  for (const SpelledCase& test : spelled_cases()) {
    SCOPED_TRACE(test.name);
    const graph::Graph graph = graph_of(test);
    const std::vector<Tensor> inputs = inputs_of(test, graph);
    const auto want = runtime::interpret(graph, inputs);
    ASSERT_TRUE(want.ok()) << want.error().message;
    expect_no_reference(graph, graph.nodes()[0].op, *provider, inputs, *want);
  }
}

// What `pass` says of a graph that it leaves as it is.
std::string refusal(const std::string& text, const char* provider = runtime::testing::kCudaOnHost) {
  const graph::Graph graph = graph_from(text);
  const auto made = runtime::testing::provider_named(provider);
  const auto outcome = spelled_by(*made, graph);
  if (!outcome.ok()) return "an error: " + outcome.error().message;
  if (!outcome->done.empty()) return "spelled out";
  EXPECT_TRUE(outcome->missed.empty() || graph::equivalent(graph, outcome->graph));
  return notes_of(*outcome);
}

TEST(SpellingOut, LeavesOpenExtentsToWhoKnowsThem) {
  EXPECT_EQ(refusal("(%x: f32[n,7,3,5]) {\n %y: f32[*] = LRN(%x) {size = 3}\n return %y\n}"), "");
  EXPECT_EQ(refusal("(%x: f32[2,t,24], %c: f32[2,t,4], %s: f32[2,t,4]) {\n"
                    " %y: f32[*] = RotaryEmbedding(%x, %c, %s) {num_heads = 3}\n return %y\n}"),
            "");
}

TEST(SpellingOut, SaysWhatIsNotKnown) {
  EXPECT_THAT(
      refusal("(%x: f32[2,2,3], %n: i64[4]) {\n %y: f32[2,4,5,2] = AffineGrid(%x, %n)\n return %y\n}"),
      HasSubstr("the size is not known before the graph runs"));
  EXPECT_THAT(refusal("(%x: f32[5,7], %n: i64[2]) {\n %y: f32[4,9] = CenterCropPad(%x, %n)\n return %y\n}"),
              HasSubstr("the shape is not known before the graph runs"));
  EXPECT_THAT(refusal("(%x: f32[2,8,1], %n: i64[]) {\n %y: f32[2,8,2] = DFT(%x, none, %n)\n return %y\n}"),
              HasSubstr("the axis is not known before the graph runs"));
}

TEST(SpellingOut, SaysWhatIsTooLarge) {
  EXPECT_THAT(refusal("(%x: f32[3,4,4]) {\n %y: f32[*] = Det(%x)\n return %y\n}"), HasSubstr("need pivots"));
  EXPECT_THAT(refusal("(%x: f32[1,4096,2]) {\n %y: f32[*] = DFT(%x)\n return %y\n}"),
              HasSubstr("4096 terms is no product with a matrix"));
  const auto recurrence = [](int tokens, const char* inputs, const char* call) {
    return refusal(
        fmt::format("(%q: f32[1,{0},4], %k: f32[1,{0},4], %v: f32[1,{0},4]{1}) {{\n"
                    " %y: f32[*] = LinearAttention(%q, %k, %v{2}, q_num_heads = 2, kv_num_heads = 2}}\n"
                    " return %y\n}}",
                    tokens, inputs, call));
  };
  EXPECT_THAT(recurrence(2049, "", ") {update_rule = \"linear\""),
              HasSubstr("2049 tokens; of this rule up to 2048"));
  EXPECT_THAT(refusal("(%x: f32[2,7]) {\n %y: f32[*] = LpNormalization(%x) {p = 3}\n return %y\n}"),
              HasSubstr("LpNormalization with p = 3"));
  EXPECT_THAT(recurrence(33, ", %b: f32[1,33,1]", ", none, none, %b) {update_rule = \"delta\""),
              HasSubstr("33 tokens; of this rule up to 32"));
}

// What the operator itself would refuse, nodes would broadcast; it stays, and its error is told when it runs.
TEST(SpellingOut, LeavesWhatDoesNotFit) {
  EXPECT_THAT(refusal("(%x: f32[2,3,5,8], %c: f32[1,1,4], %s: f32[1,1,4]) {\n"
                      " %y: f32[*] = RotaryEmbedding(%x, %c, %s)\n return %y\n}"),
              HasSubstr("a cache of shape [1,1,4] does not fit"));
  EXPECT_THAT(refusal("(%x: f32[1,4,6,7], %w: f32[2,4,3,3], %o: f32[1,18,1,1]) {\n"
                      " %y: f32[*] = DeformConv(%x, %w, %o)\n return %y\n}"),
              HasSubstr("do not fit the output"));
}

// Without kernels for the nodes either, one operator by the reference is faster than several.
TEST(SpellingOut, LeavesWhatNeedsTheReferenceAnyway) {
  EXPECT_THAT(refusal("(%x: f32[2,7,3,5]) {\n %y: f32[*] = LRN(%x) {size = 3}\n return %y\n}",
                      runtime::testing::kCudaWithoutGpu),
              HasSubstr("the target has no kernel for LRN, and none for Mul"));
  EXPECT_THAT(refusal("(%x: f32[1,4,6,7], %w: f32[2,4,3,3], %o: f32[1,18,4,5]) {\n"
                      " %y: f32[*] = DeformConv(%x, %w, %o)\n return %y\n}",
                      "cpu"),
              HasSubstr("the target has no kernel for DeformConv, and none for GridSample"));
  EXPECT_THAT(refusal("(%x: f64[3,7,2]) {\n %y: f64[*] = DFT(%x)\n return %y\n}"),
              HasSubstr("the target has no kernel for DFT, and none for MatMul of f64[3,14]"));
}

// A column that is infinite reaches its own pixels, and an element that is not rotated stays what it is.
TEST(SpellingOut, KeepsInfinitiesWhereTheyAre) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const auto agrees = [&](const std::string& text, std::vector<Tensor> inputs) {
    const graph::Graph graph = graph_from(text);
    const auto want = runtime::interpret(graph, inputs);
    ASSERT_TRUE(want.ok()) << want.error().message;
    expect_no_reference(graph, graph.nodes()[0].op, *provider, inputs, *want);
  };
  Tensor columns = random_floats({1, 9, 9}, 3);
  columns.as<float>()[40] = kInfinity;
  columns.as<float>()[9] = std::nanf("");
  agrees(R"((%x: f32[1,9,9]) {
    %i: i64[2] = constant dense(5, 5)
    %b: i64[2] = constant dense(3, 3)
    %y: f32[*] = Col2Im(%x, %i, %b)
    return %y
  })",
         {columns});
  Tensor heads = random_floats({1, 1, 2, 6}, 4);
  heads.as<float>()[5] = kInfinity;
  agrees(R"((%x: f32[1,1,2,6], %c: f32[1,2,2], %s: f32[1,2,2]) {
    %y: f32[*] = RotaryEmbedding(%x, %c, %s) {rotary_embedding_dim = 4}
    return %y
  })",
         {heads, random_floats({1, 2, 2}, 5), random_floats({1, 2, 2}, 6)});
  // A decay of nothing forgets what was before it, and nothing else.
  Tensor decays = random_floats({1, 70, 2}, 7);
  for (float& decay : decays.as<float>()) decay = -0.1F - std::abs(decay);
  for (const std::size_t at : {10U, 11U, 80U, 139U}) decays.as<float>()[at] = -kInfinity;
  agrees(R"((%q: f32[1,70,6], %k: f32[1,70,6], %v: f32[1,70,4], %s: f32[1,2,3,2], %d: f32[1,70,2]) {
    %y: f32[*] = LinearAttention(%q, %k, %v, %s, %d) {q_num_heads = 2, kv_num_heads = 2, update_rule = "gated"}
    return %y
  })",
         {random_floats({1, 70, 6}, 8), random_floats({1, 70, 6}, 9), random_floats({1, 70, 4}, 10),
          random_floats({1, 2, 3, 2}, 11), decays});
}

// Of layers that turn by the same angles these are made once: two kernels a layer are left, and what it takes to lay out the angles.
TEST(SpellingOut, LaysOutTheAnglesOfAModelOnce) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const graph::Graph graph = graph_from(R"((%x: f16[1,2,5,8], %p: i64[1,5]) {
    %c: f16[6,4] = constant hex"003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c"
    %s: f16[6,4] = constant hex"003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c003c0040"
    %a: f16[*] = RotaryEmbedding(%x, %c, %s, %p)
    %b: f16[*] = Relu(%a)
    %y: f16[*] = RotaryEmbedding(%b, %c, %s, %p)
    return %y
  })");
  const auto optimised = passes::run_pipeline(graph, context_of(*provider));
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_EQ(count_of(optimised->graph, "Gather"), 2) << graph::print(optimised->graph);
  EXPECT_EQ(count_of(optimised->graph, "Slice"), 2);
  EXPECT_EQ(count_of(optimised->graph, "hone.Fused"), 3) << "the third refuses positions below 0";
}

// As the reference does: Gather, which looks them up, counts indices below 0 from the end.
TEST(SpellingOut, RefusesPositionsThatTheCacheDoesNotHave) {
  const graph::Graph graph = graph_from(R"((%x: f32[1,2,3,4], %c: f32[5,2], %s: f32[5,2], %p: i64[1,3]) {
    %y: f32[*] = RotaryEmbedding(%x, %c, %s, %p)
    return %y
  })");
  runtime::PlanOptions options;
  options.autotune = false;
  for (const char* const name : {runtime::testing::kCudaOnHost, "cpu"}) {
    SCOPED_TRACE(name);
    const auto provider = runtime::testing::provider_named(name);
    const auto optimised = passes::run_pipeline(graph, context_of(*provider));
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    ASSERT_EQ(count_of(optimised->graph, "RotaryEmbedding"), 0);
    for (const int64_t position : {0, 4, 5, -1, -5}) {
      const std::vector<Tensor> inputs{random_floats({1, 2, 3, 4}, 1), random_floats({5, 2}, 2),
                                       random_floats({5, 2}, 3),
                                       Tensor::i64({1, 3}, std::vector<int64_t>{1, position, 2})};
      const bool is_there = position >= 0 && position < 5;
      EXPECT_EQ(runtime::interpret(graph, inputs).ok(), is_there) << position;
      const auto planned = runtime::execute(optimised->graph, *provider, inputs, options);
      EXPECT_EQ(planned.ok(), is_there) << position;
      if (!planned.ok()) {
        EXPECT_THAT(planned.error().message, HasSubstr("an index is out of range for an axis of 5"));
      }
    }
  }
  EXPECT_THAT(refusal(R"((%x: f32[1,2,3,4], %c: f32[5,2], %s: f32[5,2]) {
    %p: i64[1,3] = constant dense(0, -1, 2)
    %y: f32[*] = RotaryEmbedding(%x, %c, %s, %p)
    return %y
  })"),
              HasSubstr("position -1 of a cache of 5"));
}

// Between products in f16, what must not be narrowed is spelled out in f32, and what may be in f16.
TEST(SpellingOut, KeepsSquaresWideBetweenNarrowProducts) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const graph::Graph graph = graph_from(R"((%x: f32[5,8], %w: f32[8,6], %v: f32[6,4], %p: i64[1,5]) {
    %c: f32[7,1] = constant dense(1.0, 0.5, 0.25, 0.1, 0.2, 0.3, 0.4)
    %n: i64[4] = constant dense(1, 5, 3, 2)
    %m: i64[2] = constant dense(5, 6)
    %a: f32[*] = MatMul(%x, %w)
    %h: f32[*] = Reshape(%a, %n)
    %t: f32[*] = Transpose(%h) {perm = [0, 2, 1, 3]}
    %r: f32[*] = RotaryEmbedding(%t, %c, %c, %p)
    %u: f32[*] = Transpose(%r) {perm = [0, 2, 1, 3]}
    %b: f32[*] = Reshape(%u, %m)
    %l: f32[*] = LRN(%b) {size = 3}
    %y: f32[*] = MatMul(%l, %v)
    return %y
  })");
  const auto optimised =
      passes::run_pipeline(graph, context_of(*provider), {.disabled = {}, .only = {}, .lossy = {"fp16"}});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  const std::string text = graph::print(optimised->graph);
  int pools = 0, narrow_products = 0;
  for (const graph::Node& node : optimised->graph.nodes()) {
    EXPECT_TRUE(provider->runs(optimised->graph, node)) << node.op << " " << node.name;
    const DType dtype = node.has_input(0) ? optimised->graph.type(node.inputs[0]).dtype : DType::kUndefined;
    if (node.op == "AveragePool") {
      ++pools;
      EXPECT_EQ(dtype, DType::kF32) << text;
    }
    if (node.op == "Slice") {
      EXPECT_EQ(dtype, DType::kF16) << text;
    }
    narrow_products += dtype == DType::kF16 && (node.op == "MatMul" || node.op == "Gemm") ? 1 : 0;
  }
  EXPECT_EQ(pools, 1) << text;
  EXPECT_GE(narrow_products, 1) << text;
}

// The same bits are a copy at most; elements of less than a byte are held as numbers, which are not the same.
TEST(SpellingOut, BitCastIsNoWorkOfTheHost) {
  for (const char* const name : {runtime::testing::kCudaOnHost, "cpu"}) {
    const auto provider = runtime::testing::provider_named(name);
    const graph::Graph graph =
        graph_from("(%x: f32[3,5]) {\n %y: i32[*] = BitCast(%x) {to = 6}\n return %y\n}");
    EXPECT_TRUE(provider->runs(graph, graph.nodes()[0]));
    const std::vector<Tensor> inputs{random_floats({3, 5}, 7)};
    const auto got = runtime::execute(graph, *provider, inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->outputs[0].dtype(), DType::kI32);
    for (int64_t i = 0; i < 15; ++i)
      EXPECT_EQ(got->outputs[0].int_at(i),
                std::bit_cast<int32_t>(inputs[0].as<float>()[static_cast<std::size_t>(i)]));
  }
  for (const char* const name : {runtime::testing::kCudaOnHost, "cpu"}) {
    const graph::Graph graph = graph_from(R"((%x: f32[3]) {
      %i: i4[*] = Cast(%x) {to = 22}
      %u: u4[*] = BitCast(%i) {to = 21}
      %y: f32[*] = Cast(%u) {to = 1}
      return %y
    })");
    const std::vector<Tensor> inputs{Tensor::f32({3}, std::vector<float>{-1, -8, 7})};
    const auto got = runtime::execute(graph, *runtime::testing::provider_named(name), inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_THAT(got->outputs[0].to_doubles(), ::testing::ElementsAre(15, 8, 7)) << name;
  }
}

}  // namespace
}  // namespace hone::backends
