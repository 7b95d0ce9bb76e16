#include "data/order.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::data {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> order_of(uint64_t seed, int64_t epoch, int64_t size) {
  const Permutation permutation(seed, size);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < size; ++i) order.push_back(permutation.at(epoch, i));
  return order;
}

BatchOrder must_make(int64_t samples, const OrderOptions& options) {
  auto order = BatchOrder::make(samples, options);
  EXPECT_TRUE(order.ok()) << order.error().message;
  return *order;
}

TEST(Order, EveryEpochHoldsEverySampleOnce) {
  for (const int64_t size : {1, 2, 3, 15, 16, 17, 255, 256, 257, 1000, 4097}) {
    std::vector<int64_t> order = order_of(7, 3, size);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all) << size;
  }
}

TEST(Order, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(order_of(1, 0, 100), order_of(1, 0, 100));
  EXPECT_NE(order_of(1, 0, 100), order_of(1, 1, 100));
  EXPECT_NE(order_of(1, 0, 100), order_of(2, 0, 100));
}

// Over many epochs each sample stands at each place equally often, and so does each successor of a sample.
TEST(Order, PlacesAndNeighboursAreUniform) {
  constexpr int64_t kSize = 10, kEpochs = 4000;
  std::vector<int> at(kSize * kSize), next(kSize * kSize);
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> order = order_of(5, epoch, kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      ++at[i * kSize + static_cast<std::size_t>(order[i])];
      if (i + 1 < kSize) ++next[static_cast<std::size_t>(order[i] * kSize + order[i + 1])];
    }
  }
  const auto chi_square = [](const std::vector<int>& counts, double expected, bool diagonal) {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (diagonal || i / kSize != i % kSize)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
  };
  EXPECT_LT(chi_square(at, kEpochs / double{kSize}, true), 150);  // 81 degrees of freedom: 81 ± 13
  EXPECT_LT(chi_square(next, kEpochs * 9 / double{kSize * (kSize - 1)}, false), 150);  // about as many
}

TEST(Order, ShortBatchesAreLeftOutOrGiven) {
  EXPECT_EQ(must_make(10, {.batch_size = 4}).batches_per_epoch(), 2);
  const BatchOrder kept = must_make(10, {.batch_size = 4, .keep_short = true});
  EXPECT_EQ(kept.batches_per_epoch(), 3);
  EXPECT_EQ(kept.samples_at({0, 2}).size(), 2u);
  std::set<int64_t> all;
  for (int64_t b = 0; b < 3; ++b)
    for (const int64_t sample : kept.samples_at({0, b})) all.insert(sample);
  EXPECT_EQ(all.size(), 10u);
}

TEST(Order, WithoutShufflingSamplesComeInTheirOrder) {
  const BatchOrder order = must_make(6, {.batch_size = 3, .shuffle = false});
  EXPECT_EQ(order.samples_at({4, 1}), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(order.after({4, 1}), (Place{5, 0}));
  EXPECT_EQ(order.after({4, 0}), (Place{4, 1}));
}

TEST(Order, RanksTogetherTakeTheBatchOfOne) {
  const BatchOrder one = must_make(50, {.batch_size = 12});
  for (int64_t b = 0; b < one.batches_per_epoch(); ++b) {
    std::vector<int64_t> joined;
    for (int64_t rank = 0; rank < 3; ++rank) {
      const BatchOrder part = must_make(50, {.batch_size = 4, .rank = rank, .ranks = 3});
      EXPECT_EQ(part.batches_per_epoch(), one.batches_per_epoch());
      for (const int64_t sample : part.samples_at({1, b})) joined.push_back(sample);
    }
    EXPECT_EQ(joined, one.samples_at({1, b}));
  }
}

TEST(Order, EveryRankHasAsManySamplesAlsoOfAShortBatch) {
  for (const int64_t samples : {1, 5, 13, 14, 24, 25}) {
    std::set<int64_t> all;
    std::set<std::vector<std::size_t>> sizes;
    for (int64_t rank = 0; rank < 3; ++rank) {
      const BatchOrder part =
          must_make(samples, {.batch_size = 4, .keep_short = true, .rank = rank, .ranks = 3});
      std::vector<std::size_t> mine;
      for (int64_t b = 0; b < part.batches_per_epoch(); ++b) {
        const auto batch = part.samples_at({0, b});
        mine.push_back(batch.size());
        EXPECT_GE(batch.size(), 1u);
        all.insert(batch.begin(), batch.end());
      }
      sizes.insert(mine);
    }
    EXPECT_EQ(sizes.size(), 1u) << samples;
    EXPECT_EQ(all.size(), static_cast<std::size_t>(samples));
  }
}

TEST(Order, ImpossibleOptionsSayWhatToDo) {
  EXPECT_THAT(BatchOrder::make(3, {.batch_size = 8}).error().message,
              HasSubstr("3 samples, too few for one batch of 8"));
  EXPECT_THAT(BatchOrder::make(10, {.batch_size = 4, .ranks = 3}).error().message,
              HasSubstr("each of 3 ranks"));
  EXPECT_FALSE(BatchOrder::make(0, {}).ok());
  EXPECT_FALSE(BatchOrder::make(10, {.batch_size = 0}).ok());
  EXPECT_FALSE(BatchOrder::make(10, {.rank = 2, .ranks = 2}).ok());
}

}  // namespace
}  // namespace hone::data
