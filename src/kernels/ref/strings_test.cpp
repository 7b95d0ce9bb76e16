#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

using Words = std::vector<std::string>;

Tensor words(Words list) {
  const auto count = static_cast<int64_t>(list.size());
  return Tensor::of_strings({count}, std::move(list));
}

Words normalized(Words list, const Attributes& attributes) {
  auto outputs = run("StringNormalizer", {words(std::move(list))}, attributes);
  if (!outputs.ok()) return {"error: " + outputs.error().message};
  return (*outputs)[0].strings();
}

TEST(StringNormalizer, ChangesTheCaseOfAllLetters) {
  const Words mixed{"Straße", "ÉCOLE école", "Ωμέγα", "Москва 7", "日本", ""};
  EXPECT_EQ(normalized(mixed, {{"case_change_action", "UPPER"}}),
            (Words{"STRAßE", "ÉCOLE ÉCOLE", "ΩΜΈΓΑ", "МОСКВА 7", "日本", ""}));
  EXPECT_EQ(normalized(mixed, {{"case_change_action", "LOWER"}}),
            (Words{"straße", "école école", "ωμέγα", "москва 7", "日本", ""}));
  EXPECT_EQ(normalized(mixed, {}), mixed);
}

TEST(StringNormalizer, RemovesStopWordsBeforeItChangesCase) {
  const Words days{"Monday", "monday", "MONDAY", "tuesday"};
  const Strings stop{"monday"};
  EXPECT_EQ(normalized(days, {{"stopwords", stop}}), Words{"tuesday"});
  EXPECT_EQ(normalized(days, {{"stopwords", stop}, {"is_case_sensitive", int64_t{1}}}),
            (Words{"Monday", "MONDAY", "tuesday"}));
  EXPECT_EQ(
      normalized(days,
                 {{"stopwords", stop}, {"is_case_sensitive", int64_t{1}}, {"case_change_action", "LOWER"}}),
      (Words{"monday", "monday", "tuesday"}));
  EXPECT_EQ(normalized({"ÄRGER", "x"}, {{"stopwords", Strings{"ärger"}}}), Words{"x"});
}

TEST(StringNormalizer, LeavesOneEmptyStringOfNothing) {
  const Attributes all{{"stopwords", Strings{"a"}}};
  auto row = run("StringNormalizer", {Tensor::of_strings({1, 2}, {"a", "A"})}, all);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ((*row)[0].shape(), (Shape{1, 1}));
  EXPECT_EQ((*row)[0].strings(), Words{""});
  EXPECT_EQ(normalized({}, {}), Words{""});
}

TEST(StringNormalizer, RefusesOtherShapesAndBytesThatAreNoText) {
  EXPECT_TRUE(fails("StringNormalizer", {Tensor::of_strings({2, 1}, {"a", "b"})}));
  EXPECT_TRUE(fails("StringNormalizer", {Tensor::of_strings({}, {"a"})}));
  EXPECT_TRUE(fails("StringNormalizer", {floats({1}, {1})}));
  const Attributes upper{{"case_change_action", "UPPER"}};
  for (const char* bytes :
       {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "a\x80"})
    EXPECT_TRUE(fails("StringNormalizer", {words({bytes})}, upper)) << bytes;
}

}  // namespace
}  // namespace hone::kernels::ref
