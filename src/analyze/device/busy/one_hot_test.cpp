#include "analyze/device/busy/one_hot.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

// 8192 numbers below 4096, looked up in a table of width 512.
constexpr double kLookupNs = 8192 * 512 * 2 * 2 / 4.22e12 * 1e9;

WorkWords movement(std::string kind, std::string inputs) {
  return {
      .kind = std::move(kind), .op_class = OperatorClass::kMovement, .inputs = std::move(inputs), .us = 60};
}

WorkWords zeros() { return movement("aten::fill_", "i64[8192,4096] -"); }
WorkWords ones() { return movement("aten::scatter_", "i64[8192,4096] =-1 i64[8192,1] =1"); }
WorkWords converted() { return movement("aten::copy_", "bf16[8192,4096] i64[8192,4096]"); }
WorkWords looked_up() {
  return {.kind = "aten::mm",
          .op_class = OperatorClass::kMatrix,
          .inputs = "bf16[8192,4096] bf16[4096,512]",
          .flops = 2.0 * 8192 * 4096 * 512,
          .written = 2.0 * 8192 * 512,
          .us = 80};
}

void expect_gone(const WorkSplit& split) {
  EXPECT_EQ(split.cause(), Cause::kAvoidableTraffic);
  EXPECT_EQ(split.rule, Rule::kOneHotProducts);
  EXPECT_EQ(split.target_ns, kGone);
}

bool has_one_hot(const BusySplit& split) {
  return std::any_of(split.works.begin(), split.works.end(),
                     [](const WorkSplit& work) { return work.rule == Rule::kOneHotProducts; });
}

TEST(OneHot, RowsThatAProductReadsAreALookup) {
  Works made;
  const uint32_t other = made.run(movement("aten::fill_", "i64[77,4096] -"));
  const uint32_t zero = made.run(zeros()), one = made.run(ones()), cast = made.run(converted());
  const uint32_t product = made.run(looked_up());
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_NE(split.works[other].rule, Rule::kOneHotProducts);
  for (const uint32_t work : {zero, one, cast}) expect_gone(split.works[work]);
  EXPECT_EQ(split.works[product].rule, Rule::kOneHotProducts);
  EXPECT_NEAR(split.works[product].target_ns, kLookupNs / 0.8, 0.02 * kLookupNs);
  EXPECT_NEAR(split.works[product].of(Cause::kFloor) * 80'000, kLookupNs, 0.02 * kLookupNs);
}

TEST(OneHot, AllKernelsThatWriteLargeRowsBelongToThem) {
  Works made;
  const uint32_t zero = made.run(zeros()), more_zeros = made.also(60, "fill");
  const uint32_t one = made.run(ones()), more_ones = made.also(60, "scatter");
  made.run(looked_up());
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {zero, more_zeros, one, more_ones}) expect_gone(split.works[work]);
}

TEST(OneHot, TheGradientOfTheTableIsASumByNumber) {
  WorkWords gradient = looked_up();
  gradient.inputs = "bf16[4096,8192]{1,4096} bf16[8192,512]";
  gradient.phase = trace::Phase::kBackward;
  Works made;
  made.run(ones());
  made.run(looked_up());
  made.run({.inputs = "bf16[8192,512]"});
  const uint32_t summed = made.run(gradient);
  made.end_step();
  EXPECT_EQ(made.split().works[summed].rule, Rule::kOneHotProducts);
}

TEST(OneHot, RowsThatSomethingElseReadsAreNone) {
  Works made;
  made.run(ones());
  made.run({.inputs = "i64[8192,4096] bf16[8192,1]"});  // weighted
  made.run(looked_up());
  made.end_step();
  EXPECT_FALSE(has_one_hot(made.split()));
}

TEST(OneHot, ScattersOfTensorsAndOfSeveralPlacesAreNone) {
  for (const char* inputs : {"bf16[8192,4096] =-1 i64[8192,1] bf16[8192,1]",  // weights of experts
                             "bf16[8192,4096] =-1 i64[8192,2] =1", "bf16[8192,4096] =0 i64[1,4096] =1"}) {
    Works made;
    made.run(movement("aten::scatter_", inputs));
    made.run(looked_up());
    made.end_step();
    EXPECT_FALSE(has_one_hot(made.split())) << inputs;
  }
}

TEST(OneHot, AProductOfTheNextStepReadsOtherRows) {
  Works made;
  made.run(ones());
  made.end_step();
  made.run(looked_up());
  made.end_step();
  EXPECT_FALSE(has_one_hot(made.split()));
}

}  // namespace
}  // namespace hone::analyze::device
