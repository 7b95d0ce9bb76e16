#include "analyze/device/busy/accumulate_grad.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::gradient_pass;
using fabricate::Works;

TEST(AccumulateGrads, FuseWithNothing) {
  Works made;
  const uint32_t before = made.run(gradient_pass(40));
  made.host(trace::Category::kOperator,
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 4);
  const uint32_t in_accumulate_grad = made.run(gradient_pass(20));
  made.pass(10);
  const uint32_t after = made.run(gradient_pass(10));
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {before, in_accumulate_grad, after})
    EXPECT_EQ(split.works[work].rule, Rule::kUnjudgedWork);
  EXPECT_EQ(works_of_accumulate_grads(made.trace(), made.timeline(),
                                      find_accumulate_grads(made.trace(), made.timeline())),
            (std::vector<char>{0, 1, 0}));
}

}  // namespace
}  // namespace hone::analyze::device
