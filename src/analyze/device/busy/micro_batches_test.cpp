#include "analyze/device/busy/micro_batches.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::gradient_pass;
using fabricate::Works;

// A gradient arrives at its parameter, and is added to what is there from an earlier micro-batch.
uint32_t arrive(Works& made, bool adds) {
  made.host(trace::Category::kOperator,
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 8);
  made.host_with(trace::Category::kOperator, "torch::autograd::AccumulateGrad", 7, "f32[1024,1024]");
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

TEST(MicroBatches, SumsAreWhatHalfAsManyWouldNotHave) {
  Works made;
  std::vector<uint32_t> sums = accumulate(made, 4);
  for (const uint32_t sum : accumulate(made, 4)) sums.push_back(sum);
  const BusySplit split = made.split();
  ASSERT_EQ(sums.size(), 12u);
  for (const uint32_t sum : sums) {
    EXPECT_EQ(split.works[sum].cause(), Cause::kAvoidableTraffic);
    EXPECT_EQ(split.works[sum].rule, Rule::kManyMicroBatches);
    EXPECT_NEAR(split.works[sum].target_ns, 30'000 / 3.0, 1);  // two batches add once, four add three times
  }
}

TEST(MicroBatches, OfTwoOneNeedsNoSums) {
  Works made;
  for (const uint32_t sum : accumulate(made, 2)) EXPECT_EQ(made.split().works[sum].target_ns, kGone);
}

// One network's gradients arrive three times a step, those of another once: losses, not micro-batches.
TEST(MicroBatches, AreNotSeveralLossesOfOneNetwork) {
  Works made;
  std::vector<uint32_t> sums;
  for (int loss = 0; loss < 3; ++loss)
    if (const uint32_t sum = arrive(made, loss > 0); sum != kNothing) sums.push_back(sum);
  made.host_with(trace::Category::kOperator, "torch::autograd::AccumulateGrad", 7, "f32[64,64]");
  made.host(trace::Category::kOperator,
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 8);
  made.host_with(trace::Category::kOperator, "torch::autograd::AccumulateGrad", 7, "f32[64,64]");
  made.pass(10);
  made.run(gradient_pass(5));
  made.end_step();
  ASSERT_EQ(sums.size(), 2u);
  for (const uint32_t sum : sums) EXPECT_EQ(made.split().works[sum].rule, Rule::kUnjudgedWork);
}

TEST(MicroBatches, DoNotShowWhereEveryGradientIsAdded) {
  Works made;
  for (const uint32_t sum : accumulate(made, 2, true)) {
    EXPECT_EQ(made.split().works[sum].rule, Rule::kUnjudgedWork);
    EXPECT_EQ(made.split().works[sum].cause(), Cause::kUnjudged);
  }
}

// Two weights of one shape, converted in each of four micro-batches, or in the first alone.
std::vector<uint32_t> convert(Works& made, bool each) {
  std::vector<uint32_t> conversions;
  for (int batch = 0; batch < 4; ++batch)
    for (int parameter = 0; parameter < 2; ++parameter) {
      if (each || batch == 0)
        conversions.push_back(made.run({.kind = "aten::copy_", .inputs = "bf16[1024,1024] f32[1024,1024]"}));
      arrive(made, batch > 0);
    }
  made.end_step();
  return conversions;
}

TEST(MicroBatches, ConvertWeightsAgainAfterTheFirst) {
  Works made;
  const std::vector<uint32_t> conversions = convert(made, true);
  const BusySplit split = made.split();
  ASSERT_EQ(conversions.size(), 8u);
  for (std::size_t k = 0; k < conversions.size(); ++k) {
    const WorkSplit& conversion = split.works[conversions[k]];
    EXPECT_EQ(conversion.rule == Rule::kRepeatedWeightCasts && conversion.target_ns == kGone, k >= 2) << k;
  }
}

TEST(MicroBatches, UnderOneRegionConvertWeightsOnce) {
  Works made;
  for (const uint32_t conversion : convert(made, false))
    EXPECT_NE(made.split().works[conversion].rule, Rule::kRepeatedWeightCasts);
}

}  // namespace
}  // namespace hone::analyze::device
