#include "analyze/device/busy/leaves.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

WorkWords gradient_pass(double us, std::string kind = "aten::mul") {
  return {.kind = std::move(kind), .inputs = "f32[1024,1024]", .us = us, .phase = trace::Phase::kBackward};
}

// A gradient arrives at its parameter, and is added to what is there from an earlier micro-batch.
uint32_t arrive(Works& made, bool adds) {
  made.host(trace::Category::kOperator,
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 8);
  made.host(trace::Category::kOperator, "torch::autograd::AccumulateGrad", 7);
  uint32_t work = kNothing;
  if (adds) work = made.run(gradient_pass(30, "aten::add_"));
  made.pass(10);
  return work;
}

// Steps of micro-batches of two parameters; returns the sums of gradients.
std::vector<uint32_t> accumulate(Works& made, int batches, bool first_adds = false) {
  std::vector<uint32_t> sums;
  for (int batch = 0; batch < batches; ++batch)
    for (int parameter = 0; parameter < 2; ++parameter)
      if (const uint32_t sum = arrive(made, batch > 0 || first_adds); sum != kNothing) sums.push_back(sum);
  made.run(gradient_pass(5));
  made.end_step();
  return sums;
}

TEST(Leaves, SumsOverMicroBatchesAreWhatHalfAsManyWouldNotHave) {
  Works made;
  std::vector<uint32_t> sums = accumulate(made, 4);
  for (const uint32_t sum : accumulate(made, 4)) sums.push_back(sum);
  const BusySplit split = made.split();
  ASSERT_EQ(sums.size(), 12u);
  for (const uint32_t sum : sums) {
    EXPECT_EQ(split.works[sum].cause, Cause::kAvoidableTraffic);
    EXPECT_EQ(split.works[sum].reason, Reason::kAccumulation);
    EXPECT_NEAR(split.works[sum].target_ns, 30'000 / 3.0, 1);  // two batches add once, four add three times
  }
}

TEST(Leaves, OfTwoMicroBatchesOneNeedsNoSums) {
  Works made;
  for (const uint32_t sum : accumulate(made, 2)) EXPECT_EQ(made.split().works[sum].target_ns, kGone);
}

TEST(Leaves, WhereEveryGradientIsAddedNothingIsKnownOfMicroBatches) {
  Works made;
  for (const uint32_t sum : accumulate(made, 2, true)) {
    EXPECT_EQ(made.split().works[sum].reason, Reason::kNone);
    EXPECT_EQ(made.split().works[sum].cause, Cause::kFloor);
  }
}

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
  for (const uint32_t work : {before, at_leaf, after}) EXPECT_EQ(split.works[work].reason, Reason::kNone);
  EXPECT_EQ(works_at_leaves(made.trace(), made.timeline()), (std::vector<char>{0, 1, 0}));
}

}  // namespace
}  // namespace hone::analyze::device
