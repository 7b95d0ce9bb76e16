#include "core/window.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Result<Shape> place(Attributes attributes, Shape kernel, Shape input) {
  auto spec = read_windows(attributes, kernel);
  if (!spec.ok()) return spec.error();
  return place_windows(*spec, input);
}

TEST(Window, OutputExtentsFollowStridePaddingAndDilation) {
  EXPECT_EQ(*place({{"pads", Ints{1, 1, 1, 1}}}, {3, 3}, {5, 7}), (Shape{5, 7}));
  EXPECT_EQ(*place({{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}, {7, 7}, {224, 224}),
            (Shape{112, 112}));
  EXPECT_EQ(*place({{"dilations", Ints{2}}}, {3}, {7}), Shape{3});
}

TEST(Window, SamePaddingPutsTheOddElementWhereItIsTold) {
  Window upper{.kernel = 2};
  EXPECT_EQ(*place_window(upper, AutoPad::kSameUpper, false, 4), 4);
  EXPECT_EQ(upper.pad_begin, 0);
  EXPECT_EQ(upper.pad_end, 1);
  Window lower{.kernel = 2};
  EXPECT_EQ(*place_window(lower, AutoPad::kSameLower, false, 4), 4);
  EXPECT_EQ(lower.pad_begin, 1);
  EXPECT_EQ(lower.pad_end, 0);
}

TEST(Window, CeilModeNeverStartsAWindowInTheEndPadding) {
  Window window{.kernel = 3, .stride = 2};
  EXPECT_EQ(*place_window(window, AutoPad::kNotSet, true, 4), 2);
  Window padded{.kernel = 1, .stride = 2, .pad_begin = 0, .pad_end = 1};
  EXPECT_EQ(*place_window(padded, AutoPad::kNotSet, true, 2), 1);
}

TEST(Window, TransposedConvolutionHonoursOutputShapeAndPadding) {
  Attributes attributes{
      {"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}, {"output_padding", Ints{1, 1}}};
  auto spec = read_windows(attributes, Shape{3, 3});
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(*place_transposed_windows(*spec, attributes, Shape{3, 3}), (Shape{10, 8}));
  EXPECT_EQ(spec->axes[0].pad_begin, 0);
  Attributes padded{{"strides", Ints{3, 2}}, {"pads", Ints{1, 2, 1, 2}}};
  auto other = read_windows(padded, Shape{3, 3});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(*place_transposed_windows(*other, padded, Shape{3, 3}), (Shape{7, 3}));
}

TEST(Window, HostileAttributesAreErrors) {
  EXPECT_FALSE(place({{"strides", Ints{0, 1}}}, {3, 3}, {5, 5}).ok());
  EXPECT_FALSE(place({{"pads", Ints{-1, 0, 0, 0}}}, {3, 3}, {5, 5}).ok());
  EXPECT_FALSE(place({{"pads", Ints{0, 0}}}, {3, 3}, {5, 5}).ok());
  EXPECT_FALSE(place({{"kernel_shape", Ints{2, 2}}}, {3, 3}, {5, 5}).ok());
  EXPECT_FALSE(place({{"auto_pad", std::string("UP")}}, {3}, {5}).ok());
  EXPECT_FALSE(place({{"dilations", Ints{int64_t{1} << 62}}}, {3}, {5}).ok());
  EXPECT_FALSE(place({}, {9}, {5}).ok());
  EXPECT_FALSE(place({}, {}, {5}).ok());
}

}  // namespace
}  // namespace hone
