#include "analyze/cost.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(OperatorFloor, OfProductsThatMayRoundToTf32IsByTheRateOfThat) {
  Roofs roofs;
  roofs.compute = {{DType::kF32, "gemm", 1, {50e12, 50e12, 50e12}},
                   {DType::kF32, std::string(kTf32Method), 1, {400e12, 400e12, 400e12}}};
  const CostContext context{roofs, 1};
  trace::Operator product;
  product.dtype = DType::kF32;
  product.flops = 400e9;
  const double exact = operator_floor(product, context, Bytes::kAll).compute_ms;
  EXPECT_NEAR(exact, 8, 1e-9);
  product.may_use_tf32 = true;
  EXPECT_NEAR(operator_floor(product, context, Bytes::kAll).compute_ms, 1, 1e-9);
  roofs.compute.pop_back();
  EXPECT_NEAR(operator_floor(product, context, Bytes::kAll).compute_ms, exact, 1e-9) << "nobody measured it";
}

}  // namespace
}  // namespace hone::analyze
