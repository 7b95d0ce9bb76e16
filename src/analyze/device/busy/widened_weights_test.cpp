#include "analyze/device/busy/widened_weights.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

// A weight of 8192 × 4096, and 16 rows that widening_pass through it.
constexpr double kWeight = 8192.0 * 4096;
constexpr double kNarrowNs = (kWeight + 16 * (8192 + 4096) * 2) / 4.224e12 * 1e9;

WorkWords converted_weight(std::string inputs = "bf16[8192,4096] i8[8192,4096] =False") {
  return {
      .kind = "aten::copy_", .inputs = std::move(inputs), .bytes = kWeight, .written = 2 * kWeight, .us = 90};
}
WorkWords widening_pass(std::string kind, std::string inputs) {
  return {.kind = std::move(kind),
          .inputs = std::move(inputs),
          .bytes = 2 * kWeight,
          .written = 2 * kWeight,
          .us = 80};
}
WorkWords scaled_weight() { return widening_pass("aten::mul", "bf16[8192,4096] bf16[8192,1]"); }
WorkWords widened_product(std::string inputs, double rows, std::string kind = "aten::mm") {
  return {.kind = std::move(kind),
          .op_class = OperatorClass::kMatrix,
          .inputs = std::move(inputs),
          .flops = 2 * rows * kWeight,
          .bytes = 2 * (kWeight + rows * 4096),
          .written = 2 * rows * 8192,
          .us = 20};
}
WorkWords widened_use() { return widened_product("bf16[16,4096] bf16[4096,8192]{1,4096}", 16); }

bool is_widened(const WorkSplit& split) { return split.rule == Rule::kWidenedWeights; }
bool has_widened(const Works& made) {
  const BusySplit split = made.split();
  return std::any_of(split.works.begin(), split.works.end(), is_widened);
}

TEST(WidenedWeights, ArePassesBeforeAProductThatCouldReadBytes) {
  Works made;
  const uint32_t conversion = made.run(converted_weight());
  const uint32_t shift = made.run(widening_pass("aten::sub_", "bf16[8192,4096] bf16[8192,1] =1"));
  const uint32_t scale = made.run(scaled_weight());
  const uint32_t through = made.run(widened_use());
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {conversion, shift, scale}) {
    EXPECT_TRUE(is_widened(split.works[work]));
    EXPECT_EQ(split.works[work].cause(), Cause::kAvoidableTraffic);
    EXPECT_EQ(split.works[work].target_ns, kGone);
  }
  EXPECT_TRUE(is_widened(split.works[through]));
  EXPECT_NEAR(split.works[through].target_ns, kNarrowNs / 0.8, 0.02 * kNarrowNs);
  EXPECT_NEAR(split.works[through].of(Cause::kFloor) * 20'000, kNarrowNs, 0.02 * kNarrowNs);
}

TEST(WidenedWeights, MayBeConvertedByTheirScaling) {
  Works made;
  const uint32_t scale = made.run(widening_pass("aten::mul", "i8[8192,4096] bf16[8192,1]"));
  made.run(widened_use());
  made.end_step();
  EXPECT_TRUE(is_widened(made.split().works[scale]));
}

TEST(WidenedWeights, MayHaveAScaleForEachGroupOfARow) {
  Works made;
  const uint32_t conversion = made.run(converted_weight("f16[8192,32,128] u8[8192,32,128] =False"));
  const uint32_t scale = made.run(widening_pass("aten::mul", "f16[8192,32,128] f16[8192,32,1]"));
  made.run(widened_product("f16[16,4096] f16[4096,8192]{1,4096}", 16));
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_TRUE(is_widened(split.works[conversion]));
  EXPECT_TRUE(is_widened(split.works[scale]));
}

TEST(WidenedWeights, AreReadBySumsAndByProductsWithAVectorToo) {
  for (const WorkWords& last :
       {widened_product("bf16[8192] bf16[16,4096] bf16[4096,8192]{1,4096} =1 =1", 16, "aten::addmm"),
        widened_product("bf16[8192,4096] bf16[4096]", 1, "aten::mv")}) {
    Works made;
    const uint32_t conversion = made.run(converted_weight("bf16[8192,4096] f8e4m3fn[8192,4096] =False"));
    made.run(last);
    made.end_step();
    EXPECT_TRUE(is_widened(made.split().works[conversion])) << last.kind;
  }
}

TEST(WidenedWeights, OfABatchOfProductsAreRead) {
  Works made;
  const uint32_t conversion = made.run(converted_weight("bf16[8,1024,4096] i8[8,1024,4096] =False"));
  made.run(widened_product("bf16[8,16,4096] bf16[8,4096,1024]{4194304,1,4096}", 16, "aten::bmm"));
  made.end_step();
  EXPECT_TRUE(is_widened(made.split().works[conversion]));
}

TEST(WidenedWeights, AllKernelsOfAProductReadBytes) {
  Works made;
  made.run(converted_weight());
  const uint32_t first = made.run(widened_use()), rest = made.also(20, "splitKreduce_kernel");
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_TRUE(is_widened(split.works[first]));
  EXPECT_TRUE(is_widened(split.works[rest]));
  EXPECT_NEAR(split.works[first].target_ns + split.works[rest].target_ns, kNarrowNs / 0.8, 0.02 * kNarrowNs);
}

// Arithmetic takes longer than reading the weight in either type.
TEST(WidenedWeights, AreRightForManyRows) {
  for (const double rows : {512.0, 8192.0}) {
    const std::string count = std::to_string(static_cast<int>(rows));
    Works made;
    made.run(converted_weight());
    made.run(scaled_weight());
    made.run(widened_product("bf16[" + count + ",4096] bf16[4096,8192]{1,4096}", rows));
    made.end_step();
    EXPECT_FALSE(has_widened(made)) << rows;
  }
}

// Pictures in bytes before a narrow layer: they are what passes through it.
TEST(WidenedWeights, BytesThatPassThroughALayerAreNone) {
  Works made;
  made.run(converted_weight());
  made.run({.kind = "aten::mm",
            .op_class = OperatorClass::kMatrix,
            .inputs = "bf16[8192,4096] bf16[4096,16]",
            .flops = 2 * kWeight * 16,
            .bytes = 2 * kWeight,
            .us = 20});
  made.run(widened_product("bf16[16,8192] bf16[8192,4096]", 16));  // of the backward: they are read once more
  made.end_step();
  EXPECT_FALSE(has_widened(made));
}

// A batch of 64 pictures before a layer of 64 outputs: either factor is as large as the bytes.
TEST(WidenedWeights, BytesOfABatchAsLargeAsItsLayerAreNone) {
  Works made;
  made.run(converted_weight("bf16[64,524288] u8[64,524288] =False"));
  made.run(widened_product("bf16[64,524288] bf16[524288,64]{1,524288}", 64));
  made.end_step();
  EXPECT_FALSE(has_widened(made));
}

// Activations that are kept in 8 bits, read for the gradient of a narrow weight.
TEST(WidenedWeights, ActivationsOfTheBackwardPassAreNone) {
  Works made;
  WorkWords conversion = converted_weight(),
            gradient = widened_product("bf16[16,8192]{1,16} bf16[8192,4096]", 16);
  conversion.phase = gradient.phase = trace::Phase::kBackward;
  made.run(conversion);
  made.run(gradient);
  made.end_step();
  EXPECT_FALSE(has_widened(made));
}

TEST(WidenedWeights, MasksAndWiderTypesAreNone) {
  for (const char* inputs :
       {"bf16[8192,4096] bool[8192,4096] =False", "bf16[8192,4096] f32[8192,4096] =False",
        "bf16[8192,4096] i32[8192,4096] =False", "i32[8192,4096] i8[8192,4096] =False"}) {
    Works made;
    made.run(converted_weight(inputs));
    made.run(scaled_weight());
    made.run(widened_use());
    made.end_step();
    EXPECT_FALSE(has_widened(made)) << inputs;
  }
}

TEST(WidenedWeights, WhatAnythingElseChangesIsNone) {
  for (const WorkWords& other : {widening_pass("aten::relu", "bf16[8192,4096]"),
                                 widening_pass("aten::mul", "bf16[8192,4096] bf16[8192,4096]"),
                                 widening_pass("aten::add", "bf16[8192,4096] bf16[8192,4096] =1")}) {
    Works made;
    made.run(converted_weight());
    made.run(other);
    made.run(widened_use());
    made.end_step();
    EXPECT_FALSE(has_widened(made)) << other.kind;
  }
}

TEST(WidenedWeights, ProductsOfOtherSizesAndOfTheNextStepReadOthers) {
  Works other;
  other.run(converted_weight("bf16[4096,4096] i8[4096,4096] =False"));
  other.run(widened_use());
  other.end_step();
  EXPECT_FALSE(has_widened(other));
  Works next;
  next.run(converted_weight());
  next.end_step();
  next.run(widened_use());
  next.end_step();
  EXPECT_FALSE(has_widened(next));
}

}  // namespace
}  // namespace hone::analyze::device
