#include "analyze/device/busy/repeated_heads.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;
using trace::OperatorClass;

// 4 heads of keys, each written out for 4 heads of queries.
WorkWords repeated(std::string inputs) {
  return {.kind = "aten::copy_",
          .op_class = OperatorClass::kMovement,
          .inputs = std::move(inputs),
          .bytes = 8e6,
          .written = 32e6,
          .avoidable = 40e6,
          .us = 50,
          .kernel = "direct_copy_kernel_cuda"};
}

const std::string kKeys = "bf16[16,4,4,1024,64] bf16[16,4,4,1024,64]{262144,64,0,256,1} =False";

WorkWords attention() {
  const std::string operand = "bf16[16,16,1024,64]";
  return {.kind = "aten::_flash_attention_forward",
          .op_class = OperatorClass::kMatrix,
          .inputs = operand + " " + operand + " " + operand,
          .flops = 7e10,
          .us = 200};
}

TEST(RepeatedHeads, AreThoseThatAttentionReads) {
  Works made;
  const uint32_t keys = made.run(repeated(kKeys));
  made.run(attention());
  made.end_step();
  const WorkSplit split = made.split().works[keys];
  EXPECT_EQ(split.rule, Rule::kRepeatedHeads);
  EXPECT_EQ(split.cause(), Cause::kAvoidableTraffic);
  EXPECT_EQ(split.of(Cause::kAvoidableTraffic), 1);
  EXPECT_EQ(split.target_ns, kGone);
}

TEST(RepeatedHeads, MayBeReadByTheProductsOfAttentionWrittenByHand) {
  Works made;
  const uint32_t keys = made.run(repeated(kKeys));
  made.run({.kind = "aten::bmm",
            .op_class = OperatorClass::kMatrix,
            .inputs = "bf16[256,1024,64] bf16[256,64,1024]{65536,1,64}",
            .flops = 3e10,
            .us = 100});
  made.run({.kind = "aten::_softmax",
            .op_class = OperatorClass::kReduction,
            .inputs = "bf16[16,16,1024,1024] =-1 =False",
            .bytes = 5e8,
            .written = 5e8,
            .us = 300});
  made.end_step();
  EXPECT_EQ(made.split().works[keys].rule, Rule::kRepeatedHeads);
}

TEST(RepeatedHeads, AreNoneWhereAttentionReadsOtherTensorsOrNothingDoes) {
  Works other;
  const uint32_t size =
      other.run(repeated("bf16[16,4,2,1024,64] bf16[16,4,2,1024,64]{262144,64,0,256,1} =False"));
  const uint32_t rank = other.run(repeated("bf16[262144,64] bf16[262144,64]{0,1} =False"));
  other.run(attention());
  other.end_step();
  Works alone;
  const uint32_t nobody = alone.run(repeated(kKeys));
  alone.end_step();
  for (const WorkSplit& split :
       {other.split().works[size], other.split().works[rank], alone.split().works[nobody]}) {
    EXPECT_EQ(split.rule, Rule::kWrittenBroadcasts);
    EXPECT_EQ(split.cause(), Cause::kAvoidableTraffic);
  }
}

// The chain around it is joined as if it were not there.
TEST(RepeatedHeads, AreNoLinkOfAChain) {
  Works made;
  const WorkWords pass = {
      .inputs = "bf16[16,4,4,1024,64] bf16[16,4,4,1024,64]", .bytes = 6e7, .written = 3e7, .us = 30};
  const uint32_t first = made.run(pass), copy = made.run(repeated(kKeys)), last = made.run(pass);
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_EQ(split.works[copy].rule, Rule::kWrittenBroadcasts);
  EXPECT_EQ(
      (split.works[first].rule == Rule::kUnfusedChain) + (split.works[last].rule == Rule::kUnfusedChain), 1);
}

}  // namespace
}  // namespace hone::analyze::device
