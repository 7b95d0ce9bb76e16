#include <gtest/gtest.h>

#include "graph/ops/infer_test.h"

namespace hone::graph {
namespace {

TensorType words(Dims dims) { return tensor_type(DType::kString, std::move(dims)); }

TEST(StringNormalizer, KeepsTheNumberOfWordsOnlyWhereNoneIsRemoved) {
  const std::string op = "StringNormalizer";
  const Attributes stop{{"stopwords", Strings{"a"}}};
  EXPECT_EQ(first_type(op, {words({4})}), "string[4]");
  EXPECT_EQ(first_type(op, {words({4})}, stop), "string[?]");
  EXPECT_EQ(first_type(op, {words({0})}), "string[?]");
  EXPECT_EQ(first_type(op, {words({1, 4})}), "string[1,4]");
  EXPECT_EQ(first_type(op, {words({1, Dim::symbol("n")})}), "string[1,?]");
  EXPECT_EQ(first_type(op, {unranked(DType::kString)}), "string[*]");
}

TEST(StringNormalizer, RefusesWhatItCannotNormalize) {
  const std::string op = "StringNormalizer";
  const auto refuses = [&](TensorType type, Attributes attributes = {}) {
    return first_type(op, {std::move(type)}, std::move(attributes)).starts_with("error");
  };
  EXPECT_TRUE(refuses(f32({4})));
  EXPECT_TRUE(refuses(words({2, 4})));
  EXPECT_TRUE(refuses(words({})));
  EXPECT_TRUE(refuses(words({4}), {{"case_change_action", "TITLE"}}));
  EXPECT_TRUE(refuses(words({4}), {{"locale", "tr_TR"}}));
  EXPECT_FALSE(refuses(words({4}), {{"locale", "en_US"}}));
}

}  // namespace
}  // namespace hone::graph
