// The gradients of a linear layer's weights and bias as one group, by each kernel that is offered for it, against the
// reference: without a GPU over a cuBLASLt that the host computes (cuda/testing/fake_blas_lt.cpp) and with generated kernels
// on the host, on one as they are (ctest -L cuda).
#include <algorithm>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/op_table.h"
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

struct LinearGradient {
  DType dtype = DType::kF32;
  int64_t rows = 64, inputs = 24, outputs = 40;
  bool of_left = false;      // dW = dYᵀ·X, else Xᵀ·dY
  bool narrow_sum = false;   // the sum in dtype, else f32
  bool accumulates = false;  // a gradient so far is added
  bool widened = false;      // dW, and the gradient so far, are f32
  bool tf32 = false;
  bool one_tensor = false;  // X is dY
  int64_t axis = 0;
  float alpha = 1;
  const char* behind = "";  // a function of dW
};

Graph gradient_group(const LinearGradient& layer) {
  return fused(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId g = input_of(b, "g", layer.dtype, {layer.rows, layer.outputs});
        const ValueId x = layer.one_tensor ? g : input_of(b, "x", layer.dtype, {layer.rows, layer.inputs});
        Attributes attributes{{"transA", int64_t{1}}, {"alpha", layer.alpha}};
        if (layer.tf32) attributes.set(std::string(graph::kProductMath), std::string(graph::kTf32Math));
        const std::vector<ValueId> factors = layer.of_left ? std::vector{g, x} : std::vector{x, g};
        ValueId dw = b.add("Gemm", factors, attributes);
        if (layer.widened) dw = b.add("Cast", {dw}, {{"to", int64_t{1}}});
        if (layer.accumulates)
          dw = b.add("Add", {input_of(b, "sofar", b.type(dw).dtype, b.type(dw).shape()), dw});
        if (*layer.behind != 0) dw = b.add(layer.behind, {dw});
        const ValueId db = b.add(layer.narrow_sum ? "ReduceSum" : "hone.ReduceSum",
                                 {g, ints(b, {layer.axis})}, {{"keepdims", int64_t{0}}});
        return {dw, db};
      },
      graph::GroupKind::kBiasGradient);
}

std::vector<std::string> kernels_for(const runtime::Provider& provider, const Graph& graph) {
  std::vector<std::string> names;
  const std::vector<runtime::Candidate> candidates =
      *provider.candidates(graph, graph.nodes()[0], runtime::Share::kDevice);
  for (const runtime::Candidate& candidate : candidates)
    if (!candidate.reference) names.push_back(candidate.name);
  return names;
}

bool is_fused(const std::string& name) { return name.find("with bias gradient") != std::string::npos; }

class BiasGradientOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  // Sums of f32 are held to f32, whatever is summed: one that was rounded to bf16 on the way is off by a thousand times this.
  void expect_agreement(const LinearGradient& layer) {
    SCOPED_TRACE(fmt::format("{} {}x{}x{}{}{}{}", dtype_name(layer.dtype), layer.rows, layer.inputs,
                             layer.outputs, layer.of_left ? " of the left operand" : "",
                             layer.narrow_sum ? " narrow" : "", layer.accumulates ? " accumulates" : "") +
                 (layer.widened ? " in f32" : ""));
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = layer.widened ? 5e-3 : 2e-6;  // the reference rounds before it widens, kernels do not
    const Graph graph = gradient_group(layer);
    const std::vector<std::string> names = kernels_for(*provider_, graph);
    if (names.empty() && may_refuse(layer.dtype)) return;
    EXPECT_TRUE(std::ranges::any_of(names, is_fused)) << ::testing::PrintToString(names);
    compare_all_kernels(graph, options);
  }

  // Whether NVIDIA's library sums in products of f32 without tf32 its documentation does not say.
  static bool may_refuse(DType dtype) { return dtype == DType::kF32 && std::string(GetParam()) == "cuda"; }

  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, BiasGradientOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, BiasGradientOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BiasGradientOnGpu);

constexpr DType kGradientTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST_P(BiasGradientOnGpu, EveryKernelAgrees) {
  for (const DType dtype : kGradientTypes) {
    for (const bool of_left : {false, true}) {
      expect_agreement({.dtype = dtype, .of_left = of_left});
      expect_agreement({.dtype = dtype, .rows = 520, .inputs = 72, .outputs = 136, .of_left = of_left});
    }
  }
}

// Whole vectors of 16 bytes in the extents that the library needs them in; rows in any number.
TEST_P(BiasGradientOnGpu, RowsInAnyNumberAgree) {
  int turn = 0;
  for (const int64_t rows : {2, 7, 129, 1031})
    expect_agreement({.dtype = kGradientTypes[turn++ % 3], .rows = rows, .of_left = turn % 2 == 0});
}

TEST_P(BiasGradientOnGpu, SumsInTheNarrowTypeAgree) {
  for (const DType dtype : kGradientTypes)
    for (const bool of_left : {false, true})
      expect_agreement({.dtype = dtype, .of_left = of_left, .narrow_sum = true});
}

// With the gradient so far added, which may be overwritten, in one rounding.
TEST_P(BiasGradientOnGpu, AccumulatedGradientsAgree) {
  for (const DType dtype : kGradientTypes) {
    for (const bool of_left : {false, true}) {
      expect_agreement({.dtype = dtype, .of_left = of_left, .accumulates = true});
      expect_agreement({.dtype = dtype, .of_left = of_left, .narrow_sum = true, .accumulates = true});
    }
  }
}

// As a residual stream of f32 has them. That kernels round nothing between product and sum is ResidualOnGpu's to say.
TEST_P(BiasGradientOnGpu, AccumulatedGradientsOfF32Agree) {
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const bool of_left : {false, true})
      expect_agreement({.dtype = dtype, .of_left = of_left, .accumulates = true, .widened = true});
}

TEST_P(BiasGradientOnGpu, ATensorTimesItselfAgrees) {
  for (const bool of_left : {false, true}) expect_agreement({.of_left = of_left, .one_tensor = true});
}

// A gradient so far that another node computed is overwritten in place; what is the product's operand as well is not.
TEST_P(BiasGradientOnGpu, ChainsOfMicroBatchesAgree) {
  for (const DType dtype : kGradientTypes) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const Graph one =
        gradient_group({.dtype = dtype, .rows = 32, .inputs = 40, .outputs = 40, .accumulates = true});
    if (kernels_for(*provider_, one).empty() && may_refuse(dtype)) continue;
    GraphBuilder b("chain");
    const ValueId x = input_of(b, "x", dtype, {32, 40}), g = input_of(b, "g", dtype, {32, 40});
    ValueId sofar = b.add("Gemm", {x, x}, {{"transA", int64_t{1}}});
    for (int micro = 0; micro < 2; ++micro) {
      graph::Node node = one.nodes()[0];
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) {
        const graph::Value& value = one.value(input);
        inputs.push_back(value.name == "g"       ? g
                         : value.name == "x"     ? x
                         : value.name == "sofar" ? sofar
                                                 : b.constant(b.unique_name("axes"), *value.constant));
      }
      node.inputs = inputs;
      node.name += std::to_string(micro);
      const std::string names[] = {fmt::format("dw{}", micro), fmt::format("db{}", micro)};
      const std::vector<ValueId> made = *b.try_add(std::move(node), names);
      sofar = made[0];
      b.output(made[1]);
    }
    b.output(sofar);
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = 4e-6;
    compare_all_kernels(*std::move(b).finish(), options);
  }
}

// Where nothing is measured, as in a recipe that is to be deterministic, the two kernels are taken that there were before.
TEST_P(BiasGradientOnGpu, UnmeasuredTheTwoKernelsAreTaken) {
  for (const DType dtype : kGradientTypes) {
    runtime::PlanOptions unmeasured;
    unmeasured.autotune = false;
    const Graph graph = gradient_group({.dtype = dtype});
    if (kernels_for(*provider_, graph).empty() && may_refuse(dtype)) continue;
    const auto plan = runtime::Plan::compile(graph, *provider_, unmeasured);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const std::string& by = (*plan)->steps()[0].implementation;
    EXPECT_TRUE(by.starts_with("cuBLASLt (guess 1") && by.ends_with(", then hone reduce (CUDA)")) << by;
  }
}

// Every kernel that the product has by itself is there with the sum behind it: what is measured can only be faster.
TEST_P(BiasGradientOnGpu, EveryPairIsACandidateBesideTheFusedOnes) {
  const Graph alone = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("Gemm",
                  {input_of(b, "x", DType::kBF16, {64, 24}), input_of(b, "g", DType::kBF16, {64, 40})},
                  {{"transA", int64_t{1}}})};
  });
  const std::vector<std::string> of_product = kernels_for(*provider_, alone),
                                 names = kernels_for(*provider_, gradient_group({.dtype = DType::kBF16}));
  ASSERT_FALSE(of_product.empty());
  for (const std::string& name : of_product)
    EXPECT_TRUE(std::ranges::count(names, name + ", then hone reduce") == 1) << name;
  EXPECT_FALSE(is_fused(names.front()));
}

// A product that may round to tf32 may not round what is summed; the library's epilogue is of nothing but the product and what
// is added; and the sum is of rows. None of these has a kernel: they stay two nodes.
TEST_P(BiasGradientOnGpu, WhatTheLibraryDoesNotSumHasNoKernel) {
  for (const LinearGradient& layer :
       {LinearGradient{.tf32 = true}, LinearGradient{.axis = 1}, LinearGradient{.alpha = 0.5F},
        LinearGradient{.behind = "Relu"}, LinearGradient{.behind = "Tanh"}}) {
    const Graph graph = gradient_group(layer);
    EXPECT_FALSE(provider_->runs(graph, graph.nodes()[0]))
        << ::testing::PrintToString(kernels_for(*provider_, graph));
  }
}

// Without generated kernels nothing rounds a gradient in f32, and nothing sums by itself.
TEST(BiasGradientCandidates, WithoutGeneratedKernelsAreTheLibrarysAlone) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithProducts);
  const std::vector<std::string> wide = kernels_for(*provider, gradient_group({}));
  EXPECT_FALSE(wide.empty());
  EXPECT_TRUE(std::ranges::all_of(wide, is_fused)) << ::testing::PrintToString(wide);
  EXPECT_TRUE(kernels_for(*provider, gradient_group({.dtype = DType::kBF16})).empty());
  EXPECT_FALSE(kernels_for(*provider, gradient_group({.dtype = DType::kBF16, .narrow_sum = true})).empty());
}

// A CPU has no kernel for the group, which nobody makes there; it is computed all the same.
TEST(BiasGradientCandidates, OfACpuAreTheReference) {
  const auto provider = runtime::testing::cpu_provider();
  EXPECT_TRUE(provider->capabilities().bias_gradients.empty());
  CompareOptions options;
  options.reference_allowed = true;
  for (const DType dtype : kGradientTypes) {
    const Graph graph = gradient_group({.dtype = dtype, .accumulates = true});
    EXPECT_FALSE(provider->runs(graph, graph.nodes()[0]));
    compare_all_kernels(graph, options);
  }
}

// What is compared with is the product and the sum, by the definition.
TEST(BiasGradientReference, IsAProductAndASum) {
  const Graph graph = gradient_group({.rows = 3, .inputs = 2, .outputs = 2});
  const auto tensor = [](const std::vector<float>& values) {
    Tensor made = Tensor::zeros(DType::kF32, {3, 2});
    std::ranges::copy(values, made.as<float>().begin());
    return made;
  };
  // The group's graph lists its inputs as they were made: dY, then X.
  const auto results =
      runtime::interpret(graph, std::vector{tensor({1, 2, 3, 4, 5, 6}), tensor({1, 0, 0, 1, 2, -1})});
  ASSERT_TRUE(results.ok()) << results.error().message;
  const std::vector<double> dw = {11, 14, -2, -2}, db = {9, 12};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ((*results)[0].at(i), dw[static_cast<std::size_t>(i)]) << i;
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ((*results)[1].at(i), db[static_cast<std::size_t>(i)]) << i;
}

// The floor of the group: dY is read once.
TEST(BiasGradientCost, CountsTheSummedOperandOnce) {
  const Graph graph = gradient_group({.rows = 1024, .inputs = 8, .outputs = 16});
  const graph::Cost cost = graph::node_cost(graph, graph.nodes()[0]);
  EXPECT_EQ(cost.bytes_read, 1024 * (8 + 16) * 4 + 8);
  EXPECT_EQ(cost.bytes_written, (8 * 16 + 16) * 4);
  EXPECT_EQ(cost.flops, 2.0 * 1024 * 8 * 16 + 1024 * 16);
}

// Times of a sum on the left are not those of one on the right, nor those of another type of sum.
TEST(BiasGradientTimings, AreKeptApart) {
  const auto signature = [](const LinearGradient& layer) {
    const Graph graph = gradient_group(layer);
    return runtime::node_signature(graph, graph.nodes()[0]);
  };
  const LinearGradient square{.dtype = DType::kBF16, .inputs = 40};
  LinearGradient left = square, narrow = square, added = square;
  left.of_left = narrow.narrow_sum = added.accumulates = true;
  for (const LinearGradient& other : {left, narrow, added}) EXPECT_NE(signature(square), signature(other));
}

}  // namespace
}  // namespace hone::backends
