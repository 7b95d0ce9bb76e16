#include "analyze/device/busy/merged_weights.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

WorkWords adapted_product(std::string inputs, double us = 60, std::string kind = "aten::mm") {
  return {.kind = std::move(kind), .op_class = OperatorClass::kMatrix, .inputs = std::move(inputs), .us = us};
}

WorkWords narrow_product() { return adapted_product("bf16[8192,16] bf16[16,4096]", 40); }
WorkWords scaled_update() { return {.kind = "aten::mul", .inputs = "bf16[8192,4096] =2.0", .us = 50}; }
WorkWords summed_weight() {
  return {.kind = "aten::add", .inputs = "bf16[8192,4096] bf16[8192,4096] =1", .us = 70};
}
WorkWords merged_use() { return adapted_product("bf16[1024,4096] bf16[4096,8192]{1,4096}", 100); }

bool is_merged(const WorkSplit& split) { return split.rule == Rule::kMergedWeights; }
bool has_merged(const BusySplit& split) {
  return std::any_of(split.works.begin(), split.works.end(), is_merged);
}

TEST(MergedWeights, AreANarrowProductAddedToAWeightBeforeItsProduct) {
  Works made;
  const uint32_t low = made.run(narrow_product()), scale = made.run(scaled_update()),
                 sum = made.run(summed_weight());
  const uint32_t through = made.run(merged_use());
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {low, scale}) {
    EXPECT_TRUE(is_merged(split.works[work]));
    EXPECT_EQ(split.works[work].target_ns, kGone);
  }
  EXPECT_TRUE(is_merged(split.works[sum]));
  const double floor = 2.0 * 1024 * (4096 + 2 * 8192) / 4.22e12 * 1e9;  // activations, result twice
  EXPECT_NEAR(split.works[sum].target_ns, floor / 0.8, 0.02 * floor);
  EXPECT_FALSE(is_merged(split.works[through]));
}

TEST(MergedWeights, MayBeSummedByTheNarrowProductItself) {
  Works made;
  const uint32_t low =
      made.run(adapted_product("bf16[8192,4096] bf16[8192,16] bf16[16,4096]", 90, "aten::addmm"));
  made.run(merged_use());
  made.end_step();
  EXPECT_TRUE(is_merged(made.split().works[low]));
}

// An adapter beside the weight: the sum is of activations, and the next layer reads it as such.
TEST(MergedWeights, SumsOfActivationsAreNone) {
  Works made;
  made.run(narrow_product());
  made.run(summed_weight());
  made.run(adapted_product("bf16[8192,4096] bf16[4096,4096]", 100));
  made.end_step();
  EXPECT_FALSE(has_merged(made.split()));
}

// The same with as many tokens as features: by shapes nobody can tell.
TEST(MergedWeights, SquareSumsMayBeOfActivations) {
  Works made;
  made.run(adapted_product("bf16[4096,16] bf16[16,4096]", 40));
  made.run({.kind = "aten::add", .inputs = "bf16[4096,4096] bf16[4096,4096] =1", .us = 70});
  made.run(adapted_product("bf16[4096,4096] bf16[4096,4096]", 100));
  made.end_step();
  EXPECT_FALSE(has_merged(made.split()));
}

TEST(MergedWeights, WhatAnythingElseChangesIsNone) {
  for (const WorkWords& other : {WorkWords{.kind = "aten::relu", .inputs = "bf16[8192,4096]"},
                                 WorkWords{.kind = "aten::mul", .inputs = "bf16[8192,4096] bf16[8192,4096]"},
                                 WorkWords{.kind = "aten::mul", .inputs = "bf16[8192,4096] bf16[8192,1]"}}) {
    Works made;
    made.run(narrow_product());
    made.run(summed_weight());
    made.run(other);
    made.run(merged_use());
    made.end_step();
    EXPECT_FALSE(has_merged(made.split())) << other.kind << ' ' << other.inputs;
  }
}

TEST(MergedWeights, WideFactorsAndGradientsAreNone) {
  Works wide;
  wide.run(adapted_product("bf16[8192,1024] bf16[1024,4096]"));
  wide.run(summed_weight());
  wide.run(merged_use());
  wide.end_step();
  EXPECT_FALSE(has_merged(wide.split()));
  Works backward;
  WorkWords low = narrow_product();
  low.phase = trace::Phase::kBackward;
  backward.run(low);
  backward.run(summed_weight());
  backward.run(merged_use());
  backward.end_step();
  EXPECT_FALSE(has_merged(backward.split()));
}

TEST(MergedWeights, AreKeptWhereMoreActivationsPassThanTheWeightHas) {
  Works made;
  made.run(narrow_product());
  made.run(summed_weight());
  made.run(adapted_product("bf16[262144,4096] bf16[4096,8192]{1,4096}", 20'000));
  made.end_step();
  EXPECT_FALSE(has_merged(made.split()));
}

}  // namespace
}  // namespace hone::analyze::device
