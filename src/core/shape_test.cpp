// Shapes: counts at the edge of overflow, strides, broadcasting, axes.
#include "core/shape.h"

#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{3, 5, 7}), 105);
  EXPECT_EQ(element_count(Shape{3, 0, 7}), 0);
  EXPECT_EQ(*checked_element_count(Shape{2, 3}), 6);
  EXPECT_EQ(*checked_element_count(Shape{int64_t{1} << 62}), int64_t{1} << 62);
}

TEST(Shape, AllExtentsAreOneNumberOrNot) {
  EXPECT_TRUE(all_are(Shape{2, 2}, 2));
  EXPECT_FALSE(all_are(Shape{2, 1}, 2));
  EXPECT_TRUE(all_are(Shape{}, 2));
}

TEST(Shape, HostileExtentsAreErrors) {
  EXPECT_FALSE(checked_element_count(Shape{kHuge, 2}).ok());
  EXPECT_FALSE(checked_element_count(Shape{kHuge}).ok());
  EXPECT_FALSE(checked_element_count(Shape{int64_t{1} << 32, int64_t{1} << 32}).ok());
  EXPECT_FALSE(checked_element_count(Shape{0, kHuge, kHuge}).ok());
  const auto negative = checked_element_count(Shape{2, -3});
  ASSERT_FALSE(negative.ok());
  EXPECT_THAT(negative.error().message, HasSubstr("[2,-3]"));
  EXPECT_THROW(element_count(Shape{kHuge, kHuge}), std::length_error);
  EXPECT_THROW(element_count(Shape{-1}), std::invalid_argument);
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(row_major_strides(Shape{2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(row_major_strides(Shape{2, 0, 4}), (std::vector<int64_t>{4, 4, 1}));
  EXPECT_TRUE(row_major_strides(Shape{}).empty());
}

TEST(Shape, BroadcastsBothWays) {
  EXPECT_EQ(*broadcast_shapes(Shape{8, 1, 6, 1}, Shape{7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(*broadcast_shapes(Shape{}, Shape{2, 3}), (Shape{2, 3}));
  EXPECT_EQ(*broadcast_shapes(Shape{1}, Shape{0}), (Shape{0}));
  EXPECT_EQ(*broadcast_shapes(Shape{2, 0}, Shape{1, 1}), (Shape{2, 0}));
  const auto wrong = broadcast_shapes(Shape{2, 3}, Shape{4, 3});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("[2,3] and [4,3]"));
  EXPECT_FALSE(broadcast_shapes(Shape{0}, Shape{2}).ok());
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(*normalize_axis(-1, 4), 3);
  EXPECT_EQ(*normalize_axis(0, 1), 0);
  EXPECT_EQ(*normalize_axis(-4, 4), 0);
  EXPECT_FALSE(normalize_axis(4, 4).ok());
  EXPECT_FALSE(normalize_axis(-5, 4).ok());
  EXPECT_FALSE(normalize_axis(0, 0).ok());
  EXPECT_FALSE(normalize_axis(std::numeric_limits<int64_t>::min(), 4).ok());
}

TEST(Shape, RangesAreCounted) {
  EXPECT_EQ(*range_length(10, 4, -2), 3);
  EXPECT_EQ(*range_length(0, 1, 0.3), 4);
  EXPECT_EQ(*range_length(1, 1, 1), 0);
  EXPECT_EQ(*range_length(5, 1, 1), 0);
  EXPECT_THAT(range_length(0, 0x1p62, 1).error().message,
              HasSubstr("4.6e+18 elements, more than memory can hold"));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(range_length(0, infinity, 1).error().message, HasSubstr("never ends"));
  EXPECT_FALSE(range_length(0, std::numeric_limits<double>::quiet_NaN(), 1).ok());
}

TEST(Shape, ReadsAsText) {
  EXPECT_EQ(shape_text(Shape{1, 3, 256, 256}), "[1,3,256,256]");
  EXPECT_EQ(shape_text(Shape{}), "[]");
}

}  // namespace
}  // namespace hone
