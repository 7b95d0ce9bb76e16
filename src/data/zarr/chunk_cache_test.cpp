#include "data/zarr/chunk_cache.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/memory_budget.h"
#include "core/testing/source_folder.h"
#include "data/loader.h"
#include "data/testing/scratch_folder.h"
#include "data/zarr/zarr.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int64_t kChunk = 1000 + 256;  // with the books about it

ChunkCache::Load giving(std::byte value, std::atomic<int>& loads) {
  return [value, &loads]() -> Result<ChunkCache::Chunk> {
    ++loads;
    HONE_ASSIGN(ChunkBytes bytes, ChunkBytes::make(1000));
    bytes.data()[0] = value;
    return ChunkCache::Chunk(std::make_shared<ChunkBytes>(std::move(bytes)));
  };
}

TEST(ChunkCache, ForgetsTheLongestUnusedWhenTheBudgetIsUsedUp) {
  const auto budget = std::make_shared<CacheBudget>(2 * kChunk + 10);
  ChunkCache cache(budget);
  const int array = cache.add_array(10 * kChunk, kChunk);
  std::atomic<int> loads = 0;
  StageTimes times;
  const auto get = [&](int64_t number) {
    const auto chunk = cache.get(array, number, times, giving(static_cast<std::byte>(number), loads));
    EXPECT_EQ((*chunk)->data()[0], static_cast<std::byte>(number));
    return loads.load();
  };
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(get(1), 2);
  EXPECT_EQ(get(3), 3);  // 2 goes
  EXPECT_EQ(get(1), 3);
  EXPECT_EQ(get(2), 4);
  EXPECT_EQ(cache.counts().bytes, 2 * kChunk);
  EXPECT_EQ(budget->left(), 10);
  EXPECT_EQ(cache.counts().hits, 2);
}

TEST(ChunkCache, GivesWhatItHasNoRoomFor) {
  const auto budget = std::make_shared<CacheBudget>(kChunk + 100);
  ChunkCache cache(budget);
  std::atomic<int> loads = 0;
  StageTimes times;
  ASSERT_TRUE(cache.get(0, 0, times, giving(std::byte{1}, loads)).ok());
  const auto large = [&]() -> Result<ChunkCache::Chunk> {
    return ChunkCache::Chunk(std::make_shared<ChunkBytes>(*ChunkBytes::make(5000)));
  };
  EXPECT_EQ((*cache.get(0, 1, times, large))->size(), 5000u);
  ASSERT_TRUE(cache.get(0, 0, times, giving(std::byte{1}, loads)).ok());
  EXPECT_EQ(loads, 1) << "which nothing was to be gained by forgetting";
  ASSERT_TRUE(budget->take(100));  // what shares the budget
  ASSERT_TRUE(cache.get(0, 2, times, giving(std::byte{2}, loads)).ok());
  EXPECT_EQ(cache.counts().kept, 1);
  EXPECT_EQ(budget->left(), 0);
}

TEST(ChunkCache, AChunkThatManyWantIsLoadedOnce) {
  for (const int64_t room : {int64_t{1} << 20, int64_t{0}}) {
    ChunkCache cache(std::make_shared<CacheBudget>(room));
    std::atomic<int> loads = 0, begun = 0;
    const auto slow = [&]() -> Result<ChunkCache::Chunk> {
      while (begun < 4) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return giving(std::byte{7}, loads)();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        ++begun;
        StageTimes times;
        EXPECT_EQ((*cache.get(0, 5, times, slow))->data()[0], std::byte{7});
      });
    for (std::thread& thread : threads) thread.join();
    // Without room who comes too late to wait loads it again.
    EXPECT_LE(loads, room > 0 ? 1 : 4);
  }
}

TEST(ChunkCache, ErrorsAreNotKept) {
  ChunkCache cache(std::make_shared<CacheBudget>(1 << 20));
  StageTimes times;
  EXPECT_THAT(cache.get(0, 0, times, [] { return corrupt("torn"); }).error().message, HasSubstr("torn"));
  EXPECT_THAT(
      cache.get(0, 0, times, []() -> Result<ChunkCache::Chunk> { throw std::bad_alloc(); }).error().message,
      HasSubstr("memory"));
  std::atomic<int> loads = 0;
  EXPECT_TRUE(cache.get(0, 0, times, giving(std::byte{1}, loads)).ok());
  EXPECT_EQ(loads, 1);
}

// An array n, y, x of chunks in files, where a[n][y][x] = 3 n + y + x; the last chunk is not there.
class ZarrOfManyImages : public ::testing::Test {
 protected:
  static constexpr int64_t kImages = 96, kInChunk = 16, kSide = 6;

  void SetUp() override {
    const std::string about = fmt::format(
        R"({{"zarr_format": 2, "shape": [{0}, {2}, {2}], "chunks": [{1}, {2}, {2}], "dtype": "|u1", "compressor": null,
            "fill_value": 9, "order": "C", "filters": null}})",
        kImages, kInChunk, kSide);
    ASSERT_TRUE(write_file(folder_ / ".zarray", about).ok());
    for (int64_t chunk = 0; chunk + 1 < kImages / kInChunk; ++chunk) {
      std::string bytes;
      for (int64_t n = 0; n < kInChunk; ++n)
        for (int64_t y = 0; y < kSide; ++y)
          for (int64_t x = 0; x < kSide; ++x) bytes += static_cast<char>(3 * (chunk * kInChunk + n) + y + x);
      ASSERT_TRUE(write_file(folder_ / fmt::format("{}.0.0", chunk), bytes).ok());
    }
  }
  std::shared_ptr<const ZarrDataset> open(int64_t budget, std::array<int64_t, 3> patch = {0, 0, 0}) const {
    ZarrOptions options;
    options.image = folder_.path();
    options.patch = patch;
    if (budget > 0) options.cache = std::make_shared<CacheBudget>(budget);
    return *open_zarr(options);
  }

  ScratchFolder folder_{"zarr-of-many-images"};
};

TEST_F(ZarrOfManyImages, DecodesEachChunkOnceHoweverSamplesAreShuffled) {
  const auto kept = open(1 << 20), plain = open(0);
  EXPECT_EQ(plain->chunks(), nullptr);
  LoaderOptions options;
  options.order.batch_size = 8;
  options.order.seed = 3;
  options.workers = 3;
  const auto batches = *Loader::make(kept, nullptr, options);
  const auto expected = *Loader::make(plain, nullptr, options);
  for (int64_t i = 0; i < 2 * kImages / 8; ++i)
    ASSERT_TRUE(same_tensor(batches->next()->tensors[0], expected->next()->tensors[0])) << i;
  EXPECT_EQ(kept->chunks()->counts().loaded, kImages / kInChunk);
  EXPECT_GE(kept->chunks()->counts().hits, 2 * kImages - kImages / kInChunk);
}

TEST_F(ZarrOfManyImages, NeighboursShareAChunkEvenWhereThereIsRoomForOne) {
  const auto one = open(kInChunk * kSide * kSide + 256);
  for (int64_t i = 0; i < kImages; ++i) ASSERT_TRUE(one->read(i).ok());
  EXPECT_EQ(one->chunks()->counts().loaded, kImages / kInChunk);
  EXPECT_EQ(one->chunks()->counts().kept, 1);
  EXPECT_EQ((*one->read(kImages - 1))[0].at(0), 9) << "a chunk that is not there";
}

TEST_F(ZarrOfManyImages, ChunksAreChargedAsTensorsAre) {
  const std::size_t before = memory_in_use();
  const auto kept = open(1 << 20);
  for (int64_t i = 0; i < kImages; ++i) ASSERT_TRUE(kept->read(i).ok());
  EXPECT_GE(memory_in_use() - before, static_cast<std::size_t>((kImages - kInChunk) * kSide * kSide));
  EXPECT_EQ(kept->chunks()->bytes_behind(1), kInChunk * kSide * kSide);
  EXPECT_EQ(kept->chunks()->bytes_behind(1000), kImages * kSide * kSide);
}

TEST(ChunkCache, KeepsTheChunksOfShards) {
  const auto open = [](std::shared_ptr<CacheBudget> budget, std::array<int64_t, 3> patch) {
    ZarrOptions options;
    options.image = source_folder() / "src/data/testing/files/zarr/v3_sharded";
    options.axes = "zyx";
    options.patch = patch;
    options.cache = std::move(budget);
    return *open_zarr(options);
  };
  const auto budget = [] { return std::make_shared<CacheBudget>(1 << 20); };
  const auto kept = open(budget(), {1, 1, 2}), plain = open(nullptr, {1, 1, 2});
  for (int64_t i = 0; i < kept->size(); ++i)
    EXPECT_TRUE(same_tensor((*kept->read(i))[0], (*plain->read(i))[0])) << i;
  EXPECT_EQ(kept->chunks()->counts().loaded, 4 * 3 * 2) << "chunks of 1 x 2 x 3 in 4 x 5 x 6";
  EXPECT_EQ(open(budget(), {2, 5, 6})->chunks(), nullptr) << "no chunk is of two samples";
  EXPECT_NE(open(budget(), {3, 5, 6})->chunks(), nullptr) << "the last sample reaches back";
}

}  // namespace
}  // namespace hone::data
