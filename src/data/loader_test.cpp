#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scope.h"
#include "core/testing/no_threads.h"
#include "data/cache/memory_cache.h"
#include "data/testing/numbered_samples.h"

namespace hone::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NumberedSamples;

// Adds a number that depends on the sample's own random stream.
class AddNoise final : public Transform {
 public:
  Result<std::vector<Field>> fields(std::span<const Field> fields) const override {
    return std::vector<Field>(fields.begin(), fields.end());
  }
  Status apply(const Sample& sample, std::span<const Field>, const SampleRandom& random,
               std::span<const TensorView> out) const override {
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].as<float>()[i] =
          static_cast<float>(sample[0].at(i) + random.uniform(0, static_cast<uint64_t>(i)));
    out[1].as<int64_t>()[0] = sample[1].int_at(0);
    return {};
  }
};

std::shared_ptr<NumberedSamples> numbered(int64_t size) { return std::make_shared<NumberedSamples>(size); }

std::unique_ptr<Loader> must_load(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
                                  std::shared_ptr<const Transform> transform = nullptr) {
  auto loader = Loader::make(std::move(dataset), std::move(transform), options);
  EXPECT_TRUE(loader.ok()) << loader.error().message;
  return *std::move(loader);
}

std::vector<Batch> take_batches(Batches& batches, int count) {
  std::vector<Batch> result;
  for (int i = 0; i < count; ++i) {
    auto batch = batches.next();
    EXPECT_TRUE(batch.ok()) << batch.error().message;
    if (batch.ok()) result.push_back(*std::move(batch));
  }
  return result;
}

void expect_same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].samples, b[i].samples);
    EXPECT_EQ(a[i].place, b[i].place);
    for (std::size_t f = 0; f < a[i].tensors.size(); ++f)
      EXPECT_TRUE(same_tensor(a[i].tensors[f], b[i].tensors[f]));
  }
}

TEST(Loader, GivesEpochAfterEpochWithEachSampleOnce) {
  const auto loader = must_load(numbered(12), {.order = {.batch_size = 4}});
  EXPECT_EQ(loader->batches_per_epoch(), 3);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::map<int64_t, int> seen;
    for (const Batch& batch : take_batches(*loader, 3)) {
      EXPECT_EQ(batch.place.epoch, epoch);
      EXPECT_EQ(batch.tensors[0].shape(), (Shape{4, 3}));
      EXPECT_EQ(batch.tensors[1].shape(), (Shape{4}));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.tensors[0].as<float>().data()) % kTensorAlignment, 0u);
      EXPECT_EQ(batch.tensors[1].to_ints(), batch.samples);
      for (std::size_t i = 0; i < 12; ++i)
        EXPECT_EQ(batch.tensors[0].at(static_cast<int64_t>(i)), static_cast<double>(batch.samples[i / 3]));
      for (const int64_t sample : batch.samples) ++seen[sample];
    }
    EXPECT_EQ(seen.size(), 12u);
  }
}

TEST(Loader, WorkersAndReadAheadChangeNoBatch) {
  const auto transform = std::make_shared<AddNoise>();
  const auto slow = numbered(29);
  slow->slow_ms = 1;
  const auto alone = must_load(slow, {.order = {.batch_size = 5, .seed = 9}, .workers = 0}, transform);
  const std::vector<Batch> expected = take_batches(*alone, 12);
  for (const int workers : {1, 2, 5})
    for (const int64_t read_ahead : {1, 3}) {
      const auto loader = must_load(
          slow, {.order = {.batch_size = 5, .seed = 9}, .workers = workers, .read_ahead = read_ahead},
          transform);
      expect_same(take_batches(*loader, 12), expected);
    }
}

TEST(Loader, AugmentationDiffersByEpochAndBySeed) {
  const auto values_of = [](uint64_t seed, int64_t epoch) {
    const auto loader = must_load(numbered(4), {.order = {.batch_size = 4, .seed = seed, .shuffle = false}},
                                  std::make_shared<AddNoise>());
    EXPECT_TRUE(loader->seek({epoch, 0}).ok());
    return take_batches(*loader, 1)[0].tensors[0].to_doubles();
  };
  EXPECT_EQ(values_of(1, 0), values_of(1, 0));
  EXPECT_NE(values_of(1, 0), values_of(1, 1));
  EXPECT_NE(values_of(1, 0), values_of(2, 0));
}

TEST(Loader, SeekingIsAsIfAllBeforeHadBeenGiven) {
  const LoaderOptions options = {.order = {.batch_size = 3, .keep_short = true}, .workers = 2};
  const auto transform = std::make_shared<AddNoise>();
  const auto straight = must_load(numbered(20), options, transform);
  const std::vector<Batch> all = take_batches(*straight, 20);
  EXPECT_EQ(straight->place(), (Place{2, 6}));
  for (const std::size_t from : {0, 4, 6, 7, 13}) {
    const auto resumed = must_load(numbered(20), options, transform);
    take_batches(*resumed, 2);
    ASSERT_TRUE(resumed->seek(all[from].place).ok());
    EXPECT_EQ(resumed->place(), all[from].place);
    expect_same(take_batches(*resumed, 5),
                {all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from) + 5});
  }
  EXPECT_THAT(straight->seek({0, 7}).error().message, HasSubstr("has 7 batches"));
}

TEST(Loader, MemoryIsUsedAgainButNeverWhileSomebodyHoldsIt) {
  const auto loader = must_load(numbered(100), {.order = {.batch_size = 2}, .workers = 2, .read_ahead = 2});
  std::map<const void*, int> addresses;
  const std::vector<Batch> held = take_batches(*loader, 3);
  const std::vector<double> before = held[0].tensors[0].to_doubles();
  for (int i = 0; i < 30; ++i) {
    const std::vector<Batch> batch = take_batches(*loader, 1);
    ++addresses[batch[0].tensors[0].data()];
  }
  EXPECT_LE(addresses.size(), 4u);
  EXPECT_EQ(held[0].tensors[0].to_doubles(), before);
  for (const Batch& batch : held) EXPECT_FALSE(addresses.contains(std::as_const(batch.tensors[0]).data()));
}

TEST(Loader, BatchesLieInTheMemoryThatWasGiven) {
  struct OwnMemory final : BatchMemory {
    std::shared_ptr<BatchMemory> host = host_batch_memory();
    std::set<const void*> blocks;
    std::mutex mutex;
    Result<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override {
      auto block = host->allocate(bytes);
      const std::lock_guard lock(mutex);
      if (blocks.size() == 6) return invalid("no more");
      blocks.insert(block->get());
      return block;
    }
  };
  const auto memory = std::make_shared<OwnMemory>();
  const auto loader =
      Loader::make(numbered(8), nullptr, {.order = {.batch_size = 2}, .read_ahead = 1}, memory);
  ASSERT_TRUE(loader.ok());
  for (int i = 0; i < 10; ++i) {
    const std::vector<Batch> batch = take_batches(**loader, 1);
    const std::lock_guard lock(memory->mutex);
    for (const Tensor& tensor : batch[0].tensors) EXPECT_TRUE(memory->blocks.contains(tensor.data()));
  }
  std::vector<Batch> held = take_batches(**loader, 2);  // and no memory for a fourth
  while (held.size() < 10) {
    auto batch = (*loader)->next();
    if (!batch.ok()) {
      EXPECT_EQ(batch.error().message, "memory for a batch: no more");
      return;
    }
    held.push_back(*std::move(batch));
  }
  FAIL() << "six blocks are no ten batches";
}

TEST(Loader, BatchesOutliveTheLoader) {
  auto loader = must_load(numbered(8), {.order = {.batch_size = 2, .shuffle = false}});
  const std::vector<Batch> batches = take_batches(*loader, 2);
  loader.reset();
  EXPECT_THAT(batches[1].tensors[1].to_ints(), ElementsAre(2, 3));
}

TEST(Loader, ADamagedSampleFailsItsBatchAndStaysFailed) {
  const auto samples = numbered(8);
  samples->corrupt_ones = {4, 5};
  for (const int workers : {0, 3}) {
    const auto loader =
        must_load(samples, {.order = {.batch_size = 2, .shuffle = false}, .workers = workers});
    take_batches(*loader, 2);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(loader->next().error().message, "sample4: it is damaged");
    EXPECT_EQ(loader->place(), (Place{0, 2}));
    ASSERT_TRUE(loader->seek({0, 3}).ok());
    EXPECT_THAT(take_batches(*loader, 1)[0].samples, ElementsAre(6, 7));
  }
}

TEST(Loader, ADamagedSampleIsReplacedByTheSameOneEachTime) {
  const auto samples = numbered(20);
  samples->corrupt_ones = {3, 4, 17};
  std::vector<std::vector<Batch>> runs;
  for (const int workers : {0, 2, 4}) {
    const auto loader =
        must_load(samples, {.order = {.batch_size = 4}, .workers = workers, .on_damage = OnDamage::kSkip},
                  std::make_shared<AddNoise>());
    runs.push_back(take_batches(*loader, 10));
    EXPECT_EQ(loader->counts().damaged, 3);
    const std::vector<Damage> damages = loader->damages();
    ASSERT_EQ(damages.size(), 3u);
    EXPECT_EQ(damages[1].sample, 4);
    EXPECT_EQ(damages[1].message, "sample4: it is damaged");
    for (const Damage& damage : damages) EXPECT_FALSE(samples->corrupt_ones.contains(damage.replaced_by));
    for (const Batch& batch : runs.back()) EXPECT_EQ(batch.tensors[1].to_ints(), batch.samples);
  }
  expect_same(runs[0], runs[1]);
  expect_same(runs[0], runs[2]);
}

TEST(Loader, WhatTheDiskRefusesIsNeverSkipped) {
  const LoaderOptions options = {.order = {.batch_size = 4}, .on_damage = OnDamage::kSkip};
  const auto missing = numbered(4);
  missing->missing_ones = {0};
  EXPECT_EQ(must_load(missing, options)->next().error().code, ErrorCode::kNotFound);
  const auto hopeless = numbered(4);
  hopeless->corrupt_ones = {0, 1, 2, 3};
  EXPECT_THAT(must_load(hopeless, options)->next().error().message,
              HasSubstr("too much of the data set is damaged"));
}

TEST(Loader, SamplesOfAnotherShapeAreNamed) {
  const auto samples = numbered(6);
  samples->odd_one = 5;
  const auto loader = must_load(samples, {.order = {.batch_size = 3, .shuffle = false}});
  take_batches(*loader, 1);
  EXPECT_THAT(loader->next().error().message, HasSubstr("sample5: its 'value' is f32[4]"));
}

TEST(Loader, CountsAndMarksWhatItWaitedFor) {
  struct Marks final : ScopeListener {
    std::array<std::atomic<int>, 8> regions = {};
    void on_span(Kind kind, uint32_t id, int64_t start, int64_t end) noexcept override {
      if (kind == Kind::kRegion && id >= 10 && id < 18 && start <= end) ++regions[id - 10];
    }
  };
  const auto slow = numbered(8);
  slow->slow_ms = 3;
  Marks marks;
  {
    const auto loader =
        must_load(slow, {.order = {.batch_size = 4}, .workers = 1, .read_ahead = 1, .first_region = 10});
    ScopeListener* const before = set_scope_listener(&marks);
    take_batches(*loader, 4);
    set_scope_listener(before);
    const LoaderCounts counts = loader->counts();
    EXPECT_EQ(counts.batches, 4);
    EXPECT_EQ(counts.samples, 16);
    EXPECT_GT(counts.wait_ns, 4'000'000);
    EXPECT_GT(counts.stages[Stage::kDecode], 10'000'000);
    EXPECT_EQ(counts.limiting_stage(), Stage::kDecode);
  }
  EXPECT_EQ(marks.regions[0], 4);   // waits
  EXPECT_GE(marks.regions[2], 12);  // decoding
  EXPECT_GE(marks.regions[4], 12);  // assembling
}

TEST(Loader, WithoutThreadsTheConsumerDoesTheWork) {
  const LoaderOptions options = {.order = {.batch_size = 3}, .workers = 3};
  const std::vector<Batch> expected = take_batches(*must_load(numbered(9), options), 5);
  const NoThreads none;
  if (!none.enforced()) GTEST_SKIP() << "threads cannot be refused here";
  expect_same(take_batches(*must_load(numbered(9), options), 5), expected);
}

bool waited_for(const std::function<bool()>& come) {
  for (int i = 0; i < 2000 && !come(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return come();
}

TEST(Loader, PrefetchesTheFirstEpochIntoTheCacheWhereTheQueueIsFull) {
  const auto cached = cache_in_memory(numbered(40), 1 << 20);
  const LoaderOptions options{.order = {.batch_size = 4}, .workers = 2, .read_ahead = 2};
  const auto loader = must_load(cached, options);
  loader->prefetch(1000);  // an epoch has ten
  EXPECT_TRUE(waited_for([&] { return cached->counts().kept == 40; })) << cached->counts().kept;
  EXPECT_EQ(loader->counts().batches, 0);
  expect_same(take_batches(*loader, 10), take_batches(*must_load(numbered(40), options), 10));
}

TEST(Loader, PrefetchesNoFurtherThanItIsToldAndFromWhereItStands) {
  const auto cached = cache_in_memory(numbered(40), 1 << 20);
  const LoaderOptions options{.order = {.batch_size = 4, .shuffle = false}, .workers = 1, .read_ahead = 1};
  const auto loader = must_load(cached, options);
  ASSERT_TRUE(waited_for([&] { return cached->counts().kept == 4; }));
  ASSERT_TRUE(loader->seek({.epoch = 0, .batch = 5}).ok());
  loader->prefetch(3);  // batches 5 to 7 or, where 5 is in the queue already, 6 to 8
  ASSERT_TRUE(waited_for([&] { return cached->counts().kept >= 4 + 3 * 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(cached->counts().kept, 4 + 4 * 4);
}

TEST(Loader, StopsPrefetchingWhereTheCacheIsFullAndKeepsWhatIsDamagedForTheConsumer) {
  const auto damaged = numbered(40);
  damaged->corrupt_ones = {39};
  const int64_t sample_bytes = 3 * 4 + 8;
  const auto cached = cache_in_memory(damaged, 10 * sample_bytes);
  const auto loader =
      must_load(cached, {.order = {.batch_size = 4, .shuffle = false}, .workers = 2, .read_ahead = 1});
  loader->prefetch(10);
  ASSERT_TRUE(waited_for([&] { return cached->counts().kept == 10; }));
  take_batches(*loader, 9);
  EXPECT_THAT(loader->next().error().message, HasSubstr("sample39"));
}

TEST(Loader, OptionsOutOfRangeAreRefused) {
  EXPECT_FALSE(Loader::make(numbered(4), nullptr, {.workers = -1}).ok());
  EXPECT_FALSE(Loader::make(numbered(4), nullptr, {.read_ahead = 0}).ok());
  EXPECT_THAT(Loader::make(numbered(0), nullptr, {}).error().message, HasSubstr("empty"));
}

}  // namespace
}  // namespace hone::data
