#include "core/einsum.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Result<Einsum> parse(std::string_view equation, std::vector<int64_t> ranks) {
  return parse_einsum(equation, ranks);
}

TEST(Einsum, ReadsExplicitAndImplicitOutputs) {
  auto product = parse("ij, jk -> ik", {2, 2});
  ASSERT_TRUE(product.ok());
  EXPECT_EQ(product->output, (EinsumLabels{'i', 'k'}));
  EXPECT_EQ(product->summed, EinsumLabels{'j'});
  auto implicit = parse("ba", {2});
  ASSERT_TRUE(implicit.ok());
  EXPECT_EQ(implicit->output, (EinsumLabels{'a', 'b'}));
}

TEST(Einsum, EllipsisStandsForTheRestAndBroadcastsFromTheRight) {
  auto e = parse("...ij,...jk->...ik", {4, 3});
  ASSERT_TRUE(e.ok());
  EXPECT_EQ(e->operands[0], (EinsumLabels{-2, -1, 'i', 'j'}));
  EXPECT_EQ(e->operands[1], (EinsumLabels{-1, 'j', 'k'}));
  EXPECT_EQ(e->output, (EinsumLabels{-2, -1, 'i', 'k'}));
}

TEST(Einsum, DiagonalsAndScalarsParse) {
  EXPECT_EQ(parse("ii->i", {2})->output, EinsumLabels{'i'});
  EXPECT_TRUE(parse("i,i->", {1, 1})->output.empty());
  EXPECT_TRUE(parse(",->", {0, 0}).ok());
}

TEST(Einsum, BrokenEquationsAreErrors) {
  EXPECT_FALSE(parse("ij,jk->ik", {2}).ok());
  EXPECT_FALSE(parse("ij->ik", {2}).ok());
  EXPECT_FALSE(parse("ij->ii", {2}).ok());
  EXPECT_FALSE(parse("i.j", {2}).ok());
  EXPECT_FALSE(parse("i......j", {2}).ok());
  EXPECT_FALSE(parse("ij", {3}).ok());
  EXPECT_FALSE(parse("i->j->i", {1}).ok());
}

}  // namespace
}  // namespace hone
