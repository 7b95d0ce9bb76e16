#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "data/cache/disk_cache.h"
#include "data/cache/memory_cache.h"
#include "data/testing/numbered_samples.h"
#include "data/testing/scratch_folder.h"

namespace hone::data {
namespace {

using ::testing::HasSubstr;
using testing::NumberedSamples;
using testing::ScratchFolder;

// Counts reads, and has samples whose versions can be changed.
class CountedSamples final : public Dataset {
 public:
  mutable std::atomic<int> reads = 0;
  uint64_t version = 1;
  std::span<const Field> fields() const override { return samples_.fields(); }
  int64_t size() const override { return samples_.size(); }
  std::string name_of(int64_t index) const override { return samples_.name_of(index); }
  uint64_t version_of(int64_t) const override { return version; }
  Result<Sample> read(int64_t index) const override {
    ++reads;
    return samples_.read(index);
  }

 private:
  NumberedSamples samples_{10};
};

void expect_samples(const Dataset& set) {
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto sample = set.read(i);
    ASSERT_TRUE(sample.ok());
    EXPECT_EQ((*sample)[1].int_at(0), i);
    EXPECT_EQ((*sample)[0].at(2), static_cast<double>(i));
  }
}

TEST(Cache, MemoryKeepsWhatItsBudgetHasRoomFor) {
  const auto samples = std::make_shared<CountedSamples>();
  const auto all = cache_in_memory(samples, 1 << 20);
  expect_samples(*all);
  expect_samples(*all);
  EXPECT_EQ(samples->reads, 10);
  EXPECT_EQ(all->counts().hits, 10);
  EXPECT_EQ(all->counts().bytes, 10 * 20);

  samples->reads = 0;
  const auto some = cache_in_memory(samples, 65);  // three samples of 20 bytes
  expect_samples(*some);
  expect_samples(*some);
  EXPECT_EQ(some->counts().kept, 3);
  EXPECT_EQ(samples->reads, 17);
}

TEST(Cache, TwoMayShareABudget) {
  const auto one = std::make_shared<CountedSamples>(), other = std::make_shared<CountedSamples>();
  const auto budget = std::make_shared<CacheBudget>(5 * 20);  // five samples
  const auto first = cache_in_memory(one, budget), second = cache_in_memory(other, budget);
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(first->read(i).ok());
  expect_samples(*second);
  expect_samples(*first);
  EXPECT_EQ(first->counts().kept, 3);
  EXPECT_EQ(second->counts().kept, 2);
}

TEST(Cache, DiskKeepsSamplesForTheNextRun) {
  const ScratchFolder folder("cache");
  const auto samples = std::make_shared<CountedSamples>();
  for (int run = 0; run < 3; ++run) {
    const auto cache = cache_on_disk(samples, folder / "kept");
    ASSERT_TRUE(cache.ok());
    expect_samples(**cache);
    EXPECT_EQ(samples->reads, 10);
    EXPECT_FALSE((*cache)->problem());
  }
  samples->version = 2;  // the files it was made of have changed
  const auto cache = cache_on_disk(samples, folder / "kept");
  expect_samples(**cache);
  expect_samples(**cache);
  EXPECT_EQ(samples->reads, 20);
}

TEST(Cache, DamagedFilesAreMadeAnew) {
  const ScratchFolder folder("damaged-cache");
  const auto samples = std::make_shared<CountedSamples>();
  const auto cache = cache_on_disk(samples, folder.path());
  expect_samples(**cache);
  const std::filesystem::path file = folder / "000000/4.sample";
  const std::string whole = *read_file(file);
  EXPECT_TRUE(parse_cached_sample(std::as_bytes(std::span(whole)), 1).ok());
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] ^= 0x10;
    EXPECT_FALSE(parse_cached_sample(std::as_bytes(std::span(damaged)), 1).ok()) << at;
    EXPECT_FALSE(parse_cached_sample(std::as_bytes(std::span(whole)).first(at), 1).ok()) << at;
  }
  ASSERT_TRUE(write_file(file, whole.substr(0, 50)).ok());
  samples->reads = 0;
  expect_samples(**cache);
  EXPECT_EQ(samples->reads, 1);
  EXPECT_EQ(*read_file(file), whole);
}

TEST(Cache, AFolderThatCannotBeWrittenToIsRefusedAtOnceAndAFullDiskIsTold) {
  const ScratchFolder folder("no-cache");
  ASSERT_TRUE(write_file(folder / "file", "x").ok());
  const auto samples = std::make_shared<CountedSamples>();
  EXPECT_FALSE(cache_on_disk(samples, folder / "file").ok());
  const auto cache = cache_on_disk(samples, folder / "kept");
  ASSERT_TRUE(write_file(folder / "kept" / "000000", "in the way").ok());
  expect_samples(**cache);
  ASSERT_TRUE((*cache)->problem().has_value());
  EXPECT_THAT((*cache)->problem()->message, HasSubstr("cannot keep decoded samples"));
}

}  // namespace
}  // namespace hone::data
