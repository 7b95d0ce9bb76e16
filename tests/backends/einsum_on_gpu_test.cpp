// Einsum on a GPU against the reference: without one by kernels that the host runs thread by thread, on one as they are
// (ctest -L cuda).
#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

class EinsumOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_agreement(const std::string& equation, const std::vector<Shape>& shapes, DType dtype) const {
    SCOPED_TRACE(fmt::format("{} of {}", equation, dtype_name(dtype)));
    CompareOptions options;
    options.provider = provider_;
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          std::vector<ValueId> operands;
          for (const Shape& shape : shapes)
            operands.push_back(input_of(b, "x" + std::to_string(operands.size()), dtype, shape));
          return {b.add("Einsum", operands, {{"equation", equation}})};
        },
        options);
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, EinsumOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, EinsumOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EinsumOnGpu);

// Matrices whichever way round they lie, batches anywhere, more rows and columns than a tile has.
TEST_P(EinsumOnGpu, ProductsOfMatricesAgree) {
  expect_agreement("ij,jk->ik", {{70, 33}, {33, 130}}, DType::kF32);
  expect_agreement("ji,kj->ki", {{33, 70}, {5, 33}}, DType::kF32);
  expect_agreement("bhid,bhjd->bhij", {{2, 3, 9, 20}, {2, 3, 11, 20}}, DType::kF16);
  expect_agreement("bihd,bjhd->bhij", {{2, 9, 3, 20}, {2, 11, 3, 20}}, DType::kBF16);
  expect_agreement("...ij,...jk->...ik", {{4, 1, 5, 6}, {3, 6, 7}}, DType::kF64);
  expect_agreement("abc,cbd->ad", {{7, 3, 5}, {5, 3, 6}}, DType::kF32);
  expect_agreement("ij,jk->ik", {{7, 5}, {5, 9}}, DType::kI8);
  expect_agreement("ij,jk->ik", {{7, 5}, {5, 9}}, DType::kI64);
}

TEST_P(EinsumOnGpu, WhatIsNoProductOfMatricesAgrees) {
  expect_agreement("ij->ji", {{7, 5}}, DType::kF32);
  expect_agreement("ijk->", {{7, 5, 3}}, DType::kF32);
  expect_agreement("ii->i", {{6, 6}}, DType::kF32);
  expect_agreement("ii", {{6, 6}}, DType::kI32);
  expect_agreement("i,j->ij", {{300}, {7}}, DType::kF32);
  expect_agreement("ij,j", {{70, 33}, {33}}, DType::kF16);
  expect_agreement("ij,ij->i", {{70, 33}, {70, 1}}, DType::kF32);
  expect_agreement("i,ij,jk->k", {{5}, {5, 6}, {6, 7}}, DType::kF32);
  expect_agreement("ab,cd->", {{5, 2}, {3, 4}}, DType::kF32);
  expect_agreement("ab,bc,cd,da->a", {{3, 4}, {4, 5}, {5, 2}, {2, 3}}, DType::kF64);
}

}  // namespace
}  // namespace hone::backends
