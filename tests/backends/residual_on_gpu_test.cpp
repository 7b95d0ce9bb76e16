// What keeps a residual stream in f32 beside products of bf16 (docs/decisions/0067-residual-sums-in-f32.md), on a GPU against
// the reference: products that add their sums to f32, normalisations of f32 that are stored narrow, and their gradients.
// Without a GPU the generated kernels run on the host, thread by thread, and a cuBLASLt that computes stands for NVIDIA's.
#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::GroupKind;
using graph::ValueId;
using Values = std::vector<ValueId>;

constexpr DType kHalves[] = {DType::kBF16, DType::kF16};

class ResidualOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options(double tolerance) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = tolerance;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, ResidualOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ResidualOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ResidualOnGpu);

ValueId cast_to(GraphBuilder& b, ValueId value, DType type) {
  return b.add("Cast", {value}, {{"to", dtype_to_onnx(type)}});
}

// A product of `type`, or of its numbers in f32, with a bias and a residual of f32; one of both, or none.
Values residual_product(GraphBuilder& b, const std::string& op, DType type, bool in_f32, bool row,
                        bool added) {
  const Shape a = op == "Gemm" ? Shape{7, 40} : Shape{2, 3, 40};
  const Shape w = op == "Gemm" ? Shape{24, 40} : Shape{40, 24};
  ValueId left = input_of(b, "a", type, a), right = input_of(b, "w", type, w);
  if (in_f32) {
    left = cast_to(b, left, DType::kF32);
    right = cast_to(b, right, DType::kF32);
  }
  ValueId y = op == "Gemm" ? b.add(op, {left, right}, {{"transB", int64_t{1}}, {"alpha", 0.5F}})
                           : b.add(op, {left, right});
  if (!in_f32) y = cast_to(b, y, DType::kF32);
  const Shape result = b.type(y).shape();
  if (row) y = b.add("Add", {y, input_of(b, "row", DType::kF32, {24})});
  if (added) y = b.add("Add", {input_of(b, "residual", DType::kF32, result), y});
  return {y};
}

// The sums go to f32 as they are: a product of bf16 that was rounded before would be off a thousand times as far.
TEST_P(ResidualOnGpu, ProductsAddTheirSumsToF32Unrounded) {
  for (const std::string op : {"MatMul", "Gemm"}) {
    for (const DType type : kHalves) {
      for (const auto& [row, added] :
           {std::pair(true, true), std::pair(false, true), std::pair(true, false)}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", op, dtype_name(type), row, added));
        const Graph group =
            fused([&](GraphBuilder& b) { return residual_product(b, op, type, false, row, added); },
                  GroupKind::kMatmul);
        ASSERT_EQ(group.nodes().size(), 1U);
        ASSERT_TRUE(provider_->runs(group, group.nodes()[0]));
        compare_all_kernels(group, options(4e-3));
        const Graph truth =
            make_graph([&](GraphBuilder& b) { return residual_product(b, op, type, true, row, added); });
        std::vector<Tensor> inputs;
        for (const ValueId input : group.inputs())
          inputs.push_back(random_floats_of(group.type(input).dtype, group.type(input).shape(),
                                            static_cast<uint32_t>(inputs.size() + 1)));
        const auto wanted = runtime::interpret(truth, inputs);
        ASSERT_TRUE(wanted.ok()) << wanted.error().message;
        auto plan = runtime::Plan::compile(group, *provider_);
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE((*plan)->write(i, inputs[i]).ok());
        ASSERT_TRUE((*plan)->run().ok());
        const auto found = (*plan)->read(0);
        ASSERT_TRUE(found.ok());
        for (int64_t i = 0; i < found->size(); ++i) ASSERT_NEAR(found->at(i), wanted->at(0).at(i), 2e-5) << i;
      }
    }
  }
}

// Alone it would only write twice the bytes, and a Cast further on is no step of a product.
TEST_P(ResidualOnGpu, AConversionBehindTheSumIsNoProductsEpilogue) {
  const Graph group = fused(
      [](GraphBuilder& b) -> Values {
        const ValueId y = b.add(
            "MatMul", {input_of(b, "a", DType::kBF16, {8, 16}), input_of(b, "w", DType::kBF16, {16, 8})});
        return {cast_to(b, b.add("Add", {y, input_of(b, "row", DType::kBF16, {8})}), DType::kF32)};
      },
      GroupKind::kMatmul);
  EXPECT_FALSE(provider_->runs(group, group.nodes()[0]));
}

// Rows of odd lengths, in registers of one thread's vectors and of many, and too long for registers.
TEST_P(ResidualOnGpu, NormalisationsAreStoredNarrowAlone) {
  int turn = 0;
  for (const Shape& shape : {Shape{5, 6}, Shape{2, 7, 33}, Shape{9, 768}, Shape{3, 1600}, Shape{2, 20000}}) {
    for (const std::string op : {"LayerNormalization", "RMSNormalization"}) {
      const DType type = kHalves[turn++ % 2];
      SCOPED_TRACE(fmt::format("{} {}", op, shape_text(shape)));
      const auto norm = [&](GraphBuilder& b) {
        Values inputs = {input_of(b, "x", DType::kF32, shape), f32_constant(b, {shape.back()})};
        if (op == "LayerNormalization" && turn % 3 != 0) inputs.push_back(f32_constant(b, {shape.back()}, 2));
        return b.add(op, inputs, {{"epsilon", 0.1F}});
      };
      compare_all_kernels(fused([&](GraphBuilder& b) -> Values { return {cast_to(b, norm(b), type)}; },
                                GroupKind::kNormalization),
                          options(2.5e-3));
      compare_all_kernels(fused(
                              [&](GraphBuilder& b) -> Values {
                                const ValueId y = norm(b);
                                return {y, cast_to(b, y, type)};
                              },
                              GroupKind::kNormalization),
                          options(2.5e-3));
    }
  }
}

// All that a group may hold, and gradients of a narrower type than the input's.
TEST_P(ResidualOnGpu, GradientsOfNormalisationsAreAddedToTheStream) {
  int turn = 0;
  for (const Shape& shape : {Shape{5, 6}, Shape{2, 7, 33}, Shape{300, 64}, Shape{9, 768}, Shape{3, 4096}}) {
    for (const int form : {0, 1, 2, 3, 4}) {
      const DType half = kHalves[turn++ % 2], gradient = turn % 3 == 0 ? DType::kF32 : half;
      SCOPED_TRACE(fmt::format("{} {}", shape_text(shape), form));
      const auto gradients = [&](GraphBuilder& b) -> Values {
        Values made = b.add_many("hone.LayerNormalizationGradient",
                                 {input_of(b, "g", gradient, shape), input_of(b, "x", DType::kF32, shape),
                                  f32_constant(b, {shape.back()})},
                                 3, {{"epsilon", 0.1F}});
        if (form == 0) return made;
        if (form != 4) made[0] = b.add("Add", {input_of(b, "stream", DType::kF32, shape), made[0]});
        if (form == 1) return made;
        if (form != 2)
          made.push_back(cast_to(b, made[0], half));
        else
          made[0] = cast_to(b, made[0], half);
        return made;
      };
      if (form == 0)
        compare_all_kernels(gradients, options(8e-6));
      else
        compare_all_kernels(fused(gradients, GroupKind::kNormalization), options(form == 1 ? 8e-6 : 2.5e-3));
    }
  }
}

// A second Add, or a sum that somebody reads before the Add, is another kernel's.
TEST_P(ResidualOnGpu, NoKernelTakesWhatAGroupGivesOutOnItsWay) {
  const Graph group = fused(
      [](GraphBuilder& b) -> Values {
        Values made = b.add_many("hone.LayerNormalizationGradient",
                                 {input_of(b, "g", DType::kBF16, {4, 8}),
                                  input_of(b, "x", DType::kF32, {4, 8}), f32_constant(b, {8})},
                                 3);
        made.push_back(b.add("Add", {input_of(b, "stream", DType::kF32, {4, 8}), made[0]}));
        return made;
      },
      GroupKind::kNormalization);
  EXPECT_FALSE(provider_->runs(group, group.nodes()[0]));
}

}  // namespace
}  // namespace hone::backends
