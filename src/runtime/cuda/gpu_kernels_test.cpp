// Kernels of GPUs against the interpreter: products over a cuBLASLt that computes on the host, all of them on a real GPU
// where there is one (runtime/testing/providers.h), and on the CPU, whose kernels must pass the same tests.
#include "runtime/cuda/gpu_kernels.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

Tensor normal_values(const graph::TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor values = Tensor::zeros(DType::kF32, type.shape());
  for (float& x : values.as<float>()) x = normal(random);
  if (type.dtype == DType::kF32) return values;
  Tensor narrow = Tensor::zeros(type.dtype, type.shape());
  auto* const to = static_cast<uint16_t*>(narrow.data());
  for (int64_t i = 0; i < values.size(); ++i) {
    const float x = values.as<float>()[static_cast<std::size_t>(i)];
    to[i] = type.dtype == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
  }
  return narrow;
}

class KernelsOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  // Every step on the GPU by a kernel of its own, outputs as the interpreter's within `tolerance` of the largest.
  void expect_as_interpreted(const std::string& text, double tolerance) {
    const graph::Graph graph = *graph::parse(text);
    std::vector<Tensor> inputs;
    for (const graph::ValueId input : graph.inputs())
      inputs.push_back(normal_values(graph.type(input), static_cast<unsigned>(inputs.size())));
    auto plan = Plan::compile(graph, *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const PlanStep& step : (*plan)->steps()) {
      const bool reference = step.implementation.find("reference") != std::string::npos;
      EXPECT_FALSE(reference && provider_->name() == "cuda") << step.op << ": " << step.implementation;
    }
    for (int run = 0; run < 2; ++run) {
      const auto found = (*plan)->run(inputs);
      ASSERT_TRUE(found.ok()) << found.error().message;
      const auto wanted = interpret(graph, inputs);
      ASSERT_TRUE(wanted.ok()) << wanted.error().message;
      double largest = 0, worst = 0;
      for (int64_t i = 0; i < (*wanted)[0].size(); ++i) {
        largest = std::max(largest, std::abs((*wanted)[0].at(i)));
        worst = std::max(worst, std::abs((*found)[0].at(i) - (*wanted)[0].at(i)));
      }
      EXPECT_LE(worst, tolerance * largest) << text;
    }
  }

  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};

TEST_P(KernelsOnGpu, MultiplyMatrices) {
  for (const auto& [a, b, d] :
       std::vector<std::array<std::string, 3>>{{"f32[37,64]", "f32[64,48]", "f32[37,48]"},
                                               {"f32[1,128]", "f32[128,5]", "f32[1,5]"},
                                               {"f32[2,3,16,32]", "f32[2,3,32,24]", "f32[2,3,16,24]"},
                                               {"f32[4,10,32]", "f32[32,24]", "f32[4,10,24]"},
                                               {"f32[16,32]", "f32[5,32,24]", "f32[5,16,24]"}}) {
    expect_as_interpreted(
        "graph \"g\" (%a: " + a + ", %b: " + b + ") {\n  %d: " + d + " = MatMul(%a, %b)\n  return %d\n}",
        2e-6);
  }
  expect_as_interpreted(
      "graph \"g\" (%a: f16[40,64], %b: f16[64,48]) {\n  %d: f16[40,48] = MatMul(%a, %b)\n  return %d\n}",
      2e-3);
  expect_as_interpreted(
      "graph \"g\" (%a: bf16[40,64], %b: bf16[64,48]) {\n  %d: bf16[40,48] = MatMul(%a, %b)\n  return %d\n}",
      1.6e-2);
}

TEST_P(KernelsOnGpu, MultiplyByGemmWithItsRowAndItsFactor) {
  for (const bool a_lies : {false, true}) {
    for (const bool b_lies : {false, true}) {
      expect_as_interpreted(
          fmt::format("graph \"g\" (%a: f32[{}], %b: f32[{}], %c: f32[48]) {{\n"
                      "  %d: f32[37,48] = Gemm(%a, %b, %c) {{alpha = 0.5, transA = {}, transB = {}}}\n"
                      "  return %d\n}}",
                      a_lies ? "64,37" : "37,64", b_lies ? "48,64" : "64,48", a_lies ? 1 : 0, b_lies ? 1 : 0),
          2e-6);
    }
  }
}

// A product of 37 x 64 by 64 x 48, with what `behind` computes from %p, as one kernel.
std::string product_with(const std::string& behind, const std::string& parameters = "",
                         const std::string& arguments = "", const char* type = "f32") {
  std::string text = "graph \"g\" (%a: f32[37,64], %w: f32[64,48]" + parameters +
                     ") {\n  %y: f32[37,48] = hone.Fused(%a, %w" + arguments + R"() {kind = "matmul"}
    graph "b" (%a: f32[37,64], %w: f32[64,48])" +
                     parameters + ") {\n      %p: f32[37,48] = MatMul(%a, %w)\n" + behind +
                     "      return %d\n    }\n  return %y\n}";
  for (std::size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; ++at) text.replace(at, 3, type);
  return text;
}

TEST_P(KernelsOnGpu, AddTheirEpilogueToAProductBeforeItIsStored) {
  const std::string row = ", %r: f32[48]", like = ", %t: f32[37,48]";
  expect_as_interpreted(product_with("      %d: f32[37,48] = Add(%p, %r)\n", row, ", %r"), 2e-6);
  expect_as_interpreted(product_with("      %d: f32[37,48] = Add(%t, %p)\n", like, ", %t"), 2e-6);
  expect_as_interpreted(product_with("      %d: f32[37,48] = Relu(%p)\n"), 2e-6);
  for (const char* function : {"Relu(%s)", "Gelu(%s) {approximate = \"tanh\"}"}) {
    const std::string last = std::string("      %d: f32[37,48] = ") + function + "\n";
    expect_as_interpreted(product_with("      %s: f32[37,48] = Add(%p, %r)\n" + last, row, ", %r"), 2e-6);
    const std::string both =
        product_with("      %q: f32[37,48] = Add(%r, %p)\n      %s: f32[37,48] = Add(%q, %t)\n" + last,
                     row + like, ", %r, %t");
    expect_as_interpreted(both, 2e-6);
  }
  expect_as_interpreted(product_with("      %s: f32[37,48] = Add(%p, %r)\n      %d: f32[37,48] = Relu(%s)\n",
                                     row, ", %r", "f16"),
                        2e-3);
}

// What a NaN of the product becomes: a Relu by itself keeps it, on every device; that of a library's epilogue keeps it or makes 0
// of it, as its kernel does (docs/gpu.md). Nothing else of the result is touched either way.
TEST_P(KernelsOnGpu, KeepNaNInAReluOrMakeZeroOfItInALibrarysEpilogue) {
  constexpr int64_t kRow = 5;
  const auto result_of = [&](const std::string& text, bool& by_library) {
    const graph::Graph graph = *graph::parse(text);
    std::vector<Tensor> inputs;
    for (const graph::ValueId input : graph.inputs())
      inputs.push_back(normal_values(graph.type(input), static_cast<unsigned>(inputs.size())));
    inputs[0].as<float>()[kRow * 64 + 7] = std::numeric_limits<float>::quiet_NaN();
    auto plan = Plan::compile(graph, *provider_);
    if (!plan.ok()) throw std::logic_error(plan.error().message);
    const std::string& by = (*plan)->steps().back().implementation;
    by_library = by.starts_with("cuBLASLt") || by.find("oneDNN") != std::string::npos;
    return (*plan)->run(inputs)->at(0);
  };
  const std::string alone =
      "graph \"g\" (%a: f32[37,64], %w: f32[64,48]) {\n  %p: f32[37,48] = MatMul(%a, %w)\n"
      "  %d: f32[37,48] = Relu(%p)\n  return %d\n}";
  for (const std::string& text : {alone, product_with("      %d: f32[37,48] = Relu(%p)\n")}) {
    bool by_library = false;
    const Tensor result = result_of(text, by_library);
    EXPECT_EQ(by_library, text != alone) << text;
    for (int64_t i = 0; i < result.size(); ++i) {
      if (i / 48 != kRow)
        ASSERT_GE(result.at(i), 0) << i;
      else
        ASSERT_TRUE(std::isnan(result.at(i)) || (by_library && result.at(i) == 0)) << i;
    }
  }
}

TEST_P(KernelsOnGpu, MultiplyByGemmWithAMatrixAdded) {
  expect_as_interpreted(
      "graph \"g\" (%a: f32[37,64], %b: f32[64,48], %c: f32[37,48]) {\n"
      "  %d: f32[37,48] = Gemm(%a, %b, %c) {alpha = 0.5, beta = 2.0}\n  return %d\n}",
      2e-6);
}

// A sum that overwrites its operand, and one that must not, as the operand is the product's, too.
TEST_P(KernelsOnGpu, AddInPlaceWhereNobodyElseReadsTheOperand) {
  expect_as_interpreted(R"(graph "g" (%a: f32[32,32], %w: f32[32,32]) {
  %h: f32[32,32] = MatMul(%a, %a)
  %y: f32[32,32] = hone.Fused(%h, %w) {kind = "matmul"}
    graph "b" (%h: f32[32,32], %w: f32[32,32]) {
      %p: f32[32,32] = MatMul(%h, %w)
      %d: f32[32,32] = Add(%p, %h)
      return %d
    }
  return %y
})",
                        4e-6);
  expect_as_interpreted(R"(graph "g" (%a: f32[32,32], %w: f32[32,32]) {
  %h: f32[32,32] = MatMul(%a, %a)
  %y: f32[32,32] = hone.Fused(%a, %w, %h) {kind = "matmul"}
    graph "b" (%a: f32[32,32], %w: f32[32,32], %h: f32[32,32]) {
      %p: f32[32,32] = MatMul(%a, %w)
      %d: f32[32,32] = Add(%p, %h)
      return %d
    }
  return %y
})",
                        4e-6);
}

// What begins at any element is aligned to one element alone: an operand that is a part of a tensor.
TEST_P(KernelsOnGpu, MultiplyPartsOfTensors) {
  expect_as_interpreted(R"(graph "g" (%a: f32[8,8], %b: f32[8,5], %w: f32[5,4]) {
  %m: f32[8,5] = MatMul(%a, %b)
  %first: f32[4,5], %second: f32[4,5] = Split(%m) {num_outputs = 2}
  %d: f32[4,4] = MatMul(%second, %w)
  return %d
})",
                        2e-6);
}

// GELU by erf is another function: the library's must not stand in for it.
TEST(GpuProductEpilogues, AreOnlyThoseThatTheLibraryComputes) {
  const auto provider = testing::provider_named(testing::kCudaWithProducts);
  const auto runs = [&](const std::string& behind, const std::string& parameters = "",
                        const std::string& arguments = "") {
    const auto graph = graph::parse(product_with(behind, parameters, arguments));
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    return provider->runs(*graph, graph->nodes()[0]);
  };
  EXPECT_TRUE(runs("      %d: f32[37,48] = Gelu(%p) {approximate = \"tanh\"}\n"));
  EXPECT_FALSE(runs("      %d: f32[37,48] = Gelu(%p)\n"));
  EXPECT_FALSE(runs("      %d: f32[37,48] = Tanh(%p)\n"));
  EXPECT_FALSE(
      runs("      %s: f32[37,48] = Relu(%p)\n      %d: f32[37,48] = Add(%s, %r)\n", ", %r: f32[48]", ", %r"))
      << "the library adds first";
  EXPECT_FALSE(runs("      %d: f32[37,48] = Add(%p, %r)\n", ", %r: f32[37,1]", ", %r"));
  EXPECT_FALSE(runs("      %s: f32[37,48] = Relu(%p)\n      %d: f32[37,48] = Relu(%s)\n"));
  for (const graph::EpilogueCapability& row : cuda_kernels::product_epilogues()) {
    const std::string what = row.op == "Gelu"
                                 ? " = Gelu(%p) {approximate = \"tanh\"}\n"
                                 : " = " + std::string(row.op) + (row.binary ? "(%p, %t)\n" : "(%p)\n");
    EXPECT_TRUE(
        runs("      %d: f32[37,48]" + what, row.binary ? ", %t: f32[37,48]" : "", row.binary ? ", %t" : ""))
        << row.op;
  }
}

class PointwiseOnGpu : public KernelsOnGpu {};

TEST_P(PointwiseOnGpu, IsAsInterpretedForAnyStride) {
  expect_as_interpreted(
      "graph \"g\" (%x: f32[3,5,7], %row: f32[7], %column: f32[5,1]) {\n"
      "  %a: f32[3,5,7] = Add(%x, %row)\n  %b: f32[3,5,7] = Mul(%a, %column)\n"
      "  %c: f32[3,5,7] = Tanh(%b)\n  %d: f32[3,5,7] = Sin(%c)\n  return %d\n}",
      2e-6);
  expect_as_interpreted("graph \"g\" (%x: f32[3,2097153]) {\n  %y: f32[3,2097153] = Relu(%x)\n  return %y\n}",
                        0);
}

TEST_P(PointwiseOnGpu, AndRowFunctions) {
  for (const char* shape : {"f32[5,7]", "f32[3,4,1000]", "f32[2,5000]"}) {
    const std::string x = std::string("graph \"g\" (%x: ") + shape + ") {\n  %y: " + shape;
    expect_as_interpreted(x + " = Softmax(%x)\n  return %y\n}", 4e-6);
    expect_as_interpreted(x + " = LogSoftmax(%x)\n  return %y\n}", 4e-6);
  }
  expect_as_interpreted(
      "graph \"g\" (%x: f32[6,768], %s: f32[768], %b: f32[768]) {\n"
      "  %y: f32[6,768] = LayerNormalization(%x, %s, %b)\n  return %y\n}",
      4e-6);
}

INSTANTIATE_TEST_SUITE_P(Gpu, KernelsOnGpu, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, PointwiseOnGpu, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, KernelsOnGpu, ::testing::Values("cpu", testing::kCudaWithProducts),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, PointwiseOnGpu, ::testing::Values("cpu", testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace hone::runtime
