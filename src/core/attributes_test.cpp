// Attributes: defaults where a name is absent or of another type, and bitwise comparison.
#include "core/attributes.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::ElementsAre;

TEST(Attributes, GiveTheValueOrTheDefault) {
  const Attributes attributes{{"axis", int64_t{-1}},           {"alpha", 0.5f},
                              {"mode", std::string("linear")}, {"pads", Ints{1, 2}},
                              {"scales", Floats{2.0f}},        {"names", Strings{"a"}},
                              {"value", Tensor::scalar_i64(7)}};
  EXPECT_EQ(attributes.integer("axis", 3), -1);
  EXPECT_EQ(attributes.integer("other", 3), 3);
  EXPECT_EQ(attributes.integer("alpha", 3), 3);  // another type
  EXPECT_EQ(attributes.real("alpha", 0), 0.5f);
  EXPECT_EQ(attributes.text("mode", "nearest"), "linear");
  EXPECT_THAT(attributes.ints("pads"), ElementsAre(1, 2));
  EXPECT_THAT(attributes.ints("kernel", {3}), ElementsAre(3));
  EXPECT_THAT(attributes.reals("scales"), ElementsAre(2.0f));
  EXPECT_THAT(attributes.texts("names"), ElementsAre("a"));
  EXPECT_EQ(attributes.tensor("value").int_at(0), 7);
  EXPECT_FALSE(attributes.tensor("axis").defined());
}

TEST(Attributes, SetReplacesAndEraseForgets) {
  Attributes attributes;
  attributes.set("axis", int64_t{1}).set("axis", int64_t{2});
  EXPECT_EQ(attributes.integer("axis", 0), 2);
  attributes.erase("axis");
  attributes.erase("never there");
  EXPECT_TRUE(attributes.empty());
  EXPECT_EQ(attributes.find("axis"), nullptr);
}

TEST(Attributes, ComparisonLooksAtBits) {
  const Attributes nan{{"x", std::numeric_limits<float>::quiet_NaN()}};
  EXPECT_EQ(nan, nan);
  EXPECT_FALSE((Attributes{{"x", 0.0f}}) == (Attributes{{"x", -0.0f}}));
  EXPECT_FALSE((Attributes{{"x", int64_t{1}}}) == (Attributes{{"x", 1.0f}}));
  EXPECT_FALSE((Attributes{{"x", int64_t{1}}}) == (Attributes{{"y", int64_t{1}}}));
  EXPECT_FALSE((Attributes{{"x", int64_t{1}}}) == Attributes{});
  EXPECT_EQ((Attributes{{"x", Tensor::scalar_f32(1)}}), (Attributes{{"x", Tensor::scalar_f32(1)}}));
  EXPECT_FALSE((Attributes{{"x", Floats{1, 2}}}) == (Attributes{{"x", Floats{1}}}));
}

}  // namespace
}  // namespace hone
