// Products of one row on a GPU against the reference, by cuBLASLt and by our own kernel: without a GPU over a cuBLASLt that the host
// computes (cuda/testing/fake_blas_lt.cpp) and on the host, on one as they are (ctest -L cuda).
#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/gemv.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

class GemvOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = 2e-6;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, GemvOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, GemvOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GemvOnGpu);

constexpr DType kGemvTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// Depths in parts and in one, columns that no vector divides, one column, one element.
TEST_P(GemvOnGpu, EveryExtentAgrees) {
  int turn = 0;
  for (const auto& [depth, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {768, 96}, {2051, 37}, {4096, 8}, {33, 1030}, {1500, 1}, {1, 1}}) {
    for (const int64_t transposed : {0, 1}) {
      const DType dtype = kGemvTypes[turn++ % 3];
      SCOPED_TRACE(fmt::format("{} {} by {} transposed {}", dtype_name(dtype), depth, columns, transposed));
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            const ValueId a = input_of(b, "a", dtype, {1, depth});
            const Shape weights = transposed != 0 ? Shape{columns, depth} : Shape{depth, columns};
            return {b.add("Gemm", {a, typed_constant(b, dtype, weights)}, {{"transB", transposed}})};
          },
          options());
    }
  }
}

TEST_P(GemvOnGpu, WhatFollowsAgrees) {
  for (const DType dtype : kGemvTypes) {
    for (const std::string function : {"", "Relu", "Gelu"}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype_name(dtype), function));
      compare_all_kernels(fused(
                              [&](GraphBuilder& b) -> std::vector<ValueId> {
                                const ValueId a = input_of(b, "a", dtype, {1, 1, 512});
                                ValueId y = b.add("MatMul", {a, typed_constant(b, dtype, {512, 72})});
                                y = b.add("Add", {y, input_of(b, "row", dtype, {72})});
                                y = b.add("Add", {input_of(b, "like", dtype, {1, 1, 72}), y});
                                Attributes attributes;
                                if (function == "Gelu") attributes.set("approximate", std::string("tanh"));
                                return {function.empty() ? y : b.add(function, {y}, attributes)};
                              },
                              graph::GroupKind::kMatmul),
                          options());
    }
  }
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("Gemm",
                      {f32_input(b, "a", {300, 1}), f32_constant(b, {300, 50}), f32_input(b, "c", {1, 50})},
                      {{"alpha", 0.3F}, {"beta", -2.0F}, {"transA", int64_t{1}}})};
      },
      options());
}

TEST(GemvKernels, ArePartedWhereResultsAreFewAndWholeWhereTheyAreMany) {
  using kernels::gpu::generate_gemv;
  const auto of = [](int64_t columns, int64_t depth) {
    return *generate_gemv({.dtype = DType::kF16, .rows = 1, .columns = columns, .depth = depth});
  };
  EXPECT_GT(of(768, 3072).parts, 4);
  EXPECT_GE(of(768, 3072).parts * of(768, 3072).blocks, 132);
  EXPECT_EQ(of(50257, 768).parts, 1);
  EXPECT_EQ(of(50257, 768).scratch_bytes, 0U);
  EXPECT_FALSE(generate_gemv({.rows = 2, .columns = 8, .depth = 8}).ok());
  EXPECT_FALSE(generate_gemv({.dtype = DType::kI8, .rows = 1, .columns = 8, .depth = 8}).ok());
}

}  // namespace
}  // namespace hone::backends
