#include "core/resize.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Resize, ScalesRoundExtentsDown) {
  auto plan = plan_resize({}, Shape{1, 4}, {}, std::vector<double>{1, 0.6F}, std::nullopt);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)[1].output, 2);
  EXPECT_TRUE((*plan)[0].identity());
}

TEST(Resize, AspectRatioPoliciesPickOneScale) {
  Attributes larger{{"axes", Ints{-2, -1}}, {"keep_aspect_ratio_policy", std::string("not_larger")}};
  auto plan = plan_resize(larger, Shape{1, 1, 2, 4}, {}, std::nullopt, Ints{7, 8});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)[2].output, 4);
  EXPECT_EQ((*plan)[3].output, 8);
  larger.set("keep_aspect_ratio_policy", std::string("not_smaller"));
  plan = plan_resize(larger, Shape{1, 1, 2, 4}, {}, std::nullopt, Ints{7, 8});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)[2].output, 7);
  EXPECT_EQ((*plan)[3].output, 14);
}

TEST(Resize, CoordinatesMapCentresOrCorners) {
  const ResizeAxis up{.input = 2, .output = 4, .scale = 2};
  EXPECT_DOUBLE_EQ(source_coordinate(up, ResizeCoordinates::kHalfPixel, 0), -0.25);
  EXPECT_DOUBLE_EQ(source_coordinate(up, ResizeCoordinates::kAlignCorners, 3), 1);
  EXPECT_DOUBLE_EQ(source_coordinate(up, ResizeCoordinates::kAsymmetric, 3), 1.5);
}

TEST(Resize, ImpossibleRequestsAreErrors) {
  EXPECT_FALSE(plan_resize({}, Shape{4}, {}, std::nullopt, std::nullopt).ok());
  EXPECT_FALSE(plan_resize({}, Shape{4}, {}, std::vector<double>{-1}, std::nullopt).ok());
  EXPECT_FALSE(plan_resize({}, Shape{4}, {}, std::vector<double>{1e300}, std::nullopt).ok());
  EXPECT_FALSE(plan_resize({}, Shape{4}, {}, std::nullopt, Ints{-1}).ok());
  EXPECT_FALSE(plan_resize({}, Shape{4}, {}, std::nullopt, Ints{1, 2}).ok());
  EXPECT_FALSE(plan_resize({}, Shape{0}, {}, std::nullopt, Ints{3}).ok());
}

}  // namespace
}  // namespace hone
