// Storage of each layout at channel counts that do and do not fill a block.
#include "core/layout.h"

#include <gtest/gtest.h>

#include "core/shape.h"

namespace hone {
namespace {

TEST(Layout, PadsChannelsToTheBlock) {
  const Shape shape = {2, 17, 5, 3};
  EXPECT_EQ(storage_elements(shape, Layout::kPlain), 2 * 17 * 15);
  EXPECT_EQ(storage_elements(shape, Layout::kChannelsLast), 2 * 17 * 15);
  EXPECT_EQ(storage_elements(shape, Layout::kBlocked8), 2 * 24 * 15);
  EXPECT_EQ(storage_elements(shape, Layout::kBlocked16), 2 * 32 * 15);
  EXPECT_EQ(storage_elements(Shape{1, 16, 1}, Layout::kBlocked16), 16);
}

TEST(Layout, ShapesWithoutChannelsAreNotPadded) {
  EXPECT_EQ(storage_elements(Shape{5}, Layout::kBlocked16), 5);
  EXPECT_EQ(storage_elements(Shape{}, Layout::kBlocked8), 1);
}

TEST(Layout, HasNames) {
  EXPECT_EQ(layout_name(Layout::kPlain), "plain");
  EXPECT_EQ(layout_name(Layout::kBlocked16), "blocked16");
}

}  // namespace
}  // namespace hone
