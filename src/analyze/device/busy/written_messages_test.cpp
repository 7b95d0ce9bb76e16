// Graph networks operator by operator: rows looked up for every edge, scaled, and added up.
#include "analyze/device/busy/written_messages.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

constexpr double kEdges = 8000, kNodes = 1000, kWidth = 64;

WorkWords lookup() {
  return {.kind = "aten::index_select",
          .op_class = trace::OperatorClass::kMovement,
          .dtype = DType::kF32,
          .inputs = "f32[1000,64] =0 i64[8000]",
          .bytes = 4 * kEdges * kWidth,
          .written = 4 * kEdges * kWidth,
          .us = 60,
          .kernel = "vectorized_gather_kernel"};
}

WorkWords scaling() {
  return {.dtype = DType::kF32,
          .inputs = "f32[8000,64] f32[8000,1]",
          .bytes = 4 * kEdges * kWidth,
          .written = 4 * kEdges * kWidth,
          .us = 80};
}

WorkWords filling() {
  return {.kind = "aten::fill_", .dtype = DType::kF32, .inputs = "f32[1000,64] =0", .us = 3};
}

WorkWords sum(std::string inputs = "f32[1000,64] =0 i64[8000] f32[8000,64] =1") {
  return {.kind = "aten::index_add_",
          .op_class = trace::OperatorClass::kMovement,
          .dtype = DType::kF32,
          .inputs = std::move(inputs),
          .flops = kEdges * kWidth,
          .bytes = 4 * (kEdges + kNodes) * kWidth,
          .written = 4 * kNodes * kWidth,
          .us = 100,
          .kernel = "void at::native::indexFuncLargeIndex<float, long>"};
}

TEST(WrittenMessages, AreRowsLookedUpAndScaledForASum) {
  Works works;
  const uint32_t first = works.run(lookup()), second = works.run(scaling());
  works.run(filling());
  const uint32_t last = works.run(sum());
  works.end_step();
  const BusySplit split = works.split();
  for (const uint32_t work : {first, second}) {
    EXPECT_EQ(split.works[work].rule, Rule::kWrittenMessages);
    EXPECT_EQ(split.works[work].target_ns, kGone);
    EXPECT_EQ(split.works[work].of(Cause::kAvoidableTraffic), 1);
  }
  EXPECT_NE(split.works[last].rule, Rule::kWrittenMessages) << "it stays, and takes as long";
}

TEST(WrittenMessages, NeedNoScaling) {
  Works works;
  const uint32_t first = works.run(lookup());
  works.run(sum());
  works.end_step();
  EXPECT_EQ(works.split().works[first].rule, Rule::kWrittenMessages);
}

TEST(WrittenMessages, AreNotRowsThatAProductReads) {
  Works works;
  const uint32_t first = works.run(lookup());
  works.run({.kind = "aten::mm",
             .op_class = trace::OperatorClass::kMatrix,
             .inputs = "f32[8000,64] f32[64,64]",
             .flops = 2 * kEdges * kWidth * kWidth,
             .bytes = 4 * kEdges * kWidth,
             .written = 4 * kEdges * kWidth});
  works.run(sum());
  works.end_step();
  EXPECT_NE(works.split().works[first].rule, Rule::kWrittenMessages);
}

TEST(WrittenMessages, AreNotOfSumsOverOtherRows) {
  Works works;
  const uint32_t first = works.run(lookup());
  works.run(sum("f32[1000,64] =0 i64[4000] f32[4000,64] =1"));
  works.end_step();
  EXPECT_NE(works.split().works[first].rule, Rule::kWrittenMessages);
}

TEST(WrittenMessages, AreNotWhatIsAddedToMoreRows) {
  Works works;
  const uint32_t first = works.run(lookup());
  works.run(sum("f32[9000,64] =0 i64[8000] f32[8000,64] =1"));
  works.end_step();
  EXPECT_NE(works.split().works[first].rule, Rule::kWrittenMessages);
}

}  // namespace
}  // namespace hone::analyze::device
