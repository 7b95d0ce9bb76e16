#include "core/columns.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

std::vector<int64_t> columns_of(const Attributes& attributes, const Shape& block, const Shape& image) {
  auto spec = read_windows(attributes, block);
  const auto places = place_windows(*spec, image);
  std::vector<int64_t> elements;
  walk_columns(spec->axes, *places, image, [&](int64_t element) { elements.push_back(element); });
  return elements;
}

TEST(Columns, LieTapByTapAndPlaceByPlace) {
  EXPECT_EQ(columns_of({}, {2}, {4}), (std::vector<int64_t>{0, 1, 2, 1, 2, 3}));
  // 2 x 3, windows of 1 x 2.
  EXPECT_EQ(columns_of({}, {1, 2}, {2, 3}), (std::vector<int64_t>{0, 1, 3, 4, 1, 2, 4, 5}));
}

TEST(Columns, TapsInThePaddingAreNoElement) {
  EXPECT_EQ(columns_of({{"pads", Ints{1, 1}}, {"strides", Ints{2}}}, {3}, {3}),
            (std::vector<int64_t>{-1, 1, 0, 2, 1, -1}));
  EXPECT_EQ(columns_of({{"dilations", Ints{2, 1}}, {"pads", Ints{0, 0, 0, 1}}}, {2, 1}, {3, 1}),
            (std::vector<int64_t>{0, -1, 2, -1}));
}

TEST(Columns, WithoutPlacesThereAreNone) {
  const std::vector<Window> windows(1);
  walk_columns(windows, Shape{0}, Shape{3}, [](int64_t) { FAIL(); });
}

}  // namespace
}  // namespace hone
