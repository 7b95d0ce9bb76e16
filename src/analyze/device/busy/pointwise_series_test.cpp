#include "analyze/device/busy/pointwise_series.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

WorkWords turned() {
  return {.kind = "aten::copy_",
          .op_class = OperatorClass::kMovement,
          .inputs = "bf16[8,256,512] bf16[8,256,512]{131072,1,256}",
          .us = 40};
}

WorkWords series_convolution(std::string inputs = "bf16[8,256,1,512] bf16[128,256,1,1] =[0,0]") {
  return {.kind = "aten::cudnn_convolution",
          .op_class = OperatorClass::kConvolution,
          .inputs = std::move(inputs),
          .us = 30};
}

WorkWords bias(std::string inputs = "bf16[8,128,1,512] bf16[1,128,1,1] =1") {
  return {.kind = "aten::add_", .inputs = std::move(inputs), .us = 20};
}

WorkWords activation() { return {.kind = "aten::silu", .inputs = "bf16[8,128,1,512]", .us = 15}; }

void expect_marked(const WorkSplit& split) {
  EXPECT_EQ(split.cause(), Cause::kLayout);
  EXPECT_EQ(split.rule, Rule::kSeriesConvolutionOfSize1);
}

TEST(PointwiseSeries, AreReachedByCopiesAndAddTheirBiasesAlone) {
  Works made;
  const uint32_t before = made.run(turned()), product = made.run(series_convolution());
  const uint32_t sum = made.run(bias()), after = made.run(activation());
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {before, sum}) {
    expect_marked(split.works[work]);
    EXPECT_EQ(split.works[work].target_ns, kGone);
  }
  EXPECT_NE(split.works[product].rule, Rule::kSeriesConvolutionOfSize1);
  EXPECT_EQ(split.works[after].rule, Rule::kUnjudgedWork) << "the pass that stays of the chain";
}

TEST(PointwiseSeries, AreFollowedByPassesAgainstTheirOrder) {
  Works made;
  made.run(series_convolution());
  made.run(bias());
  const uint32_t residual = made.run({.kind = "aten::add",
                                      .inputs = "bf16[8,512,128] bf16[8,512,128]{65536,1,512}",
                                      .bytes = 4.2e6,
                                      .us = 40});
  made.end_step();
  const BusySplit split = made.split();
  expect_marked(split.works[residual]);
  EXPECT_GT(split.works[residual].target_ns, 0);
}

TEST(PointwiseSeries, KeepTheirBiasesBetweenConvolutionsOverTime) {
  for (const bool over_time : {false, true}) {
    Works made;
    made.run(series_convolution());
    const uint32_t sum = made.run(bias());
    made.run(activation());
    if (over_time) made.run(series_convolution("bf16[8,128,1,512] bf16[128,1,1,3] =[0,1]"));
    made.end_step();
    EXPECT_EQ(made.split().works[sum].rule == Rule::kSeriesConvolutionOfSize1, !over_time);
  }
}

TEST(PointwiseSeries, OtherConvolutionsAndOtherSumsAreNone) {
  for (const char* inputs : {"bf16[8,256,1,512] bf16[128,256,1,3] =[0,1]",  // over time
                             "bf16[8,256,16,32] bf16[128,256,1,1] =[0,0]",  // of images
                             "bf16[8,256,1,512]{131072,1,131072,256} bf16[128,256,1,1] =[0,0]",
                             "bf16[8,256,1,512] bf16[128,1,1,1] =[0,0]"}) {  // by channel
    Works made;
    made.run(series_convolution(inputs));
    const uint32_t sum = made.run(bias());
    made.end_step();
    EXPECT_NE(made.split().works[sum].cause(), Cause::kLayout) << inputs;
  }
  Works made;
  made.run(series_convolution());
  const uint32_t residual = made.run(bias("bf16[8,128,1,512] bf16[8,128,1,512] =1"));
  made.end_step();
  EXPECT_NE(made.split().works[residual].cause(), Cause::kLayout);
}

}  // namespace
}  // namespace hone::analyze::device
