#include "trace/link/roles.h"

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

TEST(Roles, EveryRowCanDecide) { EXPECT_EQ(unreachable_rows(role_table()), std::vector<std::string_view>()); }

TEST(WeightGathers, AreKnownByTheirRange) {
  EXPECT_FALSE(weight_gather("FSDP::all_gather_copy_in"));
  EXPECT_FALSE(weight_gather("FSDP::reduce_scatter"));
  ASSERT_TRUE(weight_gather("FSDP::all_gather"));
  EXPECT_EQ(weight_gather("FSDP::all_gather (layers.1)")->module, " (layers.1)");
  EXPECT_TRUE(weight_gather("FSDP::all_gather_copy_out (layers.1)")->unpacks);
}

TEST(OptimizerClass, IsInTheNameOfItsRange) {
  EXPECT_EQ(optimizer_class("Optimizer.step#AdamW.step"), "AdamW");
  EXPECT_EQ(optimizer_class("Optimizer.zero_grad#AdamW.zero_grad"), "");
}

TEST(AccumulateGrad, IsKnownByItsFunctionAndByTheEnginesRange) {
  EXPECT_TRUE(accumulates_gradient(kAccumulateGrad));
  EXPECT_TRUE(accumulates_gradient("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"));
  EXPECT_FALSE(accumulates_gradient("autograd::engine::evaluate_function: MmBackward0"));
}

}  // namespace
}  // namespace hone::trace::link
