#include "data/text/next_tokens.h"

#include <gtest/gtest.h>

#include "data/text/tokens.h"

namespace hone::data {
namespace {

TEST(NextTokens, GivesEachTokenTheOneThatFollows) {
  const auto set =
      *tokens_in_memory({10, 11, 12, 13, 14, 15, 16}, {.length = 3, .stride = 0, .vocabulary = 0}, "t");
  const auto shift = next_tokens();
  const auto fields = shift->fields(set->fields());
  ASSERT_TRUE(fields.ok()) << fields.error().message;
  EXPECT_EQ((*fields)[1].name, "next");
  EXPECT_EQ((*fields)[1].shape, (Shape{3}));
  Tensor tokens(DType::kI64, {3}), next(DType::kI64, {3});
  const TensorView out[] = {tokens.view(), next.view()};
  ASSERT_TRUE(shift->apply(*set->read(1), set->fields(), SampleRandom(1, 0, 1), out).ok());
  EXPECT_EQ(tokens.to_ints(), (std::vector<int64_t>{13, 14, 15}));
  EXPECT_EQ(next.to_ints(), (std::vector<int64_t>{14, 15, 16}));
}

TEST(NextTokens, RefusesOtherData) {
  const Field image[] = {{"image", DType::kF32, {1, 4, 4}}};
  EXPECT_FALSE(next_tokens()->fields(image).ok());
}

}  // namespace
}  // namespace hone::data
