#include "data/synthetic/digits.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace hone::data {
namespace {

TEST(Digits, AreTheSameForASeedAndAnIndex) {
  const auto digits = *make_digits({.samples = 40, .side = 16});
  const auto again = *make_digits({.samples = 40, .side = 16});
  const auto others = *make_digits({.samples = 40, .side = 16, .seed = 2});
  for (const int64_t index : {0, 7, 39}) {
    EXPECT_TRUE(same_tensor((*digits->read(index))[0], (*again->read(index))[0]));
    EXPECT_FALSE(same_tensor((*digits->read(index))[0], (*others->read(index))[0]));
  }
  EXPECT_FALSE(same_tensor((*digits->read(3))[0], (*digits->read(13))[0])) << "the same digit, drawn anew";
}

TEST(Digits, AreAllTenWithInkOnAnEmptyGround) {
  const auto digits = *make_digits({.samples = 10, .noise = 0});
  std::set<int64_t> seen;
  for (int64_t i = 0; i < digits->size(); ++i) {
    const Sample sample = *digits->read(i);
    EXPECT_EQ(sample[0].shape(), (Shape{1, 28, 28}));
    seen.insert(sample[1].int_at(0));
    const auto pixels = sample[0].as<float>();
    const auto inked = std::count_if(pixels.begin(), pixels.end(), [](float p) { return p > 0.5F; });
    EXPECT_GT(inked, 20) << i;
    EXPECT_LT(inked, 350) << i;
    for (int64_t x = 0; x < 28; ++x)
      EXPECT_EQ(pixels[static_cast<std::size_t>(x)], 0) << "nothing on the border";
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Digits, RefuseSizesThatMakeNone) {
  EXPECT_FALSE(make_digits({.samples = 0}).ok());
  EXPECT_FALSE(make_digits({.side = 3}).ok());
}

}  // namespace
}  // namespace hone::data
