// Products and convolutions of f32 that may round what they multiply (graph/product_math.h), on a GPU: every kernel is within
// what tf32 rounds away, at least one uses the permission, and without it none does. Without a GPU over the libraries that the
// host computes (cuda/testing); on one (ctest -L cuda) by NVIDIA's.
#include <algorithm>
#include <cmath>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/product_math.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"
#include "runtime/timing_cache.h"

namespace hone::backends {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Relative L2. Both factors lose up to 2^-10 where low bits are cut off, as tensor cores do with what nobody rounded; sums of
// f32 in any order are off by far less than what one rounding to tf32 does.
constexpr double kMostOfTf32 = 0x1p-9, kMostOfF32 = 2e-6, kLeastOfTf32 = 2e-5;

const Attributes kTf32 = {{std::string(graph::kProductMath), std::string(graph::kTf32Math)}};

Attributes with(Attributes attributes, bool tf32) {
  if (tf32) attributes.set(std::string(graph::kProductMath), std::string(graph::kTf32Math));
  return attributes;
}

class Tf32OnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  using Make = std::function<Graph(bool tf32)>;

  // The relative errors of each of the provider's kernels for the graph's one product.
  std::vector<double> errors_of(const Graph& graph) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
      inputs.push_back(random_floats(graph.type(graph.inputs()[i]).shape(), static_cast<uint32_t>(i) + 3));
    const std::vector<Tensor> want = *runtime::interpret(graph, inputs);
    std::size_t kernels = 0;
    for (const graph::Node& node : graph.nodes())
      kernels = std::max(kernels, provider_->candidates(graph, node, runtime::Share::kDevice)->size());
    std::vector<double> errors;
    for (std::size_t i = 0; i < kernels; ++i) {
      const auto one = only_candidate(*provider_, i);
      runtime::PlanOptions options;
      options.autotune = false;
      auto plan = runtime::Plan::compile(graph, *one, options);
      if (!plan.ok()) continue;  // an engine that is none for these extents
      const auto got = (*plan)->run(inputs);
      EXPECT_TRUE(got.ok()) << got.error().message;
      if (got.ok()) errors.push_back(distance((*got)[0], want[0]));
    }
    return errors;
  }

  void expect_rounded_where_allowed(const Make& make) {
    const std::vector<double> exact = errors_of(make(false)), rounded = errors_of(make(true));
    ASSERT_FALSE(exact.empty());
    ASSERT_FALSE(rounded.empty());
    for (const double error : exact) EXPECT_LT(error, kMostOfF32);
    for (const double error : rounded) EXPECT_LT(error, kMostOfTf32);
    EXPECT_GT(*std::ranges::max_element(rounded), kLeastOfTf32) << "no kernel rounds";
  }

  static double distance(const Tensor& got, const Tensor& want) {
    double errors = 0, squares = 0;
    for (int64_t i = 0; i < want.size(); ++i) {
      errors += std::pow(got.at(i) - want.at(i), 2);
      squares += std::pow(want.at(i), 2);
    }
    return std::sqrt(errors / squares);
  }

  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, Tf32OnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, Tf32OnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Tf32OnGpu);

TEST_P(Tf32OnGpu, ProductsRound) {
  expect_rounded_where_allowed([](bool tf32) {
    return make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_input(b, "a", {128, 96}), f32_input(b, "b", {96, 64})}, with({}, tf32))};
    });
  });
}

TEST_P(Tf32OnGpu, ProductsWithTheirEpilogueRound) {
  expect_rounded_where_allowed([](bool tf32) {
    return fused(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId a = f32_input(b, "a", {64, 128}), w = f32_constant(b, {64, 128});
          const ValueId y = b.add("Gemm", {a, w}, with({{"transB", int64_t{1}}}, tf32));
          return {b.add("Relu", {b.add("Add", {y, f32_input(b, "row", {64})})})};
        },
        graph::GroupKind::kMatmul);
  });
}

TEST_P(Tf32OnGpu, ConvolutionsRound) {
  for (const char* const op : {"Conv", "ConvTranspose"}) {
    SCOPED_TRACE(op);
    expect_rounded_where_allowed([op](bool tf32) {
      return make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add(op, {f32_input(b, "x", {2, 16, 9, 9}), f32_constant(b, {16, 16, 3, 3})},
                      with({{"pads", Ints{1, 1, 1, 1}}}, tf32))};
      });
    });
  }
}

TEST_P(Tf32OnGpu, ConvolutionsWithTheirEpilogueRound) {
  expect_rounded_where_allowed([](bool tf32) {
    return fused(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId y = b.add("Conv", {f32_input(b, "x", {1, 16, 8, 8}), f32_constant(b, {32, 16, 3, 3})},
                                  with({{"pads", Ints{1, 1, 1, 1}}}, tf32));
          return {b.add("Relu", {y})};
        },
        graph::GroupKind::kConvolution);
  });
}

// It waits for memory: our own kernel for one row stays among the candidates, and multiplies exactly.
TEST_P(Tf32OnGpu, OneRowMayStayExact) {
  const Graph graph = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("MatMul", {f32_input(b, "a", {1, 768}), f32_constant(b, {768, 96})}, kTf32)};
  });
  const std::vector<double> errors = errors_of(graph);
  EXPECT_LT(*std::ranges::min_element(errors), kMostOfF32);
  for (const double error : errors) EXPECT_LT(error, kMostOfTf32);
}

// The permission says nothing of other types.
TEST_P(Tf32OnGpu, HalfTypesAreAsTheyWere) {
  CompareOptions options;
  options.provider = provider_;
  compare_all_kernels(
      [](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("MatMul",
                      {input_of(b, "a", DType::kF16, {32, 64}), input_of(b, "b", DType::kF16, {64, 48})},
                      kTf32)};
      },
      options);
}

TEST_P(Tf32OnGpu, ThePlanNamesKernelsThatMayRound) {
  const Graph graph = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("MatMul", {f32_input(b, "a", {64, 96}), f32_input(b, "b", {96, 64})}, kTf32)};
  });
  const auto first = only_candidate(*provider_, 0);
  runtime::PlanOptions options;
  options.autotune = false;
  const auto plan = runtime::Plan::compile(graph, *first, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->steps()[0].implementation.find("cuBLASLt tf32 (guess 1"), 0U)
      << (*plan)->steps()[0].implementation;
}

// Times of kernels that round are not those of kernels that do not.
TEST(Tf32Timings, AreKeptApart) {
  const auto signature = [](bool tf32, bool group) {
    const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId y =
          b.add("MatMul", {f32_input(b, "a", {4, 4}), f32_input(b, "b", {4, 4})}, with({}, tf32));
      return {b.add("Relu", {y})};
    };
    const Graph graph = group ? fused(build, graph::GroupKind::kMatmul) : make_graph(build);
    return runtime::node_signature(graph, graph.nodes()[0]);
  };
  EXPECT_NE(signature(true, false), signature(false, false));
  EXPECT_NE(signature(true, true), signature(false, true));
}

}  // namespace
}  // namespace hone::backends
