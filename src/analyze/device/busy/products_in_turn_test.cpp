#include "analyze/device/busy/products_in_turn.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

// 12 µs at the roof of 777 TFLOP/s.
WorkWords product_in_turn(std::string inputs = "bf16[1024,4096] bf16[4096,1024]") {
  return {.kind = "aten::mm",
          .op_class = trace::OperatorClass::kMatrix,
          .inputs = std::move(inputs),
          .flops = 12e-6 * 777.2e12,
          .us = 18};
}

// A loop of products, each of so many blocks, and something after it.
Works in_turn(const WorkWords& turn, uint32_t blocks, int turns = 16) {
  Works made;
  for (int i = 0; i < turns; ++i) {
    made.run(turn);
    made.give_blocks(blocks);
  }
  made.run({.us = 5});
  made.end_step();
  return made;
}

bool is_marked(const BusySplit& split) { return split.works[0].rule == Rule::kProductsInTurn; }

TEST(ProductsInTurn, AreOneBatchedProduct) {
  const BusySplit split = in_turn(product_in_turn(), 128).split();
  ASSERT_TRUE(is_marked(split));
  EXPECT_EQ(split.works[0].cause(), Cause::kKernelInefficiency);
  EXPECT_NEAR(split.works[0].target_ns, 16 * 12'000 / 0.85, 16 * 150);
  EXPECT_NEAR(split.works[0].of(Cause::kFloor), 12.0 / 18, 0.01);
  for (int i = 1; i < 16; ++i) EXPECT_EQ(split.works[i].target_ns, kGone);
}

TEST(ProductsInTurn, ThatFillTheDeviceMoreThanOnceStay) {
  EXPECT_FALSE(is_marked(in_turn(product_in_turn(), 133).split()));
}

TEST(ProductsInTurn, OfWhichOneMayFeedTheNextStay) {
  EXPECT_FALSE(is_marked(in_turn(product_in_turn("bf16[1024,2048] bf16[2048,2048]"), 128).split()));
}

TEST(ProductsInTurn, OfAChainOfTwoFactorsStay) {
  Works made;
  for (int turn = 0; turn < 16; ++turn)
    for (const char* factors : {"bf16[1024,4096] bf16[4096,512]", "bf16[1024,512] bf16[512,1024]"}) {
      made.run(product_in_turn(factors));
      made.give_blocks(128);
    }
  made.run({.us = 5});
  made.end_step();
  EXPECT_FALSE(is_marked(made.split()));
}

TEST(ProductsInTurn, ThatAreFewOrAsFastAsBatchedOnesStay) {
  EXPECT_FALSE(is_marked(in_turn(product_in_turn(), 128, 8).split()));
  WorkWords fast = product_in_turn();
  fast.us = 13;
  EXPECT_FALSE(is_marked(in_turn(fast, 128).split()));
}

}  // namespace
}  // namespace hone::analyze::device
