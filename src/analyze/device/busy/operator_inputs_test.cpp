// What recorded inputs say of tensors, on shapes that programs have and on shapes that they should not have.
#include "analyze/device/busy/operator_inputs.h"

#include <string_view>

#include <gtest/gtest.h>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

Inputs inputs(std::string_view text) {
  auto parsed = trace::parse_call_inputs(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Inputs{};
}

trace::Operator named(std::string kind, trace::OperatorClass op_class = trace::OperatorClass::kMovement) {
  trace::Operator op;
  op.kind = std::move(kind);
  op.op_class = op_class;
  trace::Trace trace;
  trace.add_operator(op);
  return trace.operators.front();
}

bool mixed(std::string_view text) {
  const Inputs read = inputs(text);
  return mixes_orders(read, largest_tensor(read));
}

TEST(MixedOrders, AreTwoTensorsOfOneShapeWithOtherNeighbours) {
  EXPECT_TRUE(mixed("f32[8,64,256] f32[8,64,256]{16384,1,64}"));
  EXPECT_TRUE(mixed("f32[8,64,256]{16384,1,64} =2 f32[8,64,256]"));
  EXPECT_FALSE(mixed("f32[8,64,256] f32[8,64,256]"));
  EXPECT_FALSE(mixed("f32[8,64,256]{16384,1,64} f32[8,64,256]{16384,1,64}"));
}

TEST(MixedOrders, AreNotOfSlicesWhoseNeighboursAreTheSame) {
  EXPECT_FALSE(mixed("f32[8,64,256] f32[8,64,256]{32768,512,1}"));
}

TEST(MixedOrders, AreNotOfTensorsOfOtherShapes) {
  EXPECT_FALSE(mixed("f32[64,256] f32[256,64]{1,256}"));
  EXPECT_FALSE(mixed("f32[4,64,64] f32[64,64]{1,64}"));
}

TEST(MixedOrders, AreNotOfDimensionsOfOneElement) {
  EXPECT_FALSE(mixed("f32[256,1]{1,1} f32[256,1]{1,256}"));
  EXPECT_FALSE(mixed("f32[1,1] f32[1,1]{1,7}"));
  EXPECT_FALSE(mixed("f32[] f32[]"));
}

TEST(MixedOrders, AreOnlyOfTensorsThatAreLargeEnough) {
  const Inputs read = inputs("f32[64,64] f32[64,64]{1,64}");
  EXPECT_TRUE(mixes_orders(read, 64 * 64));
  EXPECT_FALSE(mixes_orders(read, 64 * 64 + 1));
}

// Its few elements stay in caches, in whatever order they are read.
TEST(MixedOrders, AreNotOfATensorThatIsRepeatedWithoutBeingStored) {
  EXPECT_FALSE(mixed("f32[64,256] f32[64,256]{0,0}"));
  EXPECT_FALSE(mixed("f32[64,256]{0,1} f32[64,256]"));
  EXPECT_FALSE(mixed("f32[64,256] f32[64,256]{1,0}"));
}

TEST(MixedOrders, AreNotReadOffLists) { EXPECT_FALSE(mixed("(f32[64,256] f32[64,256]{1,64})")); }

TEST(MixedOrders, NeedAStrideForEachDimension) {
  Inputs read = inputs("f32[64,256] f32[64,256]{1,64}");
  read[1].strides.pop_back();
  EXPECT_FALSE(mixes_orders(read, 1));
}

TEST(SquareMask, IsAsLongAsItIsWideAndTheSameForAll) {
  const std::string_view qkv = "bf16[2,8,512,64] bf16[2,8,512,64] bf16[2,8,512,64] ";
  auto reads = [&](std::string_view mask) {
    return reads_square_mask(inputs(std::string(qkv).append(mask)));
  };
  EXPECT_TRUE(reads("bf16[512,512]"));
  EXPECT_TRUE(reads("bool[1,1,512,512] =0"));
  EXPECT_TRUE(reads("- bf16[2,8,512,512]{0,0,512,1}"));
  EXPECT_FALSE(reads("-"));
  EXPECT_FALSE(reads("bf16[2,8,512,512]"));                  // one for each head: a bias of positions
  EXPECT_FALSE(reads("bf16[2,8,512,512]{0,262144,512,1}"));  // likewise
  EXPECT_FALSE(reads("bool[1,1,1,512]"));                    // what is padded
  EXPECT_FALSE(reads("bf16[256,256]"));                      // of other sequences
  EXPECT_FALSE(reads("bf16[512]"));
}

TEST(SquareMask, OfAShortSequenceDoesNotCount) {
  EXPECT_FALSE(reads_square_mask(inputs("bf16[2,8,64,32] bf16[2,8,64,32] bf16[2,8,64,32] bf16[64,64]")));
}

TEST(SquareMask, IsNoneOfTheOperands) {
  EXPECT_FALSE(reads_square_mask(inputs("bf16[512,512] bf16[512,512] bf16[512,512]")));
  EXPECT_FALSE(reads_square_mask(inputs("- - - bf16[512,512]")));
  EXPECT_FALSE(reads_square_mask({}));
}

TEST(Broadcast, TakesTheLargerOfEachDimensionFromTheLast) {
  EXPECT_EQ(broadcast_elements(inputs("f32[256,1] f32[1,512]")), 256 * 512);
  EXPECT_EQ(broadcast_elements(inputs("f32[7,1,5] f32[3,1]")), 7 * 3 * 5);
  EXPECT_EQ(broadcast_elements(inputs("f32[] f32[9] =2")), 9);
}

TEST(Broadcast, IsNothingWhereInputsDoNotFitOrAreNoTensors) {
  EXPECT_EQ(broadcast_elements(inputs("f32[3] f32[4]")), 0);
  EXPECT_EQ(broadcast_elements(inputs("=1 -")), 0);
  EXPECT_EQ(broadcast_elements(inputs("(f32[3] f32[3])")), 0);
  EXPECT_EQ(broadcast_elements({}), 0);
}

TEST(Broadcast, OfNoElementsHasNone) {
  EXPECT_EQ(broadcast_elements(inputs("f32[0,4] f32[1,4]")), 0);
  EXPECT_EQ(broadcast_elements(inputs("f32[1,4] f32[0,1]")), 0);
}

TEST(LargestTensor, IsFoundInListsToo) {
  EXPECT_EQ(largest_tensor(inputs("f32[3] (f32[2,2] - f32[5,5]) =1000")), 25);
  EXPECT_EQ(largest_tensor(inputs("f32[0,7] -")), 0);
  EXPECT_EQ(largest_tensor({}), 0);
}

TEST(OddSize, IsOfTheElementsThatLieNextToEachOther) {
  EXPECT_TRUE(has_odd_size(inputs("bf16[64,50257] bf16[50257,64]")));
  EXPECT_TRUE(has_odd_size(inputs("bf16[2,64,1001] bf16[2,1001,64]")));
  EXPECT_TRUE(has_odd_size(inputs("bf16[1001,64]{1,1001} bf16[1001,64]"))) << "read by columns";
  EXPECT_FALSE(has_odd_size(inputs("bf16[50257] bf16[1001,768] bf16[768,64]{1,768}")))
      << "a thousand and one rows, each of a good length";
  EXPECT_FALSE(has_odd_size(inputs("bf16[7,64,128]")));  // seven products, each of good sizes
  EXPECT_FALSE(has_odd_size(inputs("bf16[50257]")));     // a bias
  EXPECT_FALSE(has_odd_size(inputs("(bf16[64,50257])")));
}

TEST(OddSize, MayBeThatOfTheResult) {
  EXPECT_TRUE(has_odd_size(inputs("bf16[512,768] bf16[768,50257]{1,768}")));
  EXPECT_FALSE(has_odd_size(inputs("bf16[768,1001]{1,768} bf16[1001,512]"))) << "only the sum is over many";
}

TEST(OddSize, IsNoneWhereRowsArePaddedInMemory) {
  EXPECT_FALSE(has_odd_size(inputs("bf16[64,1001]{1008,1} bf16[1001,64]")));
  EXPECT_TRUE(has_odd_size(inputs("bf16[64,1000]{1001,1} bf16[1000,64]"))) << "a part of rows of odd length";
}

TEST(OddChannels, CountAndPositionsDoNot) {
  EXPECT_TRUE(has_odd_channels(inputs("bf16[8,63,14,14] bf16[64,63,3,3]")));
  EXPECT_TRUE(has_odd_channels(inputs("bf16[8,100,4096] bf16[64,100,5]")));
  EXPECT_FALSE(has_odd_channels(inputs("bf16[8,64,14,14] bf16[64,64,3,3]")));
  EXPECT_FALSE(has_odd_channels(inputs("bf16[8,3,225,225] bf16[64,3,7,7]")));  // the first layer's three
}

TEST(OddSize, OfAFewElementsDoesNotCount) {
  EXPECT_FALSE(has_odd_size(inputs("bf16[1,64] bf16[7,64] bf16[0,64]")));
  EXPECT_TRUE(has_odd_size(inputs("bf16[64,9] bf16[9,64]")));
}

TEST(Patches, AreFiltersThatTileTheImage) {
  EXPECT_TRUE(is_of_patches(inputs("f32[8,3,224,224] f32[768,3,16,16] - =[16,16]")));
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224] f32[768,3,16,16] - =[8,8]")));    // they overlap
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,225,224] f32[768,3,16,16] - =[16,16]")));  // a rest remains
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224] f32[768,1,16,16] - =[16,16]")));  // in groups
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224] f32[768,3,2,2] - =[2,2]")));
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224] f32[768,3,16] - =[16]")));
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224]")));
}

TEST(Patches, WithoutElementsAreNone) {
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224] f32[768,3,0,0] - =[0,0]")));
  // A filter without a width cannot tile anything; a trace that says so is damaged.
  EXPECT_FALSE(is_of_patches(inputs("f32[8,3,224,224] f32[768,3,16,0] - =[16,0]")));
}

TEST(Appended, IsTheShareOfWhatFollowsALargeFirstTensor) {
  EXPECT_NEAR(appended_share(named("aten::cat"), inputs("(f16[1000,1023] f16[1000,1]) =1")), 1.0 / 1024,
              1e-9);
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("(f16[1000,512] f16[1000,512]) =1")), 0);
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("(f16[100,99] f16[100,1]) =1")), 0);  // small
  EXPECT_EQ(appended_share(named("aten::stack"), inputs("(f16[1000,1023] f16[1000,1]) =1")), 0);
}

TEST(Appended, NeedsTwoTensorsWithElements) {
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("(f16[1000,1024])")), 0);
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("(f16[0] f16[1000,1024])")), 0);
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("(f16[0] f16[0])")), 0);
  EXPECT_EQ(appended_share(named("aten::cat"), inputs("f16[1000,1024] f16[1]")), 0);
  EXPECT_EQ(appended_share(named("aten::cat"), {}), 0);
}

TEST(Copies, OfOneTypeBetweenTwoOrdersChangeTheOrder) {
  EXPECT_TRUE(changes_order(named("aten::copy_"), inputs("f32[8,9] f32[8,9]{1,8}")));
  EXPECT_FALSE(changes_order(named("aten::copy_"), inputs("f32[8,9] f32[8,9]")));
  EXPECT_FALSE(changes_order(named("aten::copy_"), inputs("bf16[8,9] f32[8,9]{1,8}")));
  EXPECT_FALSE(changes_order(named("aten::copy_"), inputs("f32[8,9] f32[9]{2}")));
  EXPECT_FALSE(changes_order(named("aten::mul"), inputs("f32[8,9] f32[8,9]{1,8}")));
  EXPECT_TRUE(changes_order(named("x", trace::OperatorClass::kLayout), {}));
}

TEST(Copies, BetweenTwoTypesAreCasts) {
  EXPECT_TRUE(is_cast(named("aten::copy_"), inputs("bf16[8] f32[8]")));
  EXPECT_FALSE(is_cast(named("aten::copy_"), inputs("f32[8] f32[8]")));
  EXPECT_FALSE(is_cast(named("aten::copy_"), inputs("f32[8] =1")));
  EXPECT_FALSE(is_cast(named("aten::mul"), inputs("bf16[8] f32[8]")));
}

}  // namespace
}  // namespace hone::analyze::device
