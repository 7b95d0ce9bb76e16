#include "trace/link/period.h"

#include <random>

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

using Symbols = std::vector<uint32_t>;

void append(Symbols& symbols, std::initializer_list<uint32_t> more) {
  symbols.insert(symbols.end(), more.begin(), more.end());
}

// 3 symbols, `layers` times 10, 4 more
Symbols model(int steps, int layers) {
  Symbols symbols;
  for (int step = 0; step < steps; ++step) {
    append(symbols, {100, 101, 102});
    for (int layer = 0; layer < layers; ++layer)
      for (uint32_t i = 0; i < 10; ++i) symbols.push_back(i % 7);
    append(symbols, {103, 104, 105, 106});
  }
  return symbols;
}

TEST(Period, IsTheStepNotTheLayer) {
  for (int steps : {2, 3, 10})
    for (int layers : {1, 2, 12, 96}) {
      const Period period = find_period(model(steps, layers));
      ASSERT_TRUE(period.found()) << steps << " steps of " << layers << " layers";
      EXPECT_DOUBLE_EQ(period.length, 7 + 10 * layers);
      EXPECT_EQ(period.anchors.size(), static_cast<std::size_t>(steps));
    }
}

TEST(Period, OfSmallStepsIsFoundToo) {
  const Period one = find_period(Symbols{5, 5, 5});
  EXPECT_EQ(one.length, 1);
  EXPECT_EQ(one.anchors.size(), 3u);
  EXPECT_EQ(find_period(Symbols{1, 2, 1, 2, 1, 2, 1, 2}).length, 2);
}

TEST(Period, ToleratesStepsThatVaryALittle) {
  std::mt19937 random(1);
  Symbols symbols;
  for (int step = 0; step < 12; ++step)
    for (uint32_t symbol : model(1, 12)) {
      if (random() % 100 == 0) continue;                     // lost
      symbols.push_back(random() % 100 == 0 ? 77 : symbol);  // another kernel chosen
    }
  const Period period = find_period(symbols);
  ASSERT_TRUE(period.found());
  EXPECT_NEAR(period.length, 127, 3);
}

TEST(Period, ToleratesAStepWithSomethingLongInIt) {
  Symbols symbols = model(6, 4);
  const Symbols more = model(5, 4);
  for (uint32_t i = 0; i < 90; ++i) symbols.push_back(1000 + i);
  symbols.insert(symbols.end(), more.begin(), more.end());
  EXPECT_DOUBLE_EQ(find_period(symbols).length, 47);
}

TEST(Period, OfWhatDoesNotRepeatIsNone) {
  EXPECT_FALSE(find_period({}).found());
  EXPECT_FALSE(find_period(Symbols{1}).found());
  Symbols different(100);
  for (uint32_t i = 0; i < 100; ++i) different[i] = i;
  EXPECT_FALSE(find_period(different).found());
}

}  // namespace
}  // namespace hone::trace::link
