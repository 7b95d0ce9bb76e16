#include "analyze/device/busy/leaves.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::gradient_pass;
using fabricate::Works;

TEST(Leaves, NothingFusesWithThem) {
  Works made;
  const uint32_t before = made.run(gradient_pass(40));
  made.host(trace::Category::kOperator,
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 4);
  const uint32_t at_leaf = made.run(gradient_pass(20));
  made.pass(10);
  const uint32_t after = made.run(gradient_pass(10));
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {before, at_leaf, after}) EXPECT_EQ(split.works[work].rule, Rule::kFloor);
  EXPECT_EQ(works_at_leaves(made.trace(), made.timeline(), find_leaves(made.trace(), made.timeline())),
            (std::vector<char>{0, 1, 0}));
}

}  // namespace
}  // namespace hone::analyze::device
